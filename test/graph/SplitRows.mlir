// Where near memory does not hold what lies between kernels for one image, they run for some of its rows, and compute
// twice what windows read of the rows beside them.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=20000 %s | FileCheck %s
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=1000000 %s | FileCheck --check-prefix=WHOLE %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=20000}"
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=20000},tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks,host-plan-memory"

// WHOLE-LABEL: func.func @main
// WHOLE-NOT: graph.slice
// WHOLE: return

// CHECK-LABEL: func.func @main
// CHECK: graph.slice
// CHECK: graph.concat {{.*}} {graph.assembled}
func.func @main(%x: tensor<2x31x16x8xf32>, %v: tensor<3x3x8x16xf32>, %w: tensor<3x3x16x16xf32>, %b: tensor<16xf32>) -> tensor<2x8x8x16xf32> {
  %a = graph.conv %x, %v strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<2x31x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<2x31x16x16xf32>
  %c = graph.broadcast %b dims [3] : tensor<16xf32> -> tensor<2x31x16x16xf32>
  %d = graph.map (%a, %c) : (tensor<2x31x16x16xf32>, tensor<2x31x16x16xf32>) -> tensor<2x31x16x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  %e = graph.conv %d, %w strides [1, 1] pad [2, 2] dilations [2, 2] input_dilation [1, 1] groups 1 channels_last : (tensor<2x31x16x16xf32>, tensor<3x3x16x16xf32>) -> tensor<2x31x16x16xf32>
  %f = graph.map (%d, %e) : (tensor<2x31x16x16xf32>, tensor<2x31x16x16xf32>) -> tensor<2x31x16x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  %g = graph.window_reduce max %f window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 1, 1, 0] dilations [1, 1, 1, 1] : tensor<2x31x16x16xf32> -> tensor<2x16x8x16xf32>
  %h = graph.conv %g, %w strides [2, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<2x16x8x16xf32>, tensor<3x3x16x16xf32>) -> tensor<2x8x8x16xf32>
  return %h : tensor<2x8x8x16xf32>
}
