// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4 %s | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck --check-prefix=NARROW %s
// RUN: same-values %s "builtin.module(tile-pack-operands{target=x86-64-v4})"

// Eight columns and two elements of a word fill a vector of sixteen (of a row of the window, 18 numbers are 9 words).
// CHECK-LABEL: func.func @eight
// CHECK: tile.conv {{.*}} : (tensor<1x9x30x2xf32>, tensor<1x1x3x9x1x8x2xf32>)
// NARROW-LABEL: func.func @eight
// NARROW: tile.conv {{.*}} : (tensor<1x9x9x6xf32>, tensor<1x1x3x3x6x8xf32>)
func.func @eight(%x: tensor<1x9x9x6xf32>, %w: tensor<3x3x6x8xf32>) -> tensor<1x7x7x8xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x9x9x6xf32>, tensor<3x3x6x8xf32>) -> tensor<1x7x7x8xf32>
  return %r : tensor<1x7x7x8xf32>
}

// Three columns are four, with words of four; where a vector has eight lanes, of two.
// CHECK-LABEL: func.func @three
// CHECK: tile.matmul {{.*}}, tensor<1x{{[0-9]+}}x4x4xf32>)
// NARROW-LABEL: func.func @three
// NARROW: tile.matmul {{.*}}, tensor<1x{{[0-9]+}}x4x2xf32>)
func.func @three(%a: tensor<50x64xf32>, %b: tensor<64x3xf32>) -> tensor<50x3xf32> {
  %c = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<50x64xf32>, tensor<64x3xf32>) -> tensor<50x3xf32>
  return %c : tensor<50x3xf32>
}
