// Short sums whose operands' neighbours are neighbours in the result: a tile of positions by a vector, in registers.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --target x86-64-v3

func.func @main(%x: tensor<1x11x11x20xf32> {graph.name = "x"}, %w: tensor<3x3x1x20xf32> {graph.name = "w"}) -> (tensor<1x9x9x20xf32>, tensor<1x5x5x20xf32>, tensor<1x28x22x64xf32>, tensor<1x14x22x68xf32>, tensor<1x9x12x16xf32>, tensor<1x9x13x20xf32>, tensor<1x15x12x64xf32>) {
  %0 = graph.call_kernel @depthwise(%x, %w) : (tensor<1x11x11x20xf32>, tensor<3x3x1x20xf32>) -> tensor<1x9x9x20xf32>
  %1 = graph.call_kernel @pool(%x) : (tensor<1x11x11x20xf32>) -> tensor<1x5x5x20xf32>
  %y = graph.constant dense<0.5> : tensor<1x30x24x64xf32> : tensor<1x30x24x64xf32>
  %v = graph.constant dense<2.0> : tensor<3x3x1x64xf32> : tensor<3x3x1x64xf32>
  %2 = graph.call_kernel @rows(%y, %v) : (tensor<1x30x24x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x28x22x64xf32>
  %z = graph.constant dense<0.5> : tensor<1x16x24x68xf32> : tensor<1x16x24x68xf32>
  %u = graph.constant dense<2.0> : tensor<3x3x1x68xf32> : tensor<3x3x1x68xf32>
  %3 = graph.call_kernel @few_rows(%z, %u) : (tensor<1x16x24x68xf32>, tensor<3x3x1x68xf32>) -> tensor<1x14x22x68xf32>
  %p = graph.constant dense<0.5> : tensor<1x9x12x16xf32> : tensor<1x9x12x16xf32>
  %q = graph.constant dense<2.0> : tensor<3x3x1x16xf32> : tensor<3x3x1x16xf32>
  %4 = graph.call_kernel @padded(%p, %q) : (tensor<1x9x12x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x9x12x16xf32>
  %r = graph.constant dense<0.5> : tensor<1x9x13x20xf32> : tensor<1x9x13x20xf32>
  %5 = graph.call_kernel @cut(%r, %w) : (tensor<1x9x13x20xf32>, tensor<3x3x1x20xf32>) -> tensor<1x9x13x20xf32>
  %6 = graph.call_kernel @apart(%y) : (tensor<1x30x24x64xf32>) -> tensor<1x15x12x64xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1x9x9x20xf32>, tensor<1x5x5x20xf32>, tensor<1x28x22x64xf32>, tensor<1x14x22x68xf32>, tensor<1x9x12x16xf32>, tensor<1x9x13x20xf32>, tensor<1x15x12x64xf32>
}

// SCHEDULED-LABEL: func.func private @depthwise
// SCHEDULED-SAME: "%i2_0, %i2_1 = split %i2, [_, 4]", "%i3_0, %i3_1 = split %i3, [_, 8]"
// SCHEDULED-SAME: "compute_at %conv, %i3_0"
// SCHEDULED-SAME: "%conv_init = decompose_reduction %conv,
// FLAT-LABEL: func.func private @depthwise
// FLAT: memref.alloca() {alignment = 64 : i64} : memref<32xf32>
// FLAT-NOT: memref.alloca
// A row of the window meets 6 pixels, of which each is loaded once, as are 3 weights; behind whole vectors is a shorter one.
// FLAT-NOT: memref.load
// FLAT-COUNT-9: vector.load %arg{{[01]}}[{{.*}}] : memref<?xf32>, vector<8xf32>
// FLAT-NOT: vector.load %arg{{[01]}}
// FLAT-COUNT-4: vector.store
// FLAT-NOT: memref.load
// FLAT: vector.load %arg{{[01]}}[{{.*}}] : memref<?xf32>, vector<4xf32>
// FLAT-NOT: memref.load
// FLAT: return
func.func private @depthwise(%x: tensor<1x11x11x20xf32>, %w: tensor<3x3x1x20xf32>) -> tensor<1x9x9x20xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 20 channels_last : (tensor<1x11x11x20xf32>, tensor<3x3x1x20xf32>) -> tensor<1x9x9x20xf32>
  %1 = graph.map (%0) : (tensor<1x9x9x20xf32>) -> tensor<1x9x9x20xf32> {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    graph.yield %n : f32
  }
  return %1 : tensor<1x9x9x20xf32>
}

// SCHEDULED-LABEL: func.func private @pool
// SCHEDULED-SAME: cache_write
// FLAT-LABEL: func.func private @pool
// FLAT: arith.maximumf %{{.*}}, %{{.*}} : vector<8xf32>
func.func private @pool(%x: tensor<1x11x11x20xf32>) -> tensor<1x5x5x20xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.window_reduce max %x window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x11x11x20xf32> -> tensor<1x5x5x20xf32>
  return %0 : tensor<1x5x5x20xf32>
}

