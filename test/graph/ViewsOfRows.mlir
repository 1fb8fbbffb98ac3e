// A product that widens its operands reads rows of heads where they are stored, if they are long enough: in any order
// of heads, and across. It stores its rows in another order if they are whole lines. Rows that are too short are copied,
// and so is what a product reads in windows, or adds first.
// RUN: perpend-opt --split-input-file --graph-fuse-kernels="keeps-narrow=true row-bytes=16" %s | FileCheck %s
// RUN: perpend-opt --split-input-file --graph-fuse-kernels="keeps-narrow=true row-bytes=32" %s | FileCheck --check-prefix=SHORT %s
// RUN: same-values %s "graph-fuse-kernels{keeps-narrow=true row-bytes=16}"

// CHECK-LABEL: func.func @main
// CHECK: graph.call_kernel {{.*}}(%arg0, %arg1) {{.*}}: (tensor<3x5x16xf16>, tensor<3x5x16xf16>) -> tensor<3x2x5x5xf32>
// CHECK-NEXT: return
// SHORT-LABEL: func.func @main
// SHORT: graph.call_kernel {{.*}} -> tensor<3x2x5x8xf16>
// SHORT-NEXT: graph.call_kernel {{.*}} -> tensor<3x2x8x5xf16>
// SHORT-NEXT: graph.call_kernel {{.*}} -> tensor<3x2x5x5xf32>
// SHORT-NEXT: return
func.func @main(%q: tensor<3x5x16xf16>, %k: tensor<3x5x16xf16>) -> tensor<3x2x5x5xf32> {
  %qs = graph.reshape %q : tensor<3x5x16xf16> -> tensor<3x5x2x8xf16>
  %qt = graph.transpose %qs [0, 2, 1, 3] : tensor<3x5x2x8xf16> -> tensor<3x2x5x8xf16>
  %qw = graph.map (%qt) : (tensor<3x2x5x8xf16>) -> tensor<3x2x5x8xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %ks = graph.reshape %k : tensor<3x5x16xf16> -> tensor<3x5x2x8xf16>
  %kt = graph.transpose %ks [0, 2, 3, 1] : tensor<3x5x2x8xf16> -> tensor<3x2x8x5xf16>
  %kw = graph.map (%kt) : (tensor<3x2x8x5xf16>) -> tensor<3x2x8x5xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %s = graph.contract %qw, %kw batch [0, 1] x [0, 1] over [3] x [2] : (tensor<3x2x5x8xf32>, tensor<3x2x8x5xf32>) -> tensor<3x2x5x5xf32>
  return %s : tensor<3x2x5x5xf32>
}

// -----

// A reshape that merges rows of several heads.
// CHECK-LABEL: func.func @merged
// CHECK: graph.call_kernel {{.*}} -> tensor<5x2x8xf16>
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: graph.call_kernel {{.*}} -> tensor<5x7xf32>
func.func @merged(%q: tensor<2x5x8xf16>, %w: tensor<16x7xf16>) -> tensor<5x7xf32> {
  %t = graph.transpose %q [1, 0, 2] : tensor<2x5x8xf16> -> tensor<5x2x8xf16>
  %m = graph.reshape %t : tensor<5x2x8xf16> -> tensor<5x16xf16>
  %qw = graph.map (%m) : (tensor<5x16xf16>) -> tensor<5x16xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %ww = graph.map (%w) : (tensor<16x7xf16>) -> tensor<16x7xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %s = graph.contract %qw, %ww batch [] x [] over [1] x [0] : (tensor<5x16xf32>, tensor<16x7xf32>) -> tensor<5x7xf32>
  return %s : tensor<5x7xf32>
}

// -----

// CHECK-LABEL: func.func @windows
// CHECK: graph.call_kernel {{.*}} -> tensor<1x6x4x8xf16>
// CHECK-NEXT: graph.call_kernel {{.*}} -> tensor<1x4x2x5xf32>
func.func @windows(%x: tensor<1x4x6x8xf16>, %w: tensor<3x3x8x5xf16>) -> tensor<1x4x2x5xf32> {
  %t = graph.transpose %x [0, 2, 1, 3] : tensor<1x4x6x8xf16> -> tensor<1x6x4x8xf16>
  %xw = graph.map (%t) : (tensor<1x6x4x8xf16>) -> tensor<1x6x4x8xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %ww = graph.map (%w) : (tensor<3x3x8x5xf16>) -> tensor<3x3x8x5xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %c = graph.conv %xw, %ww strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last : (tensor<1x6x4x8xf32>, tensor<3x3x8x5xf32>) -> tensor<1x4x2x5xf32>
  return %c : tensor<1x4x2x5xf32>
}

// -----

// The result is stored in the order of a transpose that keeps rows of 16 bytes.
// CHECK-LABEL: func.func @ordered
// CHECK: graph.call_kernel {{.*}} -> tensor<5x3x8xf16>
// CHECK-NEXT: return
func.func @ordered(%q: tensor<3x5x16xf16>, %w: tensor<3x16x8xf16>) -> tensor<5x3x8xf16> {
  %qw = graph.map (%q) : (tensor<3x5x16xf16>) -> tensor<3x5x16xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %ww = graph.map (%w) : (tensor<3x16x8xf16>) -> tensor<3x16x8xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %s = graph.contract %qw, %ww batch [0] x [0] over [2] x [1] : (tensor<3x5x16xf32>, tensor<3x16x8xf32>) -> tensor<3x5x8xf32>
  %n = graph.map (%s) : (tensor<3x5x8xf32>) -> tensor<3x5x8xf16> {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to f16
    graph.yield %b : f16
  }
  %t = graph.transpose %n [1, 0, 2] : tensor<3x5x8xf16> -> tensor<5x3x8xf16>
  return %t : tensor<5x3x8xf16>
}

// -----

// Rows that end within a line, or that a transpose moves, are stored twice.
// CHECK-LABEL: func.func @apart
// CHECK: graph.call_kernel {{.*}} -> tensor<3x5x7xf16>
// CHECK-NEXT: graph.call_kernel {{.*}} -> tensor<5x3x7xf16>
// CHECK-NEXT: return
func.func @apart(%q: tensor<3x5x16xf16>, %w: tensor<3x16x7xf16>) -> tensor<5x3x7xf16> {
  %qw = graph.map (%q) : (tensor<3x5x16xf16>) -> tensor<3x5x16xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %ww = graph.map (%w) : (tensor<3x16x7xf16>) -> tensor<3x16x7xf32> {
  ^bb0(%a: f16):
    %b = arith.extf %a : f16 to f32
    graph.yield %b : f32
  }
  %s = graph.contract %qw, %ww batch [0] x [0] over [2] x [1] : (tensor<3x5x16xf32>, tensor<3x16x7xf32>) -> tensor<3x5x7xf32>
  %n = graph.map (%s) : (tensor<3x5x7xf32>) -> tensor<3x5x7xf16> {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to f16
    graph.yield %b : f16
  }
  %t = graph.transpose %n [1, 0, 2] : tensor<3x5x7xf16> -> tensor<5x3x7xf16>
  return %t : tensor<5x3x7xf16>
}
