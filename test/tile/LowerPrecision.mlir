// RUN: not perpend-opt --tile-lower-precision=precision=f8 %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: perpend-opt --tile-lower-precision=precision=f16 %s | FileCheck %s --check-prefixes=CHECK,HALF
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: perpend-opt --tile-lower-precision=precision=bf16 %s | FileCheck %s --check-prefix=FLUSHES
// RUN: perpend-opt --tile-lower-precision=precision=f16 "--tile-pack-operands=target=x86-64-v3 precision=f16" --graph-simplify %s | FileCheck %s --check-prefix=PACKED
// Random weights, and bounds that the next lower type does not keep.
// RUN: same-values %s 'builtin.module(tile-lower-precision{precision=f16})' --varied --within=0.0003
// RUN: same-values %s 'builtin.module(tile-lower-precision{precision=f16},tile-pack-operands{target=x86-64-v3 precision=f16},graph-simplify)' --varied --within=0.0003
// RUN: not same-values %s 'builtin.module(tile-lower-precision{precision=bf16})' --varied --within=0.0003
// RUN: same-values %s 'builtin.module(tile-lower-precision{precision=bf16})' --varied --within=0.003
// RUN: not same-values %s 'builtin.module(tile-lower-precision{precision=int8})' --varied --within=0.003
// RUN: same-values %s 'builtin.module(tile-lower-precision{precision=int8})' --varied --within=0.01

// UNKNOWN: error: unknown precision 'f8'
// UNKNOWN-NEXT: hint: it is a floating-point type, or int8

// HALF: tile.precision = {kept = {"depthwise convolution" = 1 : i64, "product of another type" = 1 : i64, "product of weights that are infinite in the type" = 1 : i64, "product with one column" = 1 : i64}, products = 7 : i64, type = "f16"}
// BYTES: tile.precision = {kept = {"depthwise convolution" = 1 : i64, "product of another type" = 1 : i64, "product with few columns or a short sum" = 3 : i64, "product with one column" = 1 : i64}, products = 5 : i64, type = "int8"}

