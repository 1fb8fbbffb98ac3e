// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4,+avx512vnni --graph-simplify %s | FileCheck %s
// RUN: perpend check %s --against interpreter

// What is a product of matrices is packed as one, whatever it is called.
// CHECK-LABEL: func.func @main
// A window of one position, in three dimensions.
// CHECK: tile.matmul {{.*}} : (tensor<24x5xf32>, tensor<1x5x32xf32>) -> tensor<24x32xf32>
// Weights with a zero point.
// CHECK: tile.matmul {{.*}} : (tensor<6x8xui8>, tensor<1x2x32x4xi8>) -> tensor<6x32xi32>
// A window over all of the input, of which channels come first: two rows with what lies along the depth.
// CHECK: tile.matmul {{.*}} : (tensor<32x18xf32>, tensor<1x9x4x2xf32>) -> tensor<32x2xf32>
// One position, of which channels come first: the columns are moved to their place.
// CHECK: tile.matmul {{.*}} : (tensor<36x3xf32>, tensor<1x3x32xf32>) -> tensor<36x32xf32>
// CHECK: graph.transpose {{.*}} [0, 3, 1, 2] : tensor<2x6x3x32xf32>
func.func @main(%volume: tensor<1x2x3x4x5xf32>, %w: tensor<1x1x1x5x32xf32>, %bytes: tensor<1x2x3x8xui8>,
                %v: tensor<1x1x8x32xui8>, %image: tensor<2x3x2x3xf32>, %whole: tensor<32x3x2x3xf32>,
                %larger: tensor<2x3x6x3xf32>, %one: tensor<32x3x1x1xf32>)
    -> (tensor<1x2x3x4x32xf32>, tensor<1x2x3x32xi32>, tensor<2x32x1x1xf32>, tensor<2x32x6x3xf32>) {
  %0 = graph.conv %volume, %w strides [1, 1, 1] pad [0, 0, 0] dilations [1, 1, 1] input_dilation [1, 1, 1] groups 1 channels_last
    : (tensor<1x2x3x4x5xf32>, tensor<1x1x1x5x32xf32>) -> tensor<1x2x3x4x32xf32>
  %centred = graph.map (%v) : (tensor<1x1x8x32xui8>) -> tensor<1x1x8x32xi16> {
  ^bb0(%e: i8):
    %zero = arith.constant 117 : i16
    %wide = arith.extui %e : i8 to i16
    %d = arith.subi %wide, %zero : i16
    graph.yield %d : i16
  }
  %1 = graph.conv %bytes, %centred strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x2x3x8xui8>, tensor<1x1x8x32xi16>) -> tensor<1x2x3x32xi32>
  %2 = graph.conv %image, %whole strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<2x3x2x3xf32>, tensor<32x3x2x3xf32>) -> tensor<2x32x1x1xf32>
  %3 = graph.conv %larger, %one strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<2x3x6x3xf32>, tensor<32x3x1x1xf32>) -> tensor<2x32x6x3xf32>
  return %0, %1, %2, %3 : tensor<1x2x3x4x32xf32>, tensor<1x2x3x32xi32>, tensor<2x32x1x1xf32>, tensor<2x32x6x3xf32>
}
