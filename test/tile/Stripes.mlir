// A product whose results windows apart from each other combine: a unit computes the lines of products below one line of
// windows, in a local buffer, by an intrinsic.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,+avxvnni %s | FileCheck %s
// RUN: perpend check %s --against interpreter --target x86-64-v3
// RUN: perpend check %s --against interpreter --target x86-64

func.func @main(%x: tensor<2x9x13x3xf32> {graph.name = "x"}, %w: tensor<1x2x3x3x3x16xf32> {graph.name = "w"}, %b: tensor<20xf32> {graph.name = "b"}, %q: tensor<1x8x12x4xui8> {graph.name = "q"}, %p: tensor<1x2x3x3x1x16x4xi8> {graph.name = "p"}, %r: tensor<1x1x3x3x3x8xf32> {graph.name = "r"}) -> (tensor<2x3x5x20xf32>, tensor<1x3x5x20xi8>, tensor<2x7x2x5xf32>) {
  %0 = graph.call_kernel @largest(%x, %w, %b) : (tensor<2x9x13x3xf32>, tensor<1x2x3x3x3x16xf32>, tensor<20xf32>) -> tensor<2x3x5x20xf32>
  %1 = graph.call_kernel @mean(%q, %p) : (tensor<1x8x12x4xui8>, tensor<1x2x3x3x1x16x4xi8>) -> tensor<1x3x5x20xi8>
  %2 = graph.call_kernel @plain(%x, %r) : (tensor<2x9x13x3xf32>, tensor<1x1x3x3x3x8xf32>) -> tensor<2x7x2x5xf32>
  return %0, %1, %2 : tensor<2x3x5x20xf32>, tensor<1x3x5x20xi8>, tensor<2x7x2x5xf32>
}

// Of 7 lines, windows read 6; of the sums, a block of rows and a panel are there.
// CHECK-LABEL: func.func private @largest
// CHECK-SAME: tile.rules = [{{.*}}"by the rule stripes"]
// CHECK: tile.for %{{.*}} in 6 parallel {
// CHECK: tile.alloc "map" : !tile.buffer<[1, 2, 10, 20] x f32, local>
// CHECK: tile.alloc "conv" : !tile.buffer<[1, 1, 5, 16] x f32, local>
// CHECK: tile.block "conv_o" {{.*}} attributes {tensorized = "f32.block"}
// CHECK: tile.block "map"
// CHECK: tile.block "window_reduce"
func.func private @largest(%x: tensor<2x9x13x3xf32>, %w: tensor<1x2x3x3x3x16xf32>, %b: tensor<20xf32>) -> tensor<2x3x5x20xf32> attributes {tile.kernel} {
  %c = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<2x9x13x3xf32>, tensor<1x2x3x3x3x16xf32>) -> tensor<2x7x11x20xf32>
  %all = graph.broadcast %b dims [3] : tensor<20xf32> -> tensor<2x7x11x20xf32>
  %m = graph.map (%c, %all) : (tensor<2x7x11x20xf32>, tensor<2x7x11x20xf32>) -> tensor<2x7x11x20xf32> {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    graph.yield %s : f32
  }
  %l = graph.window_reduce max %m window [1, 2, 2, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<2x7x11x20xf32> -> tensor<2x3x5x20xf32>
  return %l : tensor<2x3x5x20xf32>
}

// Between the product and the windows, bytes are kept, not the sums of 32 bits that the windows add up.
// CHECK-LABEL: func.func private @mean
// CHECK-SAME: "by the rule stripes"
// CHECK: tile.for %{{.*}} in 3 parallel {
// CHECK: tile.alloc "map" : !tile.buffer<[1, 2, 10, 20] x i8, local>
// CHECK: tensorized = "i8.block"
func.func private @mean(%q: tensor<1x8x12x4xui8>, %p: tensor<1x2x3x3x1x16x4xi8>) -> tensor<1x3x5x20xi8> attributes {tile.kernel} {
  %c = tile.conv %q, %p strides [1, 1] dilations [1, 1] : (tensor<1x8x12x4xui8>, tensor<1x2x3x3x1x16x4xi8>) -> tensor<1x6x10x20xi32>
  %n = graph.map (%c) : (tensor<1x6x10x20xi32>) -> tensor<1x6x10x20xi8> {
  ^bb0(%e: i32):
    %eight = arith.constant 8 : i32
    %h = arith.shrsi %e, %eight : i32
    %s = arith.trunci %h : i32 to i8
    graph.yield %s : i8
  }
  %u = graph.map (%n) : (tensor<1x6x10x20xi8>) -> tensor<1x6x10x20xi32> {
  ^bb0(%e: i8):
    %s = arith.extsi %e : i8 to i32
    graph.yield %s : i32
  }
  %l = graph.window_reduce sum %u window [1, 2, 2, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x6x10x20xi32> -> tensor<1x3x5x20xi32>
  %r = graph.map (%l) : (tensor<1x3x5x20xi32>) -> tensor<1x3x5x20xi8> {
  ^bb0(%e: i32):
    %two = arith.constant 2 : i32
    %h = arith.shrsi %e, %two : i32
    %s = arith.trunci %h : i32 to i8
    graph.yield %s : i8
  }
  return %r : tensor<1x3x5x20xi8>
}

// Without a map the sums are kept, with room for a whole panel. Windows along one dimension only.
// CHECK-LABEL: func.func private @plain
// CHECK-SAME: "by the rule stripes"
// CHECK: tile.alloc "conv" {tile.aligned = 3 : i64} : !tile.buffer<[1, 1, 10, 8] x f32, local>
// CHECK: tensorized = "f32.block"
func.func private @plain(%x: tensor<2x9x13x3xf32>, %r: tensor<1x1x3x3x3x8xf32>) -> tensor<2x7x2x5xf32> attributes {tile.kernel} {
  %c = tile.conv %x, %r strides [1, 1] dilations [1, 1] : (tensor<2x9x13x3xf32>, tensor<1x1x3x3x3x8xf32>) -> tensor<2x7x11x5xf32>
  %l = graph.window_reduce sum %c window [1, 1, 5, 1] strides [1, 1, 5, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<2x7x11x5xf32> -> tensor<2x7x2x5xf32>
  return %l : tensor<2x7x2x5xf32>
}
