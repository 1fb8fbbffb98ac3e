// Where a machine multiplies tiles, many rows of bytes are multiplied there, and few rows in vectors, with the same words.
// RUN: perpend-opt --tile-lower-precision=precision=int8 --tile-pack-operands=target=sapphirerapids --graph-simplify --graph-fuse-kernels %s > %t.mlir
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=sapphirerapids %t.mlir | FileCheck %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=sapphirerapids,-amx %t.mlir | FileCheck %s --check-prefix=VECTORS
// RUN: perpend-opt --tile-lower-precision=precision=int8 %s > %t.rows.mlir
// RUN: same-values %t.rows.mlir 'builtin.module(tile-pack-operands{target=sapphirerapids},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=sapphirerapids},tile-flatten-blocks)' --varied --within=0.00001
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=sapphirerapids --tile-flatten-blocks=target=sapphirerapids --tile-lower-intrinsics=target=sapphirerapids %t.mlir | FileCheck %s --check-prefix=CODE

// A call has all 40 rows, since they share the work of unpacking; so its sums are a local buffer.
// CHECK: graph.call_kernel @contract_{{.*}}(%{{.*}}, %{{.*}}, %[[WORDS:.*]], %[[SCALES:.*]]) {{.*}} -> tensor<40x1x32xf32>
// CHECK: graph.call_kernel @contract_{{.*}}(%{{.*}}, %{{.*}}, %[[WORDS]], %[[SCALES]]) {{.*}} -> tensor<1x1x32xf32>
// CHECK: tile.alloc "contract_out_local" : !tile.buffer<[40, 1, 32] x f32, local>
// CHECK-NEXT: tensorized = "amx.i4.bytes.scales.groups"
// CHECK: tensorized = "i4.bytes.scales.groups"
// VECTORS-NOT: amx
// VECTORS: tensorized = "fours.i4.bytes.scales.groups"
// VECTORS: tensorized = "i4.bytes.scales.groups"

// The kernel is configured for 16 rows and 8 words on entry. Tiles and buffers of sums are used in turns: products come
// two groups before their sums are scaled, and are stored one group before.
// CODE-LABEL: func.func private @tiles_amx.i4.bytes.scales.groups_4x32
// CODE: "llvm.x86.tdpbssd"(%c0_i8
// CODE: "llvm.x86.tdpbssd"(%c1_i8
// CODE: "llvm.x86.tilestored64"(%c0_i8
// CODE: "llvm.x86.tdpbssd"(%c2_i8
// CODE: "llvm.x86.tilestored64"(%c1_i8
// CODE-COUNT-16: vector.fma
// CODE: "llvm.x86.tdpbssd"(%c3_i8
// CODE: "llvm.x86.tilestored64"(%c2_i8
// CODE-COUNT-16: vector.fma
// CODE: "llvm.x86.tdpbssd"(%c0_i8
// CODE-LABEL: func.func private @contract_{{.*}}tile.configured = ["tiles_amx.groups.configure", 16, 8]
// CODE-DAG: %[[ROWS:.*]] = arith.constant 16 : i8
// CODE-DAG: %[[WORDS:.*]] = arith.constant 8 : i8
// CODE: call @tiles_amx.groups.configure(%[[ROWS]], %[[WORDS]])
// CODE: call @tiles_amx.i4.bytes.scales.groups_4x32
// CODE-NOT: call @tiles_amx.groups.configure
// CODE: "llvm.x86.tilerelease"
func.func @main(%x: tensor<40x64xf32>, %z: tensor<1x64xf32>) -> (tensor<40x32xf32>, tensor<1x32xf32>) {
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
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<40x64xf32>, tensor<64x32xf32>) -> tensor<40x32xf32>
  %t = graph.contract %z, %w batch [] x [] over [1] x [0] : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  return %y, %t : tensor<40x32xf32>, tensor<1x32xf32>
}
