// RUN: perpend-opt --graph-simplify %s | FileCheck %s
// RUN: same-values %s graph-simplify

// Operators of constants are computed now.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT: %[[SUM:.*]] = graph.constant dense<{{\[\[}}2.000000e+00, 6.000000e+00], [4.000000e+00, 8.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @constants() -> tensor<2x2xf32> {
  %a = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %t = graph.transpose %a [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %r = graph.map (%t, %t) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    graph.yield %s : f32
  }
  return %r : tensor<2x2xf32>
}

// Repeated elements do not become weights; what is computed from them does.
// CHECK-LABEL: func.func @repeated
// CHECK-DAG: %[[A:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[SUM:.*]] = graph.constant dense<{{\[\[}}4.000000e+00, 5.000000e+00, 6.000000e+00], [5.000000e+00, 6.000000e+00, 7.000000e+00]]> : tensor<2x3xf32>
// CHECK: %[[B:.*]] = graph.broadcast %[[A]] dims [0]
// CHECK: return %[[B]], %[[SUM]]
func.func @repeated() -> (tensor<2x100xf32>, tensor<2x3xf32>) {
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %b = graph.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32> : tensor<3xf32>
  %r = graph.broadcast %a dims [0] : tensor<2xf32> -> tensor<2x100xf32>
  %x = graph.broadcast %a dims [0] : tensor<2xf32> -> tensor<2x3xf32>
  %y = graph.broadcast %b dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %s = graph.map (%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: f32, %q: f32):
    %z = arith.addf %p, %q : f32
    graph.yield %z : f32
  }
  return %r, %s : tensor<2x100xf32>, tensor<2x3xf32>
}

// A sum of so many repeated elements is left to the run: evaluation would need 16 GiB.
// CHECK-LABEL: func.func @sum_of_repeated
// CHECK: %[[FEW:.*]] = graph.constant dense<2.400000e+01> : tensor<f32>
// CHECK: return %[[FEW]]
func.func @sum_of_repeated() -> tensor<f32> {
  %z = graph.constant dense<2.0> : tensor<f32> : tensor<f32>
  %few = graph.broadcast %z dims [] : tensor<f32> -> tensor<3x4xf32>
  %f = graph.reduce sum %few dims [0, 1] : tensor<3x4xf32> -> tensor<f32>
  return %f : tensor<f32>
}

// CHECK-LABEL: func.func private @sum_of_many
// CHECK: graph.reduce
func.func private @sum_of_many() -> tensor<f32> {
  %z = graph.constant dense<2.0> : tensor<f32> : tensor<f32>
  %many = graph.broadcast %z dims [] : tensor<f32> -> tensor<65536x65536xf32>
  %m = graph.reduce sum %many dims [0, 1] : tensor<65536x65536xf32> -> tensor<f32>
  return %m : tensor<f32>
}

// What is computed from repeated elements is computed before they are repeated: constants are folded.
// CHECK-LABEL: func.func @map_of_broadcasts
// CHECK-DAG: %[[WIDE:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[BIAS:.*]] = graph.broadcast %[[WIDE]] dims [1] : tensor<2xf32> -> tensor<500x2x90xf32>
// CHECK-DAG: %[[SUM:.*]] = graph.map (%arg0, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-DAG: %[[REPEATED:.*]] = graph.broadcast %[[SUM]] dims [1] : tensor<2xf32> -> tensor<500x2x90xf32>
// CHECK: return %[[BIAS]], %[[REPEATED]]
func.func @map_of_broadcasts(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<500x2x90xf32>, tensor<500x2x90xf32>) {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf16> : tensor<2xf16>
  %cb = graph.broadcast %c dims [1] : tensor<2xf16> -> tensor<500x2x90xf16>
  %wide = graph.map (%cb) : (tensor<500x2x90xf16>) -> tensor<500x2x90xf32> {
  ^bb0(%p: f16):
    %z = arith.extf %p : f16 to f32
    graph.yield %z : f32
  }
  %xb = graph.broadcast %x dims [1] : tensor<2xf32> -> tensor<500x2x90xf32>
  %yb = graph.broadcast %y dims [1] : tensor<2xf32> -> tensor<500x2x90xf32>
  %s = graph.map (%xb, %yb) : (tensor<500x2x90xf32>, tensor<500x2x90xf32>) -> tensor<500x2x90xf32> {
  ^bb0(%p: f32, %q: f32):
    %z = arith.addf %p, %q : f32
    graph.yield %z : f32
  }
  return %wide, %s : tensor<500x2x90xf32>, tensor<500x2x90xf32>
}

