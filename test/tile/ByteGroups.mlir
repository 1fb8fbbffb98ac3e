// Rows that are bytes, as --precision int8 makes them, are multiplied as bytes with the numbers of words.
// RUN: perpend-opt --tile-pack-operands=target=znver5 --graph-simplify --graph-fuse-kernels %s | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 | FileCheck %s
// RUN: perpend-opt --tile-lower-precision=precision=int8 --tile-pack-operands=target=znver5 --graph-simplify --graph-fuse-kernels %s | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 | FileCheck %s --check-prefix=LOWERED
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=znver5})' --varied
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=znver5},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks)' --varied
// Rows have a scale for each group of the weights.
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s > %t.mlir
// RUN: same-values %s 'builtin.module(tile-lower-precision{precision=int8})' --varied --within=0.006
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=znver5})' --varied
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=znver5},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks)' --varied --within=0.00001
// Without an instruction for them, bytes are converted.
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v2 --graph-simplify --graph-fuse-kernels %s | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v2 | FileCheck %s --check-prefix=FLOATS

// CHECK: tile.block "contract_o"{{.*}} attributes {tensorized = "i4.bytes.groups"}
// FLOATS-NOT: bytes.groups
// FLOATS: tile.block "contract_o"{{.*}} attributes {tensorized = "i4.groups"}
// FLOATS-NOT: bytes.groups
// Both products become calls of one kernel.
// LOWERED: tile.block "contract_o"{{.*}} attributes {tensorized = "i4.bytes.scales.groups"}
// LOWERED-NOT: tensorized
func.func @main(%x: tensor<3x64xi8>, %z: tensor<3x64xf32>) -> (tensor<3x32xf32>, tensor<3x32xf32>) {
  %q = graph.constant dense<3> : tensor<64x32xi4> : tensor<64x32xi4>
  %s = graph.constant dense<0.5> : tensor<2x32xf32> : tensor<2x32xf32>
  %repeated = graph.broadcast %s dims [0, 2] : tensor<2x32xf32> -> tensor<2x32x32xf32>
  %scales = graph.reshape %repeated : tensor<2x32x32xf32> -> tensor<64x32xf32>
  %w = graph.map (%q, %scales) : (tensor<64x32xi4>, tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%n: i4, %scale: f32):
    %f = arith.sitofp %n : i4 to f32
    %y = arith.mulf %f, %scale : f32
    graph.yield %y : f32
  }
  %floats = graph.map (%x) : (tensor<3x64xi8>) -> tensor<3x64xf32> {
  ^bb0(%n: i8):
    %f = arith.sitofp %n : i8 to f32
    graph.yield %f : f32
  }
  %y = graph.contract %floats, %w batch [] x [] over [1] x [0] : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
  %t = graph.contract %z, %w batch [] x [] over [1] x [0] : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
  return %y, %t : tensor<3x32xf32>, tensor<3x32xf32>
}
