// A product with one of several constant matrices, which a symbol chooses, reads a row of a table that folds.
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck %s
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=x86-64-v3})' --varied --within=0.00001
// RUN: same-values %s 'builtin.module(tile-pack-operands{target=x86-64-v3},graph-simplify,func.func(graph-fuse-maps),graph-place-states,graph-fuse-kernels,tile-build-blocks,tile-schedule-blocks{target=x86-64-v3},tile-flatten-blocks)' --varied --within=0.00001
// RUN: perpend check %s --against interpreter
// RUN: perpend check %s --against interpreter --precision int8
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 --graph-simplify --graph-fuse-maps --graph-place-states --graph-fuse-kernels %s | FileCheck %s --check-prefix=FUSED

// Numbers in groups, and their scales, of all three matrices.
// CHECK-LABEL: func.func @main
// CHECK: graph.loop
// CHECK: %[[Q:.*]] = graph.generate (%{{.*}}) : (tensor<96x64xi4>) -> tensor<3x2x2x4x16xi32>
// CHECK: graph.slice %[[Q]] <["e", 0, 0, 0, 0]>
// CHECK: %[[S:.*]] = graph.generate (%{{.*}}) : (tensor<96x2xf32>) -> tensor<3x2x2x16xf32>
// CHECK: graph.slice %[[S]] <["e", 0, 0, 0]>
// Panels of floats.
// CHECK: %[[V:.*]] = graph.generate (%{{.*}}) : (tensor<3x64x40xf32>) -> tensor<3x5x64x8xf32>
// CHECK: graph.slice %[[V]] <["e", 0, 0, 0]>
// CHECK: tile.matmul
// Parts of a matrix that overlap have no table, which would be several times as large.
// CHECK: graph.slice %{{.*}} <["e", 0]> [1, 1] : tensor<66x40xf32>
// CHECK-NOT: graph.generate

// FUSED-COUNT-2: graph.slice %{{.*}} <["e", 0, 0, 0{{.*}}]> {{.*}} {graph.in_place}
func.func @main(%x: tensor<5x64xf32>) -> (tensor<5x32xf32>, tensor<5x40xf32>, tensor<5x40xf32>) {
  %q = graph.constant dense<3> : tensor<96x64xi4> : tensor<96x64xi4>
  %s = graph.constant dense<0.5> : tensor<96x2xf32> : tensor<96x2xf32>
  %v = graph.constant dense<0.25> : tensor<3x64x40xf32> : tensor<3x64x40xf32>
  %u = graph.constant dense<0.25> : tensor<66x40xf32> : tensor<66x40xf32>
  %zero = graph.constant dense<0.0> : tensor<5x32xf32> : tensor<5x32xf32>
  %none = graph.constant dense<0.0> : tensor<5x40xf32> : tensor<5x40xf32>
  %wide = graph.broadcast %s dims [0, 1] : tensor<96x2xf32> -> tensor<96x2x32xf32>
  %scales = graph.reshape %wide : tensor<96x2x32xf32> -> tensor<96x64xf32>
  %w = graph.map (%q, %scales) : (tensor<96x64xi4>, tensor<96x64xf32>) -> tensor<96x64xf32> {
  ^bb0(%n: i4, %scale: f32):
    %f = arith.sitofp %n : i4 to f32
    %y = arith.mulf %f, %scale : f32
    graph.yield %y : f32
  }
  %all = graph.reshape %w : tensor<96x64xf32> -> tensor<3x32x64xf32>
  %r:3 = graph.loop count <[3]> carried(%zero, %none, %none : tensor<5x32xf32>, tensor<5x40xf32>, tensor<5x40xf32>) symbols []
      -> (tensor<5x32xf32>, tensor<5x40xf32>, tensor<5x40xf32>) {
  ^bb0(%i: tensor<i64>, %t: tensor<5x32xf32>, %a: tensor<5x40xf32>, %b: tensor<5x40xf32>):
    graph.measure %i as "e" : tensor<i64>
    %one = graph.slice %all <["e", "0", "0"]> [1, 1, 1] : tensor<3x32x64xf32> -> tensor<1x32x64xf32>
    %m = graph.reshape %one : tensor<1x32x64xf32> -> tensor<32x64xf32>
    %p = graph.contract %x, %m batch [] x [] over [1] x [1] : (tensor<5x64xf32>, tensor<32x64xf32>) -> tensor<5x32xf32>
    %t1 = graph.map (%t, %p) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32> {
    ^bb0(%c: f32, %d: f32):
      %h = arith.addf %c, %d : f32
      graph.yield %h : f32
    }
    %two = graph.slice %v <["e", "0", "0"]> [1, 1, 1] : tensor<3x64x40xf32> -> tensor<1x64x40xf32>
    %k = graph.reshape %two : tensor<1x64x40xf32> -> tensor<64x40xf32>
    %o = graph.contract %x, %k batch [] x [] over [1] x [0] : (tensor<5x64xf32>, tensor<64x40xf32>) -> tensor<5x40xf32>
    %a1 = graph.map (%a, %o) : (tensor<5x40xf32>, tensor<5x40xf32>) -> tensor<5x40xf32> {
    ^bb0(%c: f32, %d: f32):
      %h = arith.addf %c, %d : f32
      graph.yield %h : f32
    }
    %part = graph.slice %u <["e", "0"]> [1, 1] : tensor<66x40xf32> -> tensor<64x40xf32>
    %z = graph.contract %x, %part batch [] x [] over [1] x [0] : (tensor<5x64xf32>, tensor<64x40xf32>) -> tensor<5x40xf32>
    %b1 = graph.map (%b, %z) : (tensor<5x40xf32>, tensor<5x40xf32>) -> tensor<5x40xf32> {
    ^bb0(%c: f32, %d: f32):
      %h = arith.addf %c, %d : f32
      graph.yield %h : f32
    }
    graph.yield %t1, %a1, %b1 : tensor<5x32xf32>, tensor<5x40xf32>, tensor<5x40xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<5x32xf32>, tensor<5x40xf32>, tensor<5x40xf32>
}
