// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4 %s | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck --check-prefix=NARROW %s
// RUN: same-values %s "builtin.module(tile-pack-operands{target=x86-64-v4})"

// Eight columns and two elements of a word fill a vector of sixteen (of a row of the window, 18 numbers are 9 words).
// CHECK-LABEL: func.func @eight
// CHECK: tile.conv {{.*}} : (tensor<1x9x27x2xf32>, tensor<1x1x3x9x1x8x2xf32>)
// NARROW-LABEL: func.func @eight
// NARROW: tile.conv {{.*}} : (tensor<1x9x9x6xf32>, tensor<1x1x3x3x6x8xf32>)
func.func @eight(%x: tensor<1x9x9x6xf32>, %w: tensor<3x3x6x8xf32>) -> tensor<1x7x7x8xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x9x9x6xf32>, tensor<3x3x6x8xf32>) -> tensor<1x7x7x8xf32>
  return %r : tensor<1x7x7x8xf32>
}

// Three columns are four, with words of eight, each of which is read once for two vectors.
// CHECK-LABEL: func.func @three
// CHECK: tile.matmul {{.*}}, tensor<1x8x4x8xf32>)
func.func @three(%a: tensor<50x64xf32>, %b: tensor<64x3xf32>) -> tensor<50x3xf32> {
  %c = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<50x64xf32>, tensor<64x3xf32>) -> tensor<50x3xf32>
  return %c : tensor<50x3xf32>
}

// Two columns are words of eight, and one has words of sixteen.
// CHECK-LABEL: func.func @two
// CHECK: tile.conv {{.*}} : (tensor<1x9x9x8xf32>, tensor<1x1x3x3x1x2x8xf32>)
func.func @two(%x: tensor<1x9x9x8xf32>, %w: tensor<3x3x8x2xf32>) -> tensor<1x7x7x2xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x9x9x8xf32>, tensor<3x3x8x2xf32>) -> tensor<1x7x7x2xf32>
  return %r : tensor<1x7x7x2xf32>
}

// CHECK-LABEL: func.func @one
// CHECK: tile.conv {{.*}} : (tensor<1x9x18x16xf32>, tensor<1x1x3x6x1x1x16xf32>)
// NARROW-LABEL: func.func @one
// NARROW: tile.conv {{.*}} : (tensor<1x9x36x8xf32>, tensor<1x1x3x12x1x1x8xf32>)
func.func @one(%x: tensor<1x9x9x32xf32>, %w: tensor<3x3x32x1xf32>) -> tensor<1x7x7x1xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x9x9x32xf32>, tensor<3x3x32x1xf32>) -> tensor<1x7x7x1xf32>
  return %r : tensor<1x7x7x1xf32>
}

// A row of the window is 36 numbers, which are not whole words of eight: what would be multiplied by zeros behind them
// are neighbours, which may be infinite.
// CHECK-LABEL: func.func @neighbours
// CHECK: tile.conv {{.*}} : (tensor<1x9x18x8xf32>, tensor<1x1x3x6x1x2x8xf32>)
func.func @neighbours(%x: tensor<1x9x9x12xf32>, %w: tensor<3x3x12x2xf32>) -> tensor<1x4x4x2xf32> {
  %r = graph.conv %x, %w strides [2, 2] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x9x9x12xf32>, tensor<3x3x12x2xf32>) -> tensor<1x4x4x2xf32>
  return %r : tensor<1x4x4x2xf32>
}
