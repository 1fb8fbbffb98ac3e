// RUN: perpend-opt --graph-place-channels-last %s | FileCheck %s
// RUN: perpend-opt --graph-place-channels-last=skips-borders %s | FileCheck %s --check-prefix=SKIPS
// RUN: same-values %s 'func.func(graph-place-channels-last)'
// RUN: same-values %s 'func.func(graph-place-channels-last{skips-borders})'

// Input and filter are transposed and padded, the window lies inside the input.
// CHECK-LABEL: func.func @conv
// CHECK-DAG: %[[X:.*]] = graph.transpose %arg0 [0, 2, 3, 1]
// CHECK-DAG: %[[W:.*]] = graph.transpose %arg1 [2, 3, 1, 0]
// CHECK: %[[P:.*]] = graph.pad %[[X]] <[0, 1, 1, 0]> 0.000000e+00 : f32 : {{.*}} -> tensor<?x7x8x3xf32
// CHECK: %[[C:.*]] = graph.conv %[[P]], %[[W]] strides [1, 1] pad [0, 0] {{.*}} channels_last
// CHECK: graph.transpose %[[C]] [0, 3, 1, 2]
#x = #graph.shape<["n", 3, 5, 6]>
#y = #graph.shape<["n", 4, 5, 6]>
func.func @conv(%x: tensor<?x3x5x6xf32, #x>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x5x6xf32, #y> {
  %r = graph.conv %x, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<?x3x5x6xf32, #x>, tensor<4x3x3x3xf32>) -> tensor<?x4x5x6xf32, #y>
  return %r : tensor<?x4x5x6xf32, #y>
}

// One of three channels leaves vectors of channels empty: each channel is a convolution of its own.
// CHECK-LABEL: func.func @few_channels
// CHECK-COUNT-3: graph.conv {{.*}} groups 1 channels_last : (tensor<1x{{.*}}x1xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x1xf32>
// CHECK-NOT: graph.conv
// CHECK: graph.concat {{.*}} axis 1
func.func @few_channels(%x: tensor<1x3x5x6xf32>, %w: tensor<3x1x3x2xf32>) -> tensor<1x3x3x4xf32> {
  %r = graph.conv %x, %w strides [2, 2] pad [1, 2] dilations [1, 1] input_dilation [1, 1] groups 3
    : (tensor<1x3x5x6xf32>, tensor<3x1x3x2xf32>) -> tensor<1x3x3x4xf32>
  return %r : tensor<1x3x3x4xf32>
}

