// Chains of kernels run part by part of their rows, where near memory does not hold what lies between them for all rows.
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=3500 %s | FileCheck %s
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches=near-bytes=100000 %s | FileCheck --check-prefix=WHOLE %s
// RUN: perpend-opt --graph-fuse-kernels --graph-split-batches %s | FileCheck --check-prefix=WHOLE %s
// RUN: perpend-opt --graph-fuse-kernels "--graph-split-batches=near-bytes=3500 launch-bytes=100000" %s | FileCheck --check-prefix=WHOLE %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=3500}"
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=3500},tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks,host-plan-memory"

// The last kernel reads rows of the whole batch, so what it reads is assembled of the parts.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<61x16xf32>, %[[W:.*]]: tensor<16x16xf32>
// CHECK-NEXT: %[[A:.*]] = graph.slice %[[X]] <[0, 0]> [1, 1] {graph.in_place} : tensor<61x16xf32> -> tensor<31x16xf32>
// CHECK: %[[B:.*]] = graph.call_kernel @[[F:.*]](%[[A]], %[[W]]) : {{.*}} -> tensor<31x16xf32>
// CHECK: %[[C:.*]] = graph.call_kernel @[[F]](%[[B]], %[[W]]) : {{.*}} -> tensor<31x16xf32>
// CHECK: %[[D:.*]] = graph.slice %[[X]] <[31, 0]> [1, 1] {graph.in_place} : tensor<61x16xf32> -> tensor<30x16xf32>
// CHECK: %[[E:.*]] = graph.call_kernel @[[G:.*]](%[[D]], %[[W]]) : {{.*}} -> tensor<30x16xf32>
// CHECK: %[[H:.*]] = graph.call_kernel @[[G]](%[[E]], %[[W]]) : {{.*}} -> tensor<30x16xf32>
// CHECK: %[[I:.*]] = graph.concat %[[C]], %[[H]] axis 0 {graph.assembled} : {{.*}} -> tensor<61x16xf32>
// CHECK: graph.call_kernel @{{.*}}(%[[I]]) {{.*}}: (tensor<61x16xf32>) -> tensor<16xf32>

// WHOLE-LABEL: func.func @main
// WHOLE-NOT: graph.slice
// WHOLE: return
func.func @main(%x: tensor<61x16xf32>, %w: tensor<16x16xf32>) -> (tensor<61x16xf32>, tensor<16xf32>) {
  %a = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<61x16xf32>, tensor<16x16xf32>) -> tensor<61x16xf32>
  %b = graph.contract %a, %w batch [] x [] over [1] x [0] : (tensor<61x16xf32>, tensor<16x16xf32>) -> tensor<61x16xf32>
  %s = graph.reduce sum %b dims [0] : tensor<61x16xf32> -> tensor<16xf32>
  return %b, %s : tensor<61x16xf32>, tensor<16xf32>
}