// Repeated along different dimensions, they meet only in the result.
// CHECK-LABEL: func.func @map_of_different_broadcasts
// CHECK: graph.map {{.*}} -> tensor<2x2xf32>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.addf
// CHECK-NEXT: graph.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @map_of_different_broadcasts(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2x2xf32> {
  %xb = graph.broadcast %x dims [0] : tensor<2xf32> -> tensor<2x2xf32>
  %yb = graph.broadcast %y dims [1] : tensor<2xf32> -> tensor<2x2xf32>
  %s = graph.map (%xb, %yb) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%p: f32, %q: f32):
    %z = arith.addf %p, %q : f32
    graph.yield %z : f32
  }
  return %s : tensor<2x2xf32>
}

// The scale of a batch normalisation goes into the filter; the shift stays.
// CHECK-LABEL: func.func @batch_normalisation
// CHECK-DAG: %[[FILTER:.*]] = graph.constant dense<{{.*}}[6.000000e+00, 8.000000e+00]{{.*}}> : tensor<2x1x1x2xf32>
// CHECK-DAG: %[[CONV:.*]] = graph.conv %arg0, %[[FILTER]]
// CHECK: graph.map (%[[CONV]], %{{.*}})
// CHECK-NOT: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @batch_normalisation(%x: tensor<1x1x5x5xf32>) -> tensor<1x2x5x4xf32> {
  %w = graph.constant dense<[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]> : tensor<2x1x1x2xf32> : tensor<2x1x1x2xf32>
  %s = graph.constant dense<[10.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %t = graph.constant dense<[5.0, 7.0]> : tensor<2xf32> : tensor<2xf32>
  %c = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<1x1x5x5xf32>, tensor<2x1x1x2xf32>) -> tensor<1x2x5x4xf32>
  %sb = graph.broadcast %s dims [1] : tensor<2xf32> -> tensor<1x2x5x4xf32>
  %tb = graph.broadcast %t dims [1] : tensor<2xf32> -> tensor<1x2x5x4xf32>
  %r = graph.map (%c, %sb, %tb) : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32> {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %d : f32
    graph.yield %q : f32
  }
  return %r : tensor<1x2x5x4xf32>
}

// A convolution that somebody else reads keeps its filter.
// CHECK-LABEL: func.func @shared_convolution
// CHECK: arith.mulf
func.func @shared_convolution(%x: tensor<1x1x5x5xf32>, %w: tensor<2x1x1x2xf32>) -> (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) {
  %s = graph.constant dense<[10.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %c = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<1x1x5x5xf32>, tensor<2x1x1x2xf32>) -> tensor<1x2x5x4xf32>
  %sb = graph.broadcast %s dims [1] : tensor<2xf32> -> tensor<1x2x5x4xf32>
  %r = graph.map (%c, %sb) : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32> {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    graph.yield %p : f32
  }
  return %r, %c : tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>
}

