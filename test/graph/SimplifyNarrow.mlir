// RUN: perpend-opt --graph-simplify=keeps-narrow=true %s | FileCheck %s
// RUN: perpend-opt --graph-simplify %s | FileCheck %s --check-prefix=WIDE
// RUN: same-values %s 'graph-simplify{keeps-narrow=true}'

// Weights of a product stay as the model has them, be they moved; those that something else reads are converted once.
// CHECK-LABEL: func.func @weights
// CHECK: graph.constant {{.*}} : tensor<3x5xbf16>
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: graph.contract
// WIDE-LABEL: func.func @weights
// WIDE: graph.constant {{.*}} : tensor<5x3xf32>
// WIDE-NOT: arith.extf
// WIDE: return
func.func @weights(%x: tensor<4x5xf32>) -> tensor<4x3xf32> {
  %w = graph.constant dense<[[0.5, 2.0, 1.0, -4.0, 3.0], [1.0, 0.25, 1.0, 7.0, 3.0], [0.5, 2.0, 8.0, -4.0, 6.0]]> : tensor<3x5xbf16> : tensor<3x5xbf16>
  %wide = graph.map (%w) : (tensor<3x5xbf16>) -> tensor<3x5xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %t = graph.transpose %wide [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %y = graph.contract %x, %t batch [] x [] over [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @bias
// CHECK: graph.constant {{.*}} : tensor<5xf32>
// CHECK-NOT: arith.extf
// CHECK: return
func.func @bias(%x: tensor<5xf32>) -> tensor<5xf32> {
  %b = graph.constant dense<[0.5, 2.0, 1.0, -4.0, 3.0]> : tensor<5xf16> : tensor<5xf16>
  %wide = graph.map (%b) : (tensor<5xf16>) -> tensor<5xf32> {
  ^bb0(%n: f16):
    %m = arith.extf %n : f16 to f32
    graph.yield %m : f32
  }
  %y = graph.map (%x, %wide) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  return %y : tensor<5xf32>
}
