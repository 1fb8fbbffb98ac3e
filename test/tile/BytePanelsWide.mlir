// Like BytePanels.mlir, for numbers of 8 bits.
// RUN: perpend-opt --tile-lower-precision=precision=int8 --tile-pack-operands=target=x86-64-v3 --graph-simplify --graph-fuse-kernels %s > %t.mlir
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %t.mlir | FileCheck %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,+avxvnni %t.mlir | FileCheck %s --check-prefix=FOURS
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s > %t.rows.mlir
// RUN: same-values %t.rows.mlir 'builtin.module(tile-pack-operands{target=x86-64-v3},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=x86-64-v3},tile-flatten-blocks)' --varied --within=0.00001
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks=target=x86-64-v3 --tile-lower-intrinsics=target=x86-64-v3 %t.mlir | FileCheck %s --check-prefix=CODE

// CHECK: tensorized = "pairs.i8.bytes.scales.groups"
// CHECK: tensorized = "i8.bytes.scales.groups"
// FOURS-NOT: "pairs.
// FOURS: tensorized = "i8.bytes.scales.groups"

// Numbers of 8 bits become numbers of 16, and so do five rows at a time, less their offset.
// CODE-LABEL: func.func private @panels_pairs.i8.bytes.scales.groups_8x16
// CODE-COUNT-2: memref.alloca() {{.*}} : memref<{{[0-9]+}}xi16>
// CODE-NOT: memref<{{[0-9]+}}xi32>
// CODE: memref.alloca() {{.*}} : memref<{{[0-9]+}}xf32>
// CODE: arith.extsi {{.*}} : vector<16xi8> to vector<16xi16>
// CODE: memref.prefetch
// CODE-COUNT-5: arith.extui {{.*}} : vector<16xi8> to vector<16xi16>
// CODE: scf.for
// CODE-COUNT-20: "llvm.x86.avx2.pmadd.wd"
// CODE-NOT: "llvm.x86.avx2.pmadd.wd"
// CODE-COUNT-10: vector.fma
// CODE-LABEL: func.func private @contract_
// CODE: call @panels_pairs.i8.bytes.scales.groups_8x16
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
