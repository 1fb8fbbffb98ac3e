// Each phase of the compiler is a pipeline.
// RUN: perpend-opt --perpend-fuse %s | FileCheck --check-prefix=FUSE %s
// RUN: perpend-opt --perpend-fuse --perpend-schedule --perpend-tile %s | FileCheck --check-prefix=TILE %s
// RUN: not perpend-opt --perpend-fuse="target=nowhere" %s 2>&1 | FileCheck --check-prefix=TARGET %s

// FUSE-LABEL: func.func @main
// FUSE: graph.call_kernel
// FUSE: tile.kernel
// TILE: scf.for
// TARGET: error: unknown target 'nowhere'
func.func @main(%input: tensor<3x4xf32> {graph.name = "x"}) -> (tensor<3x4xf32> {graph.name = "y"}) {
  %result = graph.map (%input) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%value: f32):
    %sum = arith.addf %value, %value : f32
    graph.yield %sum : f32
  }
  return %result : tensor<3x4xf32>
}
