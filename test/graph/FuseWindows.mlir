// What a window reads again and again is stored where it would be read through a transpose; a reduction that lies apart from
// the rows of a chain is no part of it.
// RUN: perpend-opt --split-input-file --graph-fuse-kernels %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = graph.call_kernel @transpose_{{.*}}(%arg0)
// CHECK: graph.call_kernel @conv_{{.*}}(%[[T]], %arg1)
func.func @main(%x: tensor<1x4x9x9xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<1x7x7x4xf32> {
  %t = graph.transpose %x [0, 2, 3, 1] : tensor<1x4x9x9xf32> -> tensor<1x9x9x4xf32>
  %y = graph.conv %t, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 4 channels_last : (tensor<1x9x9x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x7x7x4xf32>
  return %y : tensor<1x7x7x4xf32>
}

// -----

// Sums over the middle of %x, and rows of what is %x transposed.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[T:.*]] = graph.call_kernel @transpose_{{.*}}(%arg0)
// CHECK-DAG: %[[S:.*]] = graph.call_kernel @reduce_{{.*}}(%arg0)
// CHECK: graph.call_kernel @{{.*}}(%{{.*}}[[S]]
func.func @main(%x: tensor<2x40x8xf32>) -> tensor<2x8x40xf32> {
  %t = graph.transpose %x [0, 2, 1] : tensor<2x40x8xf32> -> tensor<2x8x40xf32>
  %s = graph.reduce sum %x dims [1] : tensor<2x40x8xf32> -> tensor<2x8xf32>
  %b = graph.broadcast %s dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x40xf32>
  %d = graph.map (%t, %b) : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<2x8x40xf32> {
  ^bb0(%a: f32, %c: f32):
    %z = arith.subf %a, %c : f32
    graph.yield %z : f32
  }
  %m = graph.reduce max %d dims [2] : tensor<2x8x40xf32> -> tensor<2x8xf32>
  %n = graph.broadcast %m dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x40xf32>
  %r = graph.map (%d, %n) : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<2x8x40xf32> {
  ^bb0(%a: f32, %c: f32):
    %z = arith.divf %a, %c : f32
    graph.yield %z : f32
  }
  return %r : tensor<2x8x40xf32>
}
