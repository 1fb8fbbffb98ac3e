// Where memory is small, the result of a product that is read in windows apart from each other is not stored.
// RUN: perpend-opt --graph-fuse-kernels=saves-memory=true %s | FileCheck %s
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck --check-prefix=STORED %s
// RUN: same-values %s graph-fuse-kernels
// RUN: same-values %s "graph-fuse-kernels{saves-memory=true}"

// Windows that overlap, leave the tensor, or read what another operator needs, too, read a stored value.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-7: graph.call_kernel
// CHECK-NOT: graph.call_kernel
// CHECK: func.func private @conv_mul_window_reduce_neg_{{[0-9a-f]+}}(
// CHECK: tile.conv
// CHECK: graph.map
// CHECK: graph.window_reduce max
// CHECK: graph.map
// CHECK: return

// STORED-LABEL: func.func @main
// STORED-COUNT-8: graph.call_kernel
func.func @main(%x: tensor<1x9x13x3xf32>) -> (tensor<1x3x5x20xf32>, tensor<1x3x5x20xf32>, tensor<1x4x6x20xf32>, tensor<1x3x5x20xf32>, tensor<1x7x11x20xf32>) {
  %w = graph.constant dense<0.25> : tensor<1x2x3x3x3x16xf32> : tensor<1x2x3x3x3x16xf32>
  %c = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x13x3xf32>, tensor<1x2x3x3x3x16xf32>) -> tensor<1x7x11x20xf32>
  %m = graph.map (%c) : (tensor<1x7x11x20xf32>) -> tensor<1x7x11x20xf32> {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %e : f32
    graph.yield %s : f32
  }
  %apart = graph.window_reduce max %m window [1, 2, 2, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x7x11x20xf32> -> tensor<1x3x5x20xf32>
  %a = graph.map (%apart) : (tensor<1x3x5x20xf32>) -> tensor<1x3x5x20xf32> {
  ^bb0(%e: f32):
    %s = arith.negf %e : f32
    graph.yield %s : f32
  }
  %v = graph.constant dense<0.5> : tensor<1x2x3x3x3x16xf32> : tensor<1x2x3x3x3x16xf32>
  %d = tile.conv %x, %v strides [1, 1] dilations [1, 1] : (tensor<1x9x13x3xf32>, tensor<1x2x3x3x3x16xf32>) -> tensor<1x7x11x20xf32>
  %overlapping = graph.window_reduce max %d window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x7x11x20xf32> -> tensor<1x3x5x20xf32>
  %u = graph.constant dense<0.75> : tensor<1x2x3x3x3x16xf32> : tensor<1x2x3x3x3x16xf32>
  %f = tile.conv %x, %u strides [1, 1] dilations [1, 1] : (tensor<1x9x13x3xf32>, tensor<1x2x3x3x3x16xf32>) -> tensor<1x7x11x20xf32>
  %padded = graph.window_reduce max %f window [1, 2, 2, 1] strides [1, 2, 2, 1] pad [0, 1, 1, 0] dilations [1, 1, 1, 1] : tensor<1x7x11x20xf32> -> tensor<1x4x6x20xf32>
  %t = graph.constant dense<1.25> : tensor<1x2x3x3x3x16xf32> : tensor<1x2x3x3x3x16xf32>
  %g = tile.conv %x, %t strides [1, 1] dilations [1, 1] : (tensor<1x9x13x3xf32>, tensor<1x2x3x3x3x16xf32>) -> tensor<1x7x11x20xf32>
  %twice = graph.window_reduce max %g window [1, 2, 2, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x7x11x20xf32> -> tensor<1x3x5x20xf32>
  return %a, %overlapping, %padded, %twice, %g : tensor<1x3x5x20xf32>, tensor<1x3x5x20xf32>, tensor<1x4x6x20xf32>, tensor<1x3x5x20xf32>, tensor<1x7x11x20xf32>
}
