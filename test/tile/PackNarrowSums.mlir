// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck %s

// Sums of less than a byte lie in bytes, and no intrinsic makes them.

// CHECK-LABEL: func.func @depthwise
// CHECK: graph.conv
func.func @depthwise(%x: tensor<1x8x8x16xi4>, %w: tensor<3x3x1x16xi4>) -> tensor<1x6x6x16xi4> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 16 channels_last : (tensor<1x8x8x16xi4>, tensor<3x3x1x16xi4>) -> tensor<1x6x6x16xi4>
  return %r : tensor<1x6x6x16xi4>
}

// CHECK-LABEL: func.func @window
// CHECK: graph.conv
func.func @window(%x: tensor<1x8x8x16xi2>, %w: tensor<3x3x16x4xi2>) -> tensor<1x6x6x4xi2> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<1x8x8x16xi2>, tensor<3x3x16x4xi2>) -> tensor<1x6x6x4xi2>
  return %r : tensor<1x6x6x4xi2>
}

// CHECK-LABEL: func.func @product
// CHECK: graph.contract
func.func @product(%a: tensor<8x16xi4>, %b: tensor<16x8xi4>) -> tensor<8x8xi4> {
  %r = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<8x16xi4>, tensor<16x8xi4>) -> tensor<8x8xi4>
  return %r : tensor<8x8xi4>
}
