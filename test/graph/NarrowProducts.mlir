// Products of a machine with a unit for them read floats in the bits that the model has.
// RUN: perpend-opt --graph-fuse-maps=keeps-narrow=true --graph-fuse-kernels=keeps-narrow=true %s | FileCheck %s
// RUN: perpend-opt --graph-fuse-maps --graph-fuse-kernels %s | FileCheck --check-prefix=WIDE %s
// RUN: same-values %s 'func.func(graph-fuse-maps{keeps-narrow=true}),graph-fuse-kernels{keeps-narrow=true}'

// The border is made of narrow elements; the rectified product leaves narrow ones; nothing wide is between kernels.
// CHECK-LABEL: func.func @main
// CHECK: graph.call_kernel {{.*}} -> tensor<1x6x6x3xf16>
// CHECK-NEXT: graph.call_kernel {{.*}} -> tensor<1x4x4x5xf16>
// CHECK-NEXT: graph.call_kernel {{.*}} -> tensor<1x4x4x2xf16>
// CHECK-NEXT: return

// WIDE: graph.call_kernel {{.*}} -> tensor<1x6x6x3xf32>
func.func @main(%x: tensor<1x4x4x3xf16>, %w: tensor<3x3x3x5xf16>, %v: tensor<1x1x5x2xf16>) -> tensor<1x4x4x2xf16> {
  %xw = graph.map (%x) : (tensor<1x4x4x3xf16>) -> tensor<1x4x4x3xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %ww = graph.map (%w) : (tensor<3x3x3x5xf16>) -> tensor<3x3x3x5xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %p = graph.pad %xw <[0, 1, 1, 0]> 0.0 : f32 : tensor<1x4x4x3xf32> -> tensor<1x6x6x3xf32>
  %c = graph.conv %p, %ww strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<1x6x6x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x4x4x5xf32>
  %r = graph.map (%c) : (tensor<1x4x4x5xf32>) -> tensor<1x4x4x5xf16> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %a, %zero : f32
    %b = arith.truncf %m : f32 to f16
    graph.yield %b : f16
  }
  %rw = graph.map (%r) : (tensor<1x4x4x5xf16>) -> tensor<1x4x4x5xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %vw = graph.map (%v) : (tensor<1x1x5x2xf16>) -> tensor<1x1x5x2xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %d = graph.conv %rw, %vw strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<1x4x4x5xf32>, tensor<1x1x5x2xf32>) -> tensor<1x4x4x2xf32>
  %e = graph.map (%d) : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf16> {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to f16
    graph.yield %b : f16
  }
  return %e : tensor<1x4x4x2xf16>
}
