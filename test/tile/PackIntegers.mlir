// RUN: perpend-opt --tile-pack-operands=target=znver5 --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: perpend-opt --tile-pack-operands=target=skylake-avx512,+avx512vnni --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: perpend-opt --tile-pack-operands=target=alderlake --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4,+avxvnni --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4,-avx512bw --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: perpend-opt --tile-pack-operands=target=skylake-avx512,+avx512vnni,-avx512vl --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,PAIRS

// The intrinsic for bytes says what it needs of the processor; the one for pairs is everywhere.

#x = #graph.shape<["n", 7]>
#y = #graph.shape<["n", 5]>

// Seven elements of depth are two quadruples, or four pairs. The zero point goes to the sums of the columns.
// CHECK-LABEL: func.func @centred
// BYTES: graph.pad %arg0 {{.*}} -> tensor<?x8xui8, #graph.shape<["n", 8]>>
// BYTES: tile.matmul {{.*}}ui8, {{.*}}, tensor<1x2x8x4xi8>) -> tensor<?x5xi32
// BYTES: arith.subi
// PAIRS: arith.subi {{.*}} : i16
// PAIRS: tile.matmul {{.*}}i16, {{.*}}, tensor<1x4x8x2xi16>) -> tensor<?x5xi32
func.func @centred(%a: tensor<?x7xui8, #x>, %b: tensor<7x5xi8>) -> tensor<?x5xi32, #y> {
  %c = graph.map (%a) : (tensor<?x7xui8, #x>) -> tensor<?x7xi16, #x> {
  ^bb0(%e: i8):
    %zero = arith.constant 117 : i16
    %wide = arith.extui %e : i8 to i16
    %d = arith.subi %wide, %zero : i16
    graph.yield %d : i16
  }
  %r = graph.contract %c, %b batch [] x [] over [1] x [0] : (tensor<?x7xi16, #x>, tensor<7x5xi8>) -> tensor<?x5xi32, #y>
  return %r : tensor<?x5xi32, #y>
}

// A border of the centred image is one of zero points.
// CHECK-LABEL: func.func @border
// BYTES: graph.pad %arg0 <[0, 1, 1, 0]> 117 : i8
// BYTES: tile.conv {{.*}} tensor<1x1x3x3x1x8x4xi8>)
// PAIRS: tile.conv {{.*}} tensor<1x1x3x3x2x8x2xi16>)
func.func @border(%x: tensor<1x5x5x4xui8>, %w: tensor<3x3x4x8xi8>) -> tensor<1x5x5x8xi32> {
  %c = graph.map (%x) : (tensor<1x5x5x4xui8>) -> tensor<1x5x5x4xi16> {
  ^bb0(%e: i8):
    %zero = arith.constant 117 : i16
    %wide = arith.extui %e : i8 to i16
    %d = arith.subi %wide, %zero : i16
    graph.yield %d : i16
  }
  %p = graph.pad %c <[0, 1, 1, 0]> 0 : i16 : tensor<1x5x5x4xi16> -> tensor<1x7x7x4xi16>
  %r = graph.conv %p, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x7x7x4xi16>, tensor<3x3x4x8xi8>) -> tensor<1x5x5x8xi32>
  return %r : tensor<1x5x5x8xi32>
}

// Weights of 16 bits that fit 8: their values count. Those that do not fit stay pairs.
// CHECK-LABEL: func.func @weights
// BYTES: tile.matmul {{.*}} -> tensor<2x3xi32>
// BYTES: tile.matmul {{.*}}xi16>) -> tensor<2x3xi32>
// PAIRS-COUNT-2: tile.matmul {{.*}}xi16>) -> tensor<2x3xi32>
func.func @weights(%a: tensor<2x4xui8>) -> (tensor<2x3xi32>, tensor<2x3xi32>) {
  %b = graph.constant dense<-128> : tensor<4x3xi16> : tensor<4x3xi16>
  %w = graph.constant dense<[[0, 256, 1], [2, 3, 4], [5, 6, 7], [8, 9, 10]]> : tensor<4x3xi16> : tensor<4x3xi16>
  %r = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<2x4xui8>, tensor<4x3xi16>) -> tensor<2x3xi32>
  %s = graph.contract %a, %w batch [] x [] over [1] x [0] : (tensor<2x4xui8>, tensor<4x3xi16>) -> tensor<2x3xi32>
  return %r, %s : tensor<2x3xi32>, tensor<2x3xi32>
}

// Two channels of a group are no word of bytes, but one of a pair.
// CHECK-LABEL: func.func @groups
// CHECK: tile.conv {{.*}} tensor<2x1x3x3x1x4x2xi16>)
func.func @groups(%x: tensor<1x5x5x4xui8>, %w: tensor<3x3x2x8xi8>) -> tensor<1x3x3x8xi32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 2 channels_last
    : (tensor<1x5x5x4xui8>, tensor<3x3x2x8xi8>) -> tensor<1x3x3x8xi32>
  return %r : tensor<1x3x3x8xi32>
}

// Several products of a depthwise convolution at once: either of two bytes may be the unsigned one of a word. Pairs hold
// both as they are.
// CHECK-LABEL: func.func @depthwise
// BYTES: graph.conv {{.*}} : (tensor<1x5x5x16xi8>, tensor<3x3x1x16xui8>) -> tensor<1x3x3x16xi32>
// PAIRS: graph.conv {{.*}} : (tensor<1x5x5x16xui8>, tensor<3x3x1x16xui8>) -> tensor<1x3x3x16xi32>
// BYTES: graph.conv {{.*}} : (tensor<1x5x5x16xui8>, tensor<3x3x1x16xi8>) -> tensor<1x3x3x16xi32>
// PAIRS: graph.conv {{.*}} : (tensor<1x5x5x16xi8>, tensor<3x3x1x16xi8>) -> tensor<1x3x3x16xi32>
func.func @depthwise(%x: tensor<1x5x5x16xui8>, %w: tensor<3x3x1x16xui8>, %z: tensor<1x5x5x16xi8>, %v: tensor<3x3x1x16xi8>)
    -> (tensor<1x3x3x16xi32>, tensor<1x3x3x16xi32>) {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 16 channels_last
    : (tensor<1x5x5x16xui8>, tensor<3x3x1x16xui8>) -> tensor<1x3x3x16xi32>
  %s = graph.conv %z, %v strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 16 channels_last
    : (tensor<1x5x5x16xi8>, tensor<3x3x1x16xi8>) -> tensor<1x3x3x16xi32>
  return %r, %s : tensor<1x3x3x16xi32>, tensor<1x3x3x16xi32>
}

// Products of floats are added one by one.
// CHECK-LABEL: func.func @depthwise_of_floats
// CHECK: graph.conv {{.*}} : (tensor<1x5x5x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x3x3x16xf32>
func.func @depthwise_of_floats(%x: tensor<1x5x5x16xbf16>, %w: tensor<3x3x1x16xbf16>) -> tensor<1x3x3x16xf32> {
  %image = graph.map (%x) : (tensor<1x5x5x16xbf16>) -> tensor<1x5x5x16xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %filter = graph.map (%w) : (tensor<3x3x1x16xbf16>) -> tensor<3x3x1x16xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %r = graph.conv %image, %filter strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 16 channels_last
    : (tensor<1x5x5x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x3x3x16xf32>
  return %r : tensor<1x3x3x16xf32>
}
