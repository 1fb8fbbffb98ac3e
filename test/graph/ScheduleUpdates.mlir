// RUN: perpend-opt --graph-place-states --graph-fuse-kernels --graph-schedule-updates %s | FileCheck %s
// RUN: same-values %s "graph-place-states,graph-fuse-kernels,graph-schedule-updates"
// A kernel that reads the old value runs before the update, and so does what it needs.

// CHECK-LABEL: func.func @main
// CHECK: %[[SUMS:.*]] = graph.call_kernel @{{.*}}(%arg1)
// CHECK: %[[NEW:.*]] = graph.update %arg1, %arg0 at <[5]> axis 0 {graph.in_place}
// CHECK: %[[LATE:.*]] = graph.call_kernel @{{.*}}(%[[NEW]])
// CHECK: return %[[SUMS]], %[[LATE]], %[[NEW]]
func.func @main(%x: tensor<1x4xf32>, %ring: tensor<8x4xf32> {graph.state = "ring"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32> {graph.state = "ring"}) {
  %new = graph.update %ring, %x at <["5"]> axis 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %late = graph.reduce max %new dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %sums = graph.reduce sum %ring dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %sums, %late, %new : tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>
}
