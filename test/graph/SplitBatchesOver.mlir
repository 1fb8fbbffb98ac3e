// Near memory holds a whole batch if a sum lies where its addend did.
// RUN: perpend-opt --graph-fuse-kernels "--graph-split-batches=near-bytes=90000 overwrites=true" %s | FileCheck --check-prefix=WHOLE %s
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=90000 %s | FileCheck --check-prefix=PARTS %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=90000}"

// WHOLE-LABEL: func.func @main
// WHOLE-NOT: graph.slice
// WHOLE: return
// PARTS-LABEL: func.func @main
// PARTS: graph.slice
func.func @main(%x: tensor<256x16xf32>, %v: tensor<16x16xf32>, %u: tensor<16x64xf32>, %w: tensor<64x16xf32>, %z: tensor<16x16xf32>) -> tensor<256x16xf32> {
  %h = graph.contract %x, %v batch [] x [] over [1] x [0] : (tensor<256x16xf32>, tensor<16x16xf32>) -> tensor<256x16xf32>
  %a = graph.contract %h, %u batch [] x [] over [1] x [0] : (tensor<256x16xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
  %c = graph.contract %a, %w batch [] x [] over [1] x [0] : (tensor<256x64xf32>, tensor<64x16xf32>) -> tensor<256x16xf32>
  %y = graph.map (%c, %h) : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  %o = graph.contract %y, %z batch [] x [] over [1] x [0] : (tensor<256x16xf32>, tensor<16x16xf32>) -> tensor<256x16xf32>
  return %o : tensor<256x16xf32>
}
