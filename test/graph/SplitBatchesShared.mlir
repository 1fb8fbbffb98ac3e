// Copies of different kernels for parts of equal extents are one kernel: 64 and 96 rows run in parts of 32.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=11000 %s | FileCheck %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=11000}"

// CHECK-LABEL: func.func @main
// CHECK: graph.call_kernel @[[F:[a-z0-9_]+]]({{.*}} -> tensor<32x64xf32>
// CHECK: graph.call_kernel @[[G:[a-z0-9_]+]]({{.*}} -> tensor<32x16xf32>
// CHECK: graph.concat
// CHECK: graph.call_kernel @[[F]]({{.*}} -> tensor<32x64xf32>
// CHECK: graph.call_kernel @[[G]]({{.*}} -> tensor<32x16xf32>
// CHECK: return
// CHECK-COUNT-2: func.func private
// CHECK-NOT: func.func private
func.func @main(%x: tensor<64x16xf32>, %y: tensor<96x16xf32>, %v: tensor<16x64xf32>, %w: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<96x16xf32>) {
  %a = graph.contract %x, %v batch [] x [] over [1] x [0] : (tensor<64x16xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  %b = graph.contract %a, %w batch [] x [] over [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %c = graph.contract %y, %v batch [] x [] over [1] x [0] : (tensor<96x16xf32>, tensor<16x64xf32>) -> tensor<96x64xf32>
  %d = graph.contract %c, %w batch [] x [] over [1] x [0] : (tensor<96x64xf32>, tensor<64x16xf32>) -> tensor<96x16xf32>
  return %b, %d : tensor<64x16xf32>, tensor<96x16xf32>
}