// Two transposes become one, or none.
// CHECK-LABEL: func.func @transposes
// CHECK-NEXT: %[[R:.*]] = graph.transpose %arg0 [2, 1, 0]
// CHECK-NEXT: return %[[R]], %arg0
func.func @transposes(%a: tensor<2x3x5xf32>) -> (tensor<5x3x2xf32>, tensor<2x3x5xf32>) {
  %b = graph.transpose %a [1, 2, 0] : tensor<2x3x5xf32> -> tensor<3x5x2xf32>
  %c = graph.transpose %b [1, 0, 2] : tensor<3x5x2xf32> -> tensor<5x3x2xf32>
  %d = graph.transpose %b [2, 0, 1] : tensor<3x5x2xf32> -> tensor<2x3x5xf32>
  return %c, %d : tensor<5x3x2xf32>, tensor<2x3x5xf32>
}

// The small tensor is transposed in place of its broadcast; dimensions of 1 are only renamed.
#s = #graph.shape<["n", 3, 2]>
#t = #graph.shape<[2, 3, "n"]>
// CHECK-LABEL: func.func private @broadcast
// CHECK-NEXT: %[[SMALL:.*]] = graph.transpose %arg0 [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[R:.*]] = graph.broadcast %[[SMALL]] dims [0, 1]
// CHECK-NEXT: return %[[R]]
func.func private @broadcast(%a: tensor<3x2xf32>) -> tensor<2x3x?xf32, #t> {
  %b = graph.broadcast %a dims [1, 2] : tensor<3x2xf32> -> tensor<?x3x2xf32, #s>
  %c = graph.transpose %b [2, 1, 0] : tensor<?x3x2xf32, #s> -> tensor<2x3x?xf32, #t>
  return %c : tensor<2x3x?xf32, #t>
}

// CHECK-LABEL: func.func @units
// CHECK-NEXT: graph.reshape %arg0 : tensor<1x3x1x5xf32> -> tensor<3x1x5x1xf32>
func.func @units(%a: tensor<1x3x1x5xf32>) -> tensor<3x1x5x1xf32> {
  %b = graph.transpose %a [1, 0, 3, 2] : tensor<1x3x1x5xf32> -> tensor<3x1x5x1xf32>
  return %b : tensor<3x1x5x1xf32>
}

// A large window is one along each dimension in turn.
// CHECK-LABEL: func.func @window
// CHECK: graph.window_reduce max %arg0 window [1, 1, 5, 1] strides [1, 1, 2, 1]
// CHECK: graph.window_reduce max %{{.*}} window [1, 1, 1, 5] strides [1, 1, 1, 3]
func.func @window(%a: tensor<1x2x9x11xf32>) -> tensor<1x2x3x3xf32> {
  %r = graph.window_reduce max %a window [1, 1, 5, 5] strides [1, 1, 2, 3] pad [0, 0, 0, 0] dilations [1, 1, 1, 1]
    : tensor<1x2x9x11xf32> -> tensor<1x2x3x3xf32>
  return %r : tensor<1x2x3x3xf32>
}

// An element that depends on a size is not computed now, although the operands and the result's shape are known.
// CHECK-LABEL: func.func @chosen_by_a_size
// CHECK: graph.slice %{{.*}} <["n"]> [1] : tensor<4xf32> -> tensor<2xf32>
func.func @chosen_by_a_size(%x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<2xf32> {
  %a = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : tensor<4xf32>
  %s = graph.slice %a <["n"]> [1] : tensor<4xf32> -> tensor<2xf32>
  return %s : tensor<2xf32>
}

// A square and a cube are products; other powers are not.
// CHECK-LABEL: func.func @small_powers
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[X:.*]], %[[X]] : f32
// CHECK: arith.mulf %[[SQUARE]], %[[X]] : f32
// CHECK: math.powf
func.func @small_powers(%x: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %cube = graph.map (%x) : (tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%a: f32):
    %three = arith.constant 3.0 : f32
    %r = math.powf %a, %three : f32
    graph.yield %r : f32
  }
  %fourth = graph.map (%x) : (tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%a: f32):
    %four = arith.constant 4.0 : f32
    %r = math.powf %a, %four : f32
    graph.yield %r : f32
  }
  return %cube, %fourth : tensor<7xf32>, tensor<7xf32>
}

