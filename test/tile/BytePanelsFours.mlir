// Like BytePanels.mlir, where a machine adds products of bytes in fours.
// RUN: perpend-opt --tile-lower-precision=precision=int8 --tile-pack-operands=target=znver4 --graph-simplify --graph-fuse-kernels %s > %t.mlir
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver4 %t.mlir | FileCheck %s
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s > %t.rows.mlir
// RUN: same-values %t.rows.mlir 'builtin.module(tile-pack-operands{target=znver4},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=znver4},tile-flatten-blocks)' --varied --within=0.00001
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver4 --tile-flatten-blocks=target=znver4 --tile-lower-intrinsics=target=znver4 %t.mlir | FileCheck %s --check-prefix=CODE

// CHECK: tensorized = "fours.i8.bytes.scales.groups"
// CHECK: tensorized = "i8.bytes.scales.groups"

// Blocks have seven rows of two vectors, and a loop multiplies two sets of four numbers at a time. Sums start at those of
// the columns that the rows' offset asks for, and no number of 16 bits is in between. Words of a single row,
// which hold bytes, are prefetched into the second-level cache.
// CODE-LABEL: func.func private @bytes_i8.bytes.scales.groups_1x32
// CODE: memref.prefetch %arg4{{.*}} locality<2>
// CODE-LABEL: func.func private @panels_fours.i8.bytes.scales.groups_8x32
// CODE-NOT: xi16>
// CODE-DAG: memref.alloca() {{.*}} : memref<{{[0-9]+}}xi8>
// CODE-DAG: memref.alloca() {{.*}} : memref<{{[0-9]+}}xi32>
// CODE-DAG: memref.alloca() {{.*}} : memref<{{[0-9]+}}xf32>
// CODE-COUNT-2: "llvm.x86.avx512.vpdpbusd.512"
// CODE: memref.prefetch
// CODE: scf.for
// CODE-COUNT-28: "llvm.x86.avx512.vpdpbusd.512"
// CODE-NOT: "llvm.x86.avx512.vpdpbusd.512"
// CODE-COUNT-14: vector.fma
func.func @main(%x: tensor<40x64xf32>, %z: tensor<1x64xf32>) -> (tensor<40x32xf32>, tensor<1x32xf32>) {
  %q = graph.constant dense<77> : tensor<64x32xi8> : tensor<64x32xi8>
  %s = graph.constant dense<0.5> : tensor<2x32xf32> : tensor<2x32xf32>
  %repeated = graph.broadcast %s dims [0, 2] : tensor<2x32xf32> -> tensor<2x32x32xf32>
  %scales = graph.reshape %repeated : tensor<2x32x32xf32> -> tensor<64x32xf32>
  %w = graph.map (%q, %scales) : (tensor<64x32xi8>, tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%n: i8, %scale: f32):
    %f = arith.sitofp %n : i8 to f32
    %y = arith.mulf %f, %scale : f32
    graph.yield %y : f32
  }
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<40x64xf32>, tensor<64x32xf32>) -> tensor<40x32xf32>
  %t = graph.contract %z, %w batch [] x [] over [1] x [0] : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  return %y, %t : tensor<40x32xf32>, tensor<1x32xf32>
}
