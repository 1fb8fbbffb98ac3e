// A part of a batch is divided again, where near memory holds what lies between all kernels for that part but for
// those of a few of them: scores of all heads here, of which two rows at a time are there.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=60000 %s | FileCheck %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=60000}"

// CHECK-LABEL: func.func @main
// CHECK: graph.slice %arg0 <[0, 0, 0]> {{.*}} -> tensor<4x16x32xf32>
// CHECK: graph.call_kernel {{.*}} -> tensor<2x8x16x16xf32>
// CHECK: graph.call_kernel {{.*}} -> tensor<2x8x16x16xf32>
// CHECK: graph.slice %arg0 <[4, 0, 0]> {{.*}} -> tensor<4x16x32xf32>
// CHECK: graph.call_kernel {{.*}} -> tensor<2x8x16x16xf32>
// CHECK: graph.call_kernel {{.*}} -> tensor<2x8x16x16xf32>
// CHECK: return
func.func @main(%in: tensor<8x16x32xf32>, %wx: tensor<32x32xf32>, %wq: tensor<32x32xf32>, %wk: tensor<32x32xf32>, %wv: tensor<32x32xf32>, %wo: tensor<32x32xf32>, %w1: tensor<32x128xf32>, %w2: tensor<128x32xf32>) -> tensor<8x16x32xf32> {
  %x = graph.contract %in, %wx batch [] x [] over [2] x [0] : (tensor<8x16x32xf32>, tensor<32x32xf32>) -> tensor<8x16x32xf32>
  %q = graph.contract %x, %wq batch [] x [] over [2] x [0] : (tensor<8x16x32xf32>, tensor<32x32xf32>) -> tensor<8x16x32xf32>
  %k = graph.contract %x, %wk batch [] x [] over [2] x [0] : (tensor<8x16x32xf32>, tensor<32x32xf32>) -> tensor<8x16x32xf32>
  %v = graph.contract %x, %wv batch [] x [] over [2] x [0] : (tensor<8x16x32xf32>, tensor<32x32xf32>) -> tensor<8x16x32xf32>
  %qhs = graph.reshape %q : tensor<8x16x32xf32> -> tensor<8x16x8x4xf32>
  %qh = graph.transpose %qhs [0, 2, 1, 3] : tensor<8x16x8x4xf32> -> tensor<8x8x16x4xf32>
  %khs = graph.reshape %k : tensor<8x16x32xf32> -> tensor<8x16x8x4xf32>
  %kh = graph.transpose %khs [0, 2, 1, 3] : tensor<8x16x8x4xf32> -> tensor<8x8x16x4xf32>
  %vhs = graph.reshape %v : tensor<8x16x32xf32> -> tensor<8x16x8x4xf32>
  %vh = graph.transpose %vhs [0, 2, 1, 3] : tensor<8x16x8x4xf32> -> tensor<8x8x16x4xf32>
  %s = graph.contract %qh, %kh batch [0, 1] x [0, 1] over [3] x [3] : (tensor<8x8x16x4xf32>, tensor<8x8x16x4xf32>) -> tensor<8x8x16x16xf32>
  %o = graph.contract %s, %vh batch [0, 1] x [0, 1] over [3] x [2] : (tensor<8x8x16x16xf32>, tensor<8x8x16x4xf32>) -> tensor<8x8x16x4xf32>
  %ot = graph.transpose %o [0, 2, 1, 3] : tensor<8x8x16x4xf32> -> tensor<8x16x8x4xf32>
  %om = graph.reshape %ot : tensor<8x16x8x4xf32> -> tensor<8x16x32xf32>
  %p = graph.contract %om, %wo batch [] x [] over [2] x [0] : (tensor<8x16x32xf32>, tensor<32x32xf32>) -> tensor<8x16x32xf32>
  %r = graph.map (%p, %x) : (tensor<8x16x32xf32>, tensor<8x16x32xf32>) -> tensor<8x16x32xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    graph.yield %c : f32
  }
  %h = graph.contract %r, %w1 batch [] x [] over [2] x [0] : (tensor<8x16x32xf32>, tensor<32x128xf32>) -> tensor<8x16x128xf32>
  %y = graph.contract %h, %w2 batch [] x [] over [2] x [0] : (tensor<8x16x128xf32>, tensor<128x32xf32>) -> tensor<8x16x32xf32>
  return %y : tensor<8x16x32xf32>
}