// Windows that have no element in common are another rule's.
// SCHEDULED-LABEL: func.func private @apart
// SCHEDULED-SAME: "not by the rule window: its positions share no operand
func.func private @apart(%x: tensor<1x30x24x64xf32>) -> tensor<1x15x12x64xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.window_reduce max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x30x24x64xf32> -> tensor<1x15x12x64xf32>
  return %0 : tensor<1x15x12x64xf32>
}

// The rows of a block follow one another for each vector, since windows overlap and the first cache does not hold all
// columns of them. Threads take blocks, so that they write few lines together. Vectors that are four lines apart have a
// quarter of that cache, which does not hold three rows: they are done in two parts.
// SCHEDULED-LABEL: func.func private @rows
// SCHEDULED-SAME: "%i1_0, %i1_1 = split %i1, [_, 14]", "%i2_0_0, %i2_0_1 = split %i2_0, [_, 3]"
// SCHEDULED-SAME: "reorder %i1_0, %i3_0, %i2_0_0, %i1_1, %i2_0_1, %i2_1, %i3_1", "compute_at %conv, %i2_0_1"
// SCHEDULED-SAME: "%fused_i1_0_i3_0 = fuse %i1_0, %i3_0", "parallel %fused_i1_0_i3_0"
func.func private @rows(%x: tensor<1x30x24x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<1x28x22x64xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 64 channels_last : (tensor<1x30x24x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x28x22x64xf32>
  %1 = graph.map (%0) : (tensor<1x28x22x64xf32>) -> tensor<1x28x22x64xf32> {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    graph.yield %n : f32
  }
  return %1 : tensor<1x28x22x64xf32>
}

// Columns that do not fill their last vector are a loop by themselves.
// SCHEDULED-LABEL: func.func private @few_rows
// SCHEDULED-SAME: "%i1_0, %i1_1 = split %i1, [_, 7]", "reorder %i1_0, %i3_0, %i1_1, %i2_0, %i2_1, %i3_1"
// SCHEDULED-SAME: "parallel %fused_i1_0"
func.func private @few_rows(%x: tensor<1x16x24x68xf32>, %w: tensor<3x3x1x68xf32>) -> tensor<1x14x22x68xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 68 channels_last : (tensor<1x16x24x68xf32>, tensor<3x3x1x68xf32>) -> tensor<1x14x22x68xf32>
  %1 = graph.map (%0) : (tensor<1x14x22x68xf32>) -> tensor<1x14x22x68xf32> {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    graph.yield %n : f32
  }
  return %1 : tensor<1x14x22x68xf32>
}

// What a window would meet outside of the input is not there: the condition is of whole vectors, and where the numbers
// of an unrolled loop decide it, there is none: one of 18 terms of a tile is not there.
// SCHEDULED-LABEL: func.func private @padded
// SCHEDULED-SAME: "%i2_0, %i2_1 = split %i2, [_, 6]", {{.*}} "vectorize %i3_2"
// FLAT-LABEL: func.func private @padded
// The loop along the window's rows ends where the input does: that of the units is there once.
// FLAT: scf.for %{{.*}} = %arg4 to %arg5
// FLAT: scf.if
// FLAT-NOT: scf.if
// FLAT-COUNT-17: arith.mulf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : vector<8xf32>
// FLAT-NOT: arith.mulf
// FLAT: scf.for
func.func private @padded(%x: tensor<1x9x12x16xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<1x9x12x16xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.conv %x, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 16 channels_last : (tensor<1x9x12x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x9x12x16xf32>
  %1 = graph.map (%0) : (tensor<1x9x12x16xf32>) -> tensor<1x9x12x16xf32> {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    graph.yield %n : f32
  }
  return %1 : tensor<1x9x12x16xf32>
}

// Rows and pixels are cut where the window leaves the input; channels still are, where whole vectors end.
// FLAT-LABEL: func.func private @cut
// FLAT-NOT: memref.load
// FLAT: return
func.func private @cut(%x: tensor<1x9x13x20xf32>, %w: tensor<3x3x1x20xf32>) -> tensor<1x9x13x20xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.conv %x, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 20 channels_last : (tensor<1x9x13x20xf32>, tensor<3x3x1x20xf32>) -> tensor<1x9x13x20xf32>
  return %0 : tensor<1x9x13x20xf32>
}
