// Zero points that are floats, or for which a byte has no room: bytes are multiplied by the numbers alone, and the sums of
// groups by the zero points times their scales. Without an instruction for bytes, rows of floats read the zero points.
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s > %t.mlir
// RUN: perpend-opt --tile-pack-operands=target=znver5 --graph-simplify --graph-fuse-kernels %t.mlir | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v2 --graph-simplify --graph-fuse-kernels %t.mlir | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v2 | FileCheck %s --check-prefix=FLOATS
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=znver5})' --varied --within=0.00001
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=znver5},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks)' --varied --within=0.00001

// CHECK-DAG: tensorized = "fours.i4.bytes.scales.groups"
// CHECK-DAG: tensorized = "fours.i8.bytes.scales.groups"
// CHECK-DAG: tensorized = "f32.block"
// CHECK-NOT: tensorized = "i4.floats.groups"
// FLOATS-DAG: tensorized = "i4.floats.groups"
// FLOATS-DAG: tensorized = "i8.zeros.groups"
// FLOATS-NOT: tensorized = "f32.block"
func.func @main(%x: tensor<20x64xf32>) -> (tensor<20x32xf32>, tensor<20x32xf32>) {
  %q = graph.constant dense<13> : tensor<64x32xui4> : tensor<64x32xui4>
  %b = graph.constant dense<200> : tensor<64x32xui8> : tensor<64x32xui8>
  %s = graph.constant dense<0.5> : tensor<2x32xf32> : tensor<2x32xf32>
  %z = graph.constant dense<3.25> : tensor<2x32xf32> : tensor<2x32xf32>
  %p = graph.constant dense<7> : tensor<2x32xui8> : tensor<2x32xui8>
  %repeated = graph.broadcast %s dims [0, 2] : tensor<2x32xf32> -> tensor<2x32x32xf32>
  %scales = graph.reshape %repeated : tensor<2x32x32xf32> -> tensor<64x32xf32>
  %points = graph.broadcast %z dims [0, 2] : tensor<2x32xf32> -> tensor<2x32x32xf32>
  %zeros = graph.reshape %points : tensor<2x32x32xf32> -> tensor<64x32xf32>
  %bytes = graph.broadcast %p dims [0, 2] : tensor<2x32xui8> -> tensor<2x32x32xui8>
  %byte_zeros = graph.reshape %bytes : tensor<2x32x32xui8> -> tensor<64x32xui8>
  %w = graph.map (%q, %zeros, %scales) : (tensor<64x32xui4>, tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%n: i4, %zero: f32, %scale: f32):
    %f = arith.uitofp %n : i4 to f32
    %c = arith.subf %f, %zero : f32
    %y = arith.mulf %c, %scale : f32
    graph.yield %y : f32
  }
  %v = graph.map (%b, %byte_zeros, %scales) : (tensor<64x32xui8>, tensor<64x32xui8>, tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%n: i8, %zero: i8, %scale: f32):
    %f = arith.uitofp %n : i8 to f32
    %g = arith.uitofp %zero : i8 to f32
    %c = arith.subf %f, %g : f32
    %y = arith.mulf %c, %scale : f32
    graph.yield %y : f32
  }
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<20x64xf32>, tensor<64x32xf32>) -> tensor<20x32xf32>
  %t = graph.contract %x, %v batch [] x [] over [1] x [0] : (tensor<20x64xf32>, tensor<64x32xf32>) -> tensor<20x32xf32>
  return %y, %t : tensor<20x32xf32>, tensor<20x32xf32>
}
