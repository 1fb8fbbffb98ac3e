// Windows and concatenations along other dimensions keep the rows of a batch, so chains go on through them.
// RUN: perpend-opt --graph-fuse-kernels "--graph-split-batches=near-bytes=3000" %s | FileCheck %s
// RUN: same-values %s "graph-fuse-kernels,graph-split-batches{near-bytes=3000}"

// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: graph.slice {{.*}} {graph.in_place}
// CHECK: graph.concat {{.*}} axis 0 {graph.assembled} : {{.*}} -> tensor<8x8x8xf32>
func.func @main(%x: tensor<8x16x16xf32>, %y: tensor<8x4x8xf32>) -> tensor<8x8x8xf32> {
  %a = graph.window_reduce max %x window [1, 2, 2] strides [1, 2, 2] pad [0, 0, 0] dilations [1, 1, 1] : tensor<8x16x16xf32> -> tensor<8x8x8xf32>
  %p = graph.contract %a, %a batch [0] x [0] over [2] x [2] : (tensor<8x8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %s = graph.slice %p <[0, 0, 0]> [1, 1, 1] : tensor<8x8x8xf32> -> tensor<8x4x8xf32>
  %c = graph.concat %s, %y axis 1 : (tensor<8x4x8xf32>, tensor<8x4x8xf32>) -> tensor<8x8x8xf32>
  %r = graph.contract %c, %c batch [0] x [0] over [2] x [2] : (tensor<8x8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  return %r : tensor<8x8x8xf32>
}