// Both operands are rounded and widened, an activation once for all products.
// CHECK-LABEL: func.func @products
// HALF-COUNT-1: arith.truncf
// HALF: arith.extf
// HALF-COUNT-2: arith.truncf
// HALF-NOT: arith.truncf
// Subnormal operands of bf16 may be 0.
// FLUSHES-LABEL: func.func @products
// FLUSHES: arith.truncf %{{.*}} {graph.flushes} : f32 to bf16
// By the largest of each row, and of each column of the weights.
// BYTES: graph.reduce max %{{.*}} dims [1] : tensor<4x32xf32> -> tensor<4xf32>
// BYTES: arith.trunci %{{.*}} : i32 to i8
// BYTES: graph.reduce max %{{.*}} dims [0] : tensor<32x16xf32> -> tensor<16xf32>
// BYTES: graph.contract {{.*}} : (tensor<4x32xi8>, tensor<32x16xi8>) -> tensor<4x16xi32>
// BYTES: arith.sitofp
// BYTES: graph.contract %arg0, %{{.*}} : (tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<4x4xf32>
// Weights lie in 16 bits; what they are multiplied with does not, on a machine that multiplies f32.
// PACKED-LABEL: func.func @products
// PACKED: tile.matmul {{.*}} : (tensor<4x32xf32>, tensor<1x32x16xf16>) -> tensor<4x16xf32>
func.func @products(%x: tensor<4x32xf32>) -> (tensor<4x16xf32>, tensor<4x4xf32>) {
  %w = graph.constant dense<0.1> : tensor<32x16xf32> : tensor<32x16xf32>
  %few = graph.constant dense<0.2> : tensor<32x4xf32> : tensor<32x4xf32>
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<4x32xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
  %z = graph.contract %x, %few batch [] x [] over [1] x [0] : (tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<4x4xf32>
  return %y, %z : tensor<4x16xf32>, tensor<4x4xf32>
}

// What stays, for the reasons above.
// CHECK-LABEL: func.func @others
// CHECK-NOT: truncf
// CHECK-NOT: trunci
func.func @others(%x: tensor<4x32xf32>, %d: tensor<4x32xf64>, %image: tensor<1x8x8x4xf32>, %filter: tensor<3x3x1x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x16xf64>, tensor<1x6x6x4xf32>) {
  %large = graph.constant dense<1.0e5> : tensor<32x4xf32> : tensor<32x4xf32>
  %column = graph.constant dense<1.0> : tensor<32x1xf32> : tensor<32x1xf32>
  %double = graph.constant dense<1.0> : tensor<32x16xf64> : tensor<32x16xf64>
  %0 = graph.contract %x, %large batch [] x [] over [1] x [0] : (tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<4x4xf32>
  %1 = graph.contract %x, %column batch [] x [] over [1] x [0] : (tensor<4x32xf32>, tensor<32x1xf32>) -> tensor<4x1xf32>
  %2 = graph.contract %d, %double batch [] x [] over [1] x [0] : (tensor<4x32xf64>, tensor<32x16xf64>) -> tensor<4x16xf64>
  %3 = graph.conv %image, %filter strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 4 channels_last
      : (tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x6x6x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x16xf64>, tensor<1x6x6x4xf32>
}

// A window over all of the input is a product.
// CHECK-LABEL: func.func @whole
// HALF: arith.truncf
// BYTES: graph.contract {{.*}} : (tensor<2x72xi8>, tensor<72x16xi8>) -> tensor<2x16xi32>
func.func @whole(%x: tensor<2x8x3x3xf32>) -> tensor<2x16x1x1xf32> {
  %w = graph.constant dense<0.1> : tensor<16x8x3x3xf32> : tensor<16x8x3x3xf32>
  %y = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1
      : (tensor<2x8x3x3xf32>, tensor<16x8x3x3xf32>) -> tensor<2x16x1x1xf32>
  return %y : tensor<2x16x1x1xf32>
}

// A window of one position by strides is a product of the positions that it reads.
// CHECK-LABEL: func.func @strides
// HALF: graph.conv {{.*}} strides [2, 3]
// BYTES: graph.slice %{{.*}} <[0, 0, 0, 0]> [1, 2, 3, 1] : tensor<2x7x7x16xf32> -> tensor<2x4x3x16xf32>
// BYTES: graph.contract {{.*}} : (tensor<24x16xi8>, tensor<16x16xi8>) -> tensor<24x16xi32>
func.func @strides(%x: tensor<2x7x7x16xf32>) -> tensor<2x4x3x16xf32> {
  %w = graph.constant dense<0.1> : tensor<1x1x16x16xf32> : tensor<1x1x16x16xf32>
  %y = graph.conv %x, %w strides [2, 3] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
      : (tensor<2x7x7x16xf32>, tensor<1x1x16x16xf32>) -> tensor<2x4x3x16xf32>
  return %y : tensor<2x4x3x16xf32>
}

// Few columns: it stays.
// CHECK-LABEL: func.func @few_columns
// BYTES-NOT: graph.slice
// CHECK: graph.conv {{.*}} strides [2, 2]
// CHECK-NOT: graph.conv
func.func @few_columns(%x: tensor<1x4x4x16xf32>) -> tensor<1x2x2x4xf32> {
  %w = graph.constant dense<0.1> : tensor<1x1x16x4xf32> : tensor<1x1x16x4xf32>
  %y = graph.conv %x, %w strides [2, 2] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
      : (tensor<1x4x4x16xf32>, tensor<1x1x16x4xf32>) -> tensor<1x2x2x4xf32>
  return %y : tensor<1x2x2x4xf32>
}

// What an operator computes is rounded for all who read it: here the sum behind the product, too. What the caller gets
// is not, nor what no product reads.
// HALF-LABEL: func.func @readers
// HALF: %[[X:.*]] = graph.map (%arg0)
// HALF-NEXT: ^bb0
// HALF-NEXT: arith.addf
// HALF: arith.truncf
// HALF: %[[KEPT:.*]] = graph.map {{.*}} : (tensor<4x32xf16>) -> tensor<4x32xf32>
// HALF: %[[PRODUCT:.*]] = graph.contract %[[KEPT]],
// HALF: graph.map (%[[PRODUCT]], %[[KEPT]])
// HALF: %[[OUT:.*]] = graph.map
// HALF: arith.mulf
// HALF: graph.map (%[[OUT]])
// HALF: arith.truncf
// HALF: return %{{.*}}, %[[OUT]],
func.func @readers(%x: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) {
  %w = graph.constant dense<0.1> : tensor<32x32xf32> : tensor<32x32xf32>
  %read = graph.map (%x) : (tensor<4x32xf32>) -> tensor<4x32xf32> {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    graph.yield %b : f32
  }
  %y = graph.contract %read, %w batch [] x [] over [1] x [0] : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %sum = graph.map (%y, %read) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    graph.yield %c : f32
  }
  %out = graph.map (%x) : (tensor<4x32xf32>) -> tensor<4x32xf32> {
  ^bb0(%a: f32):
    %b = arith.mulf %a, %a : f32
    graph.yield %b : f32
  }
  %z = graph.contract %out, %w batch [] x [] over [1] x [0] : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  return %sum, %out, %z : tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>
}