// What a zero point costs and a bias are one constant, also where rows have become pixels between them.
// CHECK-LABEL: func.func @sum_of_constants
// CHECK: %[[DIFFERENCE:.*]] = graph.constant dense<[9, 18, 27]> : tensor<3xi64>
// CHECK: %[[PIXELS:.*]] = graph.reshape %{{.*}} : tensor<4x3xi64> -> tensor<1x2x2x3xi64>
// CHECK: %[[TERM:.*]] = graph.broadcast %[[DIFFERENCE]] dims [3]
// CHECK: graph.map (%[[PIXELS]], %[[TERM]])
// CHECK: arith.addi
// CHECK-NOT: arith
func.func @sum_of_constants(%x: tensor<4x3xi64>) -> tensor<1x2x2x3xi64> {
  %a = graph.constant dense<[[1, 2, 3]]> : tensor<1x3xi64> : tensor<1x3xi64>
  %b = graph.constant dense<[10, 20, 30]> : tensor<3xi64> : tensor<3xi64>
  %zero = graph.broadcast %a dims [0, 1] : tensor<1x3xi64> -> tensor<4x3xi64>
  %less = graph.map (%x, %zero) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %d = arith.subi %l, %r : i64
    graph.yield %d : i64
  }
  %pixels = graph.reshape %less : tensor<4x3xi64> -> tensor<1x2x2x3xi64>
  %bias = graph.broadcast %b dims [3] : tensor<3xi64> -> tensor<1x2x2x3xi64>
  %y = graph.map (%pixels, %bias) : (tensor<1x2x2x3xi64>, tensor<1x2x2x3xi64>) -> tensor<1x2x2x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %s = arith.addi %l, %r : i64
    graph.yield %s : i64
  }
  return %y : tensor<1x2x2x3xi64>
}

// The other signs.
// CHECK-LABEL: func.func @added_added
// CHECK: %[[SUM:.*]] = graph.constant dense<[11, 22, 33]> : tensor<3xi64>
// CHECK: %[[TERM:.*]] = graph.broadcast %[[SUM]] dims [1]
// CHECK: graph.map (%arg0, %[[TERM]])
// CHECK: arith.addi
// CHECK-NOT: arith
func.func @added_added(%x: tensor<4x3xi64>) -> tensor<4x3xi64> {
  %a = graph.constant dense<[1, 2, 3]> : tensor<3xi64> : tensor<3xi64>
  %b = graph.constant dense<[10, 20, 30]> : tensor<3xi64> : tensor<3xi64>
  %first = graph.broadcast %a dims [1] : tensor<3xi64> -> tensor<4x3xi64>
  %second = graph.broadcast %b dims [1] : tensor<3xi64> -> tensor<4x3xi64>
  %t = graph.map (%x, %first) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %d = arith.addi %l, %r : i64
    graph.yield %d : i64
  }
  %y = graph.map (%t, %second) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %s = arith.addi %l, %r : i64
    graph.yield %s : i64
  }
  return %y : tensor<4x3xi64>
}

// CHECK-LABEL: func.func @added_subtracted
// CHECK: %[[SUM:.*]] = graph.constant dense<[-9, -18, -27]> : tensor<3xi64>
// CHECK: %[[TERM:.*]] = graph.broadcast %[[SUM]] dims [1]
// CHECK: graph.map (%arg0, %[[TERM]])
// CHECK: arith.addi
// CHECK-NOT: arith
func.func @added_subtracted(%x: tensor<4x3xi64>) -> tensor<4x3xi64> {
  %a = graph.constant dense<[1, 2, 3]> : tensor<3xi64> : tensor<3xi64>
  %b = graph.constant dense<[10, 20, 30]> : tensor<3xi64> : tensor<3xi64>
  %first = graph.broadcast %a dims [1] : tensor<3xi64> -> tensor<4x3xi64>
  %second = graph.broadcast %b dims [1] : tensor<3xi64> -> tensor<4x3xi64>
  %t = graph.map (%x, %first) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %d = arith.addi %l, %r : i64
    graph.yield %d : i64
  }
  %y = graph.map (%t, %second) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %s = arith.subi %l, %r : i64
    graph.yield %s : i64
  }
  return %y : tensor<4x3xi64>
}

