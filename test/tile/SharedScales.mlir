// Scales of two levels, as K blocks have them, stay so: whole ones of groups, times floats that several groups share. The
// offsets, which are subtracted from the scaled numbers, are a product of the sums of the groups, whose scales are those
// floats. So are zero points for which a byte has no room.
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s > %t.mlir
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 --graph-simplify --graph-fuse-kernels %t.mlir | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 | FileCheck %s --check-prefix=PAIRS
// RUN: perpend-opt --tile-pack-operands=target=znver5 --graph-simplify --graph-fuse-kernels %t.mlir | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=sapphirerapids --graph-simplify --graph-fuse-kernels %t.mlir | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=sapphirerapids | FileCheck %s --check-prefix=TILES
// RUN: perpend-opt --tile-pack-operands=target=znver5 %t.mlir | FileCheck %s --check-prefix=SHARED --implicit-check-not=graph.slice
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=x86-64-v3})' --varied --within=0.00001
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=znver5},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks)' --varied --within=0.00001
// RUN: same-values %t.mlir 'builtin.module(tile-pack-operands{target=sapphirerapids},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=sapphirerapids},tile-flatten-blocks)' --varied --within=0.00001
// RUN: perpend check %s --against interpreter --precision int8
// Rows of floats have scales that were multiplied in advance.
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 --graph-simplify --graph-fuse-kernels %s | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 | FileCheck %s --check-prefix=FLOATS
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=x86-64-v3})' --varied --within=0.00001
// RUN: perpend check %s --against interpreter

// Shared scales are packed as few as they are, so that they are folded however large a matrix is.
// SHARED: graph.generate (%{{.*}}) : (tensor<2x32xf16>) -> tensor<1x2x32xf16>
// CHECK-DAG: tensorized = "fours.u4.bytes.shared.groups"
// CHECK-DAG: tensorized = "i8.half.groups"
// PAIRS-DAG: tensorized = "pairs.u4.bytes.shared.groups"
// PAIRS-DAG: tensorized = "i8.half.groups"
// TILES: tensorized = "amx.u4.bytes.shared.groups"
// FLOATS-DAG: tensorized = "i4.zeros.groups"
// FLOATS-DAG: tensorized = "i8.half.groups"
func.func @main(%x: tensor<20x512xf32>) -> (tensor<20x32xf32>, tensor<20x32xf32>) {
  %q = graph.constant dense<13> : tensor<512x32xui4> : tensor<512x32xui4>
  %s = graph.constant dense<50> : tensor<16x32xi8> : tensor<16x32xi8>
  %d = graph.constant dense<0.0625> : tensor<2x32xf16> : tensor<2x32xf16>
  %m = graph.constant dense<33> : tensor<16x32xi8> : tensor<16x32xi8>
  %e = graph.constant dense<0.1875> : tensor<2x32xf16> : tensor<2x32xf16>
  %s_groups = graph.broadcast %s dims [0, 2] : tensor<16x32xi8> -> tensor<16x32x32xi8>
  %s_all = graph.reshape %s_groups : tensor<16x32x32xi8> -> tensor<512x32xi8>
  %m_groups = graph.broadcast %m dims [0, 2] : tensor<16x32xi8> -> tensor<16x32x32xi8>
  %m_all = graph.reshape %m_groups : tensor<16x32x32xi8> -> tensor<512x32xi8>
  %d_blocks = graph.broadcast %d dims [0, 2] : tensor<2x32xf16> -> tensor<2x256x32xf16>
  %d_all = graph.reshape %d_blocks : tensor<2x256x32xf16> -> tensor<512x32xf16>
  %e_blocks = graph.broadcast %e dims [0, 2] : tensor<2x32xf16> -> tensor<2x256x32xf16>
  %e_all = graph.reshape %e_blocks : tensor<2x256x32xf16> -> tensor<512x32xf16>
  %w = graph.map (%q, %s_all, %d_all, %m_all, %e_all) : (tensor<512x32xui4>, tensor<512x32xi8>, tensor<512x32xf16>, tensor<512x32xi8>, tensor<512x32xf16>) -> tensor<512x32xf32> {
  ^bb0(%n: i4, %small: i8, %shared: f16, %offset: i8, %shared_offset: f16):
    %f = arith.uitofp %n : i4 to f32
    %g = arith.sitofp %small : i8 to f32
    %h = arith.extf %shared : f16 to f32
    %scale = arith.mulf %g, %h : f32
    %y = arith.mulf %f, %scale : f32
    %o = arith.sitofp %offset : i8 to f32
    %p = arith.extf %shared_offset : f16 to f32
    %less = arith.mulf %o, %p : f32
    %z = arith.subf %y, %less : f32
    graph.yield %z : f32
  }
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<20x512xf32>, tensor<512x32xf32>) -> tensor<20x32xf32>
  %b = graph.constant dense<-7> : tensor<512x32xi8> : tensor<512x32xi8>
  %v = graph.map (%b, %s_all, %d_all) : (tensor<512x32xi8>, tensor<512x32xi8>, tensor<512x32xf16>) -> tensor<512x32xf32> {
  ^bb0(%n: i8, %small: i8, %shared: f16):
    %f = arith.sitofp %n : i8 to f32
    %three = arith.constant 3.0 : f32
    %c = arith.subf %f, %three : f32
    %g = arith.sitofp %small : i8 to f32
    %h = arith.extf %shared : f16 to f32
    %scale = arith.mulf %g, %h : f32
    %z = arith.mulf %c, %scale : f32
    graph.yield %z : f32
  }
  %t = graph.contract %x, %v batch [] x [] over [1] x [0] : (tensor<20x512xf32>, tensor<512x32xf32>) -> tensor<20x32xf32>
  return %y, %t : tensor<20x32xf32>, tensor<20x32xf32>
}