// A depthwise one skips what is not there.
// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: graph.pad
// CHECK: graph.conv {{.*}} pad [1, 2] {{.*}} groups 4 channels_last
func.func @depthwise(%x: tensor<1x4x5x6xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x5x6xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [1, 2] dilations [1, 1] input_dilation [1, 1] groups 4
    : (tensor<1x4x5x6xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x5x6xf32>
  return %r : tensor<1x4x5x6xf32>
}

// Also of floats that are extended in between.
// CHECK-LABEL: func.func @depthwise_pads_halves(
// CHECK-SAME: %[[HALVES:.*]]: tensor<1x4x5x6xf16>
// CHECK: %[[WIDE:.*]] = graph.map (%[[HALVES]]) : (tensor<1x4x5x6xf16>) -> tensor<1x4x5x6xf32>
// CHECK: %[[WIDE_LAST:.*]] = graph.transpose %[[WIDE]]
// CHECK: graph.conv %[[WIDE_LAST]], {{.*}} pad [1, 1] {{.*}} groups 4 channels_last
func.func @depthwise_pads_halves(%x: tensor<1x4x5x6xf16>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x6x7xf32> {
  %zeros = graph.pad %x <[0, 0, 1, 1]> 0.000000e+00 : f16 : tensor<1x4x5x6xf16> -> tensor<1x4x8x9xf16>
  %wide = graph.map (%zeros) : (tensor<1x4x8x9xf16>) -> tensor<1x4x8x9xf32> {
  ^bb0(%e: f16):
    %f = arith.extf %e : f16 to f32
    graph.yield %f : f32
  }
  %a = graph.conv %wide, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 4
    : (tensor<1x4x8x9xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x7xf32>
  return %a : tensor<1x4x6x7xf32>
}

// Zeros around its input are not there either; other numbers are.
// CHECK-LABEL: func.func @depthwise_pads(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x5x6xf32>,
// CHECK: %[[LAST:.*]] = graph.transpose %[[X]]
// CHECK: graph.conv %[[LAST]], {{.*}} pad [1, 2] {{.*}} groups 4 channels_last
// CHECK: %[[ONES:.*]] = graph.pad %[[X]] <[0, 0, 1, 1]> 1.0
// CHECK: %[[PADDED:.*]] = graph.transpose %[[ONES]]
// CHECK: graph.conv %[[PADDED]], {{.*}} pad [0, 0] {{.*}} groups 4 channels_last
func.func @depthwise_pads(%x: tensor<1x4x5x6xf32>, %w: tensor<4x1x3x3xf32>) -> (tensor<1x4x6x7xf32>, tensor<1x4x6x7xf32>) {
  %zeros = graph.pad %x <[0, 0, 1, 1]> 0.000000e+00 : f32 : tensor<1x4x5x6xf32> -> tensor<1x4x8x8xf32>
  %a = graph.conv %zeros, %w strides [1, 1] pad [0, 1] dilations [1, 1] input_dilation [1, 1] groups 4
    : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x7xf32>
  %ones = graph.pad %x <[0, 0, 1, 1]> 1.000000e+00 : f32 : tensor<1x4x5x6xf32> -> tensor<1x4x8x9xf32>
  %b = graph.conv %ones, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 4
    : (tensor<1x4x8x9xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x7xf32>
  return %a, %b : tensor<1x4x6x7xf32>, tensor<1x4x6x7xf32>
}

// The input of a transposed convolution is spread by an operator of its own.
// CHECK-LABEL: func.func @transposed
// CHECK: graph.generate
// CHECK: graph.conv {{.*}} input_dilation [1, 1] groups 1 channels_last
func.func @transposed(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x9x9xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [2, 2] dilations [1, 1] input_dilation [2, 2] groups 1
    : (tensor<1x3x4x4xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x9x9xf32>
  return %r : tensor<1x2x9x9xf32>
}

// An extent of 0 stays one, also where the result has more rows than the elements reach.
// CHECK-LABEL: func.func @transposed_rows
// CHECK: graph.generate {{.*}} -> tensor<1x?x4x3xf32, #graph.shape<[1, "2*h", 4, 3]>>
// CHECK: graph.pad {{.*}} -> tensor<1x?x9x3xf32, #graph.shape<[1, "2*h + 2", 9, 3]>>
#rows = #graph.shape<[1, 3, "h", 4]>
#spread = #graph.shape<[1, 2, "2*h", 7]>
func.func @transposed_rows(%x: tensor<1x3x?x4xf32, #rows>, %w: tensor<2x3x3x3xf32>) -> tensor<1x2x?x7xf32, #spread> {
  %r = graph.conv %x, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [2, 2] groups 1
    : (tensor<1x3x?x4xf32, #rows>, tensor<2x3x3x3xf32>) -> tensor<1x2x?x7xf32, #spread>
  return %r : tensor<1x2x?x7xf32, #spread>
}

// A maximum is padded by the lowest value, a sum by 0.
// SKIPS-LABEL: func.func @pools
// SKIPS-NOT: graph.pad
// SKIPS: graph.window_reduce max {{.*}} window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 1, 1, 0]
// SKIPS: graph.window_reduce sum {{.*}} window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 1, 1, 0]
// CHECK-LABEL: func.func @pools
// CHECK: graph.pad {{.*}} 0xFF800000 : f32
// CHECK: graph.window_reduce max {{.*}} window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0]
// CHECK: graph.pad {{.*}} 0.000000e+00 : f32
// CHECK: graph.window_reduce sum {{.*}} window [1, 3, 3, 1] strides [1, 2, 2, 1] pad [0, 0, 0, 0]
func.func @pools(%x: tensor<1x2x7x7xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %m = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 2, 2] pad [0, 0, 1, 1] dilations [1, 1, 1, 1]
    : tensor<1x2x7x7xf32> -> tensor<1x2x4x4xf32>
  %s = graph.window_reduce sum %x window [1, 1, 3, 3] strides [1, 1, 2, 2] pad [0, 0, 1, 1] dilations [1, 1, 1, 1]
    : tensor<1x2x7x7xf32> -> tensor<1x2x4x4xf32>
  return %m, %s : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// A window over the channels is no image: it stays.
// CHECK-LABEL: func.func @channels
// CHECK-NEXT: graph.window_reduce sum %arg0 window [1, 3, 1, 1]
func.func @channels(%x: tensor<1x5x2x2xf32>) -> tensor<1x5x2x2xf32> {
  %s = graph.window_reduce sum %x window [1, 3, 1, 1] strides [1, 1, 1, 1] pad [0, 1, 0, 0] dilations [1, 1, 1, 1]
    : tensor<1x5x2x2xf32> -> tensor<1x5x2x2xf32>
  return %s : tensor<1x5x2x2xf32>
}