// CHECK-LABEL: func.func @subtracted_subtracted
// CHECK: %[[SUM:.*]] = graph.constant dense<[11, 22, 33]> : tensor<3xi64>
// CHECK: %[[TERM:.*]] = graph.broadcast %[[SUM]] dims [1]
// CHECK: graph.map (%arg0, %[[TERM]])
// CHECK: arith.subi
// CHECK-NOT: arith
func.func @subtracted_subtracted(%x: tensor<4x3xi64>) -> tensor<4x3xi64> {
  %a = graph.constant dense<[1, 2, 3]> : tensor<3xi64> : tensor<3xi64>
  %b = graph.constant dense<[10, 20, 30]> : tensor<3xi64> : tensor<3xi64>
  %first = graph.broadcast %a dims [1] : tensor<3xi64> -> tensor<4x3xi64>
  %second = graph.broadcast %b dims [1] : tensor<3xi64> -> tensor<4x3xi64>
  %t = graph.map (%x, %first) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %d = arith.subi %l, %r : i64
    graph.yield %d : i64
  }
  %y = graph.map (%t, %second) : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64> {
  ^bb0(%l: i64, %r: i64):
    %s = arith.subi %l, %r : i64
    graph.yield %s : i64
  }
  return %y : tensor<4x3xi64>
}

// What takes long to evaluate is left to the run: a product of large constants, a convolution with a large filter. Few
// sums are weights.
// CHECK-LABEL: func.func private @long_product
// CHECK: graph.contract
func.func private @long_product() -> tensor<2048x2048xf32> {
  %a = graph.constant dense<2.0> : tensor<2048x2048xf32> : tensor<2048x2048xf32>
  %r = graph.contract %a, %a batch [] x [] over [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %r : tensor<2048x2048xf32>
}

// CHECK-LABEL: func.func private @long_convolution
// CHECK: graph.conv
func.func private @long_convolution() -> tensor<1x1x2048x2048xf32> {
  %x = graph.constant dense<2.0> : tensor<1x1x2175x2175xf32> : tensor<1x1x2175x2175xf32>
  %w = graph.constant dense<3.0> : tensor<1x1x128x128xf32> : tensor<1x1x128x128xf32>
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 : (tensor<1x1x2175x2175xf32>, tensor<1x1x128x128xf32>) -> tensor<1x1x2048x2048xf32>
  return %r : tensor<1x1x2048x2048xf32>
}

// A window that is too large for its padded input is taken apart first.
// CHECK-LABEL: func.func private @long_window
// CHECK-NOT: graph.window_reduce
// CHECK: return
func.func private @long_window() -> tensor<1x1x32769x1xf32> {
  %x = graph.constant dense<2.0> : tensor<1x1x32768x2xf32> : tensor<1x1x32768x2xf32>
  %r = graph.window_reduce sum %x window [1, 1, 510, 512] strides [1, 1, 1, 1] pad [0, 0, 255, 255] dilations [1, 1, 1, 1] : tensor<1x1x32768x2xf32> -> tensor<1x1x32769x1xf32>
  return %r : tensor<1x1x32769x1xf32>
}

// CHECK-LABEL: func.func private @few_sums
// CHECK-NOT: graph.contract
// CHECK: return
func.func private @few_sums() -> tensor<2048x16xf32> {
  %a = graph.constant dense<2.0> : tensor<2048x16xf32> : tensor<2048x16xf32>
  %b = graph.constant dense<3.0> : tensor<2048x2048xf32> : tensor<2048x2048xf32>
  %r = graph.contract %b, %a batch [] x [] over [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x16xf32>) -> tensor<2048x16xf32>
  return %r : tensor<2048x16xf32>
}
