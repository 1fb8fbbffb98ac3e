// A batch stays whole where that takes fewer bytes than weights for each part: a value that lives while others are
// computed goes to far memory and back.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=328000 %s | FileCheck --check-prefix=WHOLE %s
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=327000 %s | FileCheck --check-prefix=PARTS %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=327000}"

// 328000 bytes hold the weights beside the values of the third product, without the result of the first one.
// WHOLE-LABEL: func.func @main
// WHOLE-NOT: graph.slice
// WHOLE: return
// PARTS-LABEL: func.func @main
// PARTS: graph.slice
func.func @main(%x: tensor<256x16xf32>, %v: tensor<16x16xf32>, %u: tensor<16x128xf32>, %w: tensor<128x128xf32>, %z: tensor<128x16xf32>) -> tensor<256x16xf32> {
  %h = graph.contract %x, %v batch [] x [] over [1] x [0] : (tensor<256x16xf32>, tensor<16x16xf32>) -> tensor<256x16xf32>
  %a = graph.contract %h, %u batch [] x [] over [1] x [0] : (tensor<256x16xf32>, tensor<16x128xf32>) -> tensor<256x128xf32>
  %b = graph.contract %a, %w batch [] x [] over [1] x [0] : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
  %c = graph.contract %b, %z batch [] x [] over [1] x [0] : (tensor<256x128xf32>, tensor<128x16xf32>) -> tensor<256x16xf32>
  %y = graph.map (%c, %h) : (tensor<256x16xf32>, tensor<256x16xf32>) -> tensor<256x16xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  return %y : tensor<256x16xf32>
}
