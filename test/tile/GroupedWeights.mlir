// Constants of few bits with scales of groups lie as words, and an intrinsic computes the numbers where it multiplies them.
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 --graph-simplify --graph-fuse-kernels %s | perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 | FileCheck %s --check-prefix=SCHEDULED
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=x86-64-v3})' --varied
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=x86-64-v3},graph-simplify,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=x86-64-v3},tile-flatten-blocks)' --varied
// Packed again, and in kernels, it stays.
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 --tile-pack-operands=target=x86-64-v3 %s | FileCheck %s

// Words of eight, in panels of 16 columns, four of them in each group.
// CHECK-LABEL: func.func @main
// CHECK: graph.generate (%[[Q:.*]]) : (tensor<64x32xi4>) -> tensor<2x2x4x16xi32>
// CHECK: graph.generate (%[[S:.*]]) : (tensor<2x32xf32>) -> tensor<2x2x16xf32>
// CHECK: %[[W:.*]] = graph.generate {{.*}} {graph.computed_by_users} : (tensor<2x2x4x16xi32>, tensor<2x2x16xf32>) -> tensor<2x2x4x16x8xf32>
// CHECK: arith.trunci %{{.*}} : i32 to i4
// CHECK: %[[X:.*]] = graph.reshape %arg0 : tensor<3x64xf32> -> tensor<3x2x4x8xf32>
// CHECK: graph.contract %[[X]], %[[W]]
// CHECK-NOT: tile.matmul

// Nothing is stored between the numbers and the product.
// SCHEDULED-LABEL: func.func private @
// SCHEDULED: tile.block "contract_o" {{.*}} attributes {tensorized = "i4.groups"}
// SCHEDULED-NOT: tile.alloc
// SCHEDULED-LABEL: func.func private @
// SCHEDULED: attributes {tensorized = "i8.zeros.groups"}
func.func @main(%x: tensor<3x64xf32>, %v: tensor<3x40xf32>) -> (tensor<3x32xf32>, tensor<3x32xf32>) {
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
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
  // Bytes without sign, of whole columns, that are multiplied sideways.
  %b = graph.constant dense<200> : tensor<32x40xui8> : tensor<32x40xui8>
  %p = graph.constant dense<7> : tensor<32xui8> : tensor<32xui8>
  %t = graph.constant dense<0.5> : tensor<32xf32> : tensor<32xf32>
  %points = graph.broadcast %p dims [0] : tensor<32xui8> -> tensor<32x40xui8>
  %factors = graph.broadcast %t dims [0] : tensor<32xf32> -> tensor<32x40xf32>
  %u = graph.map (%b, %points, %factors) : (tensor<32x40xui8>, tensor<32x40xui8>, tensor<32x40xf32>) -> tensor<32x40xf32> {
  ^bb0(%n: i8, %zero: i8, %scale: f32):
    %f = arith.uitofp %n : i8 to f32
    %g = arith.uitofp %zero : i8 to f32
    %d = arith.subf %f, %g : f32
    %h = arith.mulf %d, %scale : f32
    graph.yield %h : f32
  }
  %z = graph.contract %v, %u batch [] x [] over [1] x [1] : (tensor<3x40xf32>, tensor<32x40xf32>) -> tensor<3x32xf32>
  return %y, %z : tensor<3x32xf32>, tensor<3x32xf32>
}

// Signed bytes in groups, with zero points of either sign.
// CHECK-LABEL: func.func @signs
// CHECK: graph.generate {{.*}} -> tensor<1x2x32x16xi8>
// CHECK: graph.generate {{.*}} -> tensor<1x2x16xf32>
// CHECK: graph.generate {{.*}} -> tensor<1x2x16xi8>
func.func @signs(%x: tensor<3x64xf32>) -> tensor<3x16xf32> {
  %q = graph.constant dense<-3> : tensor<64x16xi8> : tensor<64x16xi8>
  %s = graph.constant dense<0.25> : tensor<2x16xf32> : tensor<2x16xf32>
  %p = graph.constant dense<-7> : tensor<2x16xi8> : tensor<2x16xi8>
  %s.wide = graph.broadcast %s dims [0, 2] : tensor<2x16xf32> -> tensor<2x32x16xf32>
  %p.wide = graph.broadcast %p dims [0, 2] : tensor<2x16xi8> -> tensor<2x32x16xi8>
  %scales = graph.reshape %s.wide : tensor<2x32x16xf32> -> tensor<64x16xf32>
  %points = graph.reshape %p.wide : tensor<2x32x16xi8> -> tensor<64x16xi8>
  %w = graph.map (%q, %points, %scales) : (tensor<64x16xi8>, tensor<64x16xi8>, tensor<64x16xf32>) -> tensor<64x16xf32> {
  ^bb0(%n: i8, %zero: i8, %scale: f32):
    %f = arith.sitofp %n : i8 to f32
    %g = arith.sitofp %zero : i8 to f32
    %d = arith.subf %f, %g : f32
    %h = arith.mulf %d, %scale : f32
    graph.yield %h : f32
  }
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<3x64xf32>, tensor<64x16xf32>) -> tensor<3x16xf32>
  return %y : tensor<3x16xf32>
}
