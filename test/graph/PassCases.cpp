//===- PassCases.cpp - small modules that passes must not change the values of --===//

#include "PassCases.h"

namespace perpend::graph {

static PassCase resizedCase() {
  return {"conv_of_what_is_resized", // and of what lies beside it
          R"(
#x = #graph.shape<["n", 32, 2, 3]>
#m = #graph.shape<["n", 32, 8, 3]>
#y = #graph.shape<["n", 3, 8, 3]>
#c = #graph.shape<["n", 35, 8, 3]>
#r = #graph.shape<["n", 4, 8, 3]>
#l = #graph.shape<["n", 4, 24, 3]>
func.func @main(%x: tensor<?x32x2x3xf32, #x>, %y: tensor<?x3x8x3xf32, #y>, %w: tensor<4x35x1x1xf32>) -> tensor<?x4x24x3xf32, #l> {
  %i = graph.constant dense<[0, 0, 0, 0, 1, 1, 1, 1]> : tensor<8xi32> : tensor<8xi32>
  %j = graph.constant dense<[0, 0, 1, 1, 1, 1, 1, 0]> : tensor<8xi32> : tensor<8xi32>
  %f = graph.constant dense<[0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 0.25]> : tensor<8xf32> : tensor<8xf32>
  %a = graph.gather %x[%i] axis 2 : (tensor<?x32x2x3xf32, #x>, tensor<8xi32>) -> tensor<?x32x8x3xf32, #m>
  %b = graph.gather %x[%j] axis 2 : (tensor<?x32x2x3xf32, #x>, tensor<8xi32>) -> tensor<?x32x8x3xf32, #m>
  %g = graph.broadcast %f dims [2] : tensor<8xf32> -> tensor<?x32x8x3xf32, #m>
  %m = graph.map (%a, %b, %g) : (tensor<?x32x8x3xf32, #m>, tensor<?x32x8x3xf32, #m>, tensor<?x32x8x3xf32, #m>) -> tensor<?x32x8x3xf32, #m> {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %d = arith.subf %q, %p : f32
    %e = arith.mulf %d, %s : f32
    %o = arith.addf %p, %e : f32
    graph.yield %o : f32
  }
  %both = graph.concat %y, %m axis 1 : (tensor<?x3x8x3xf32, #y>, tensor<?x32x8x3xf32, #m>) -> tensor<?x35x8x3xf32, #c>
  %r = graph.conv %both, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<?x35x8x3xf32, #c>, tensor<4x35x1x1xf32>) -> tensor<?x4x8x3xf32, #r>
  %k = graph.constant dense<[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7]> : tensor<24xi32> : tensor<24xi32>
  %l = graph.gather %r[%k] axis 2 : (tensor<?x4x8x3xf32, #r>, tensor<24xi32>) -> tensor<?x4x24x3xf32, #l>
  return %l : tensor<?x4x24x3xf32, #l>
})",
          {{-1, 32, 2, 3}, {-1, 3, 8, 3}, {4, 35, 1, 1}}};
}

static std::vector<PassCase> windowCases() {
  return {
      {"batch_normalisation",
       R"(
#x = #graph.shape<["n", 3, 6, 5]>
#y = #graph.shape<["n", 4, 6, 5]>
func.func @main(%x: tensor<?x3x6x5xf32, #x>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x6x5xf32, #y> {
  %s = graph.constant dense<[1.0, 2.0, -0.5, 3.0]> : tensor<4xf32> : tensor<4xf32>
  %t = graph.constant dense<[4.0, 0.0, 1.0, -2.0]> : tensor<4xf32> : tensor<4xf32>
  %c = graph.conv %x, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<?x3x6x5xf32, #x>, tensor<4x3x3x3xf32>) -> tensor<?x4x6x5xf32, #y>
  %sb = graph.broadcast %s dims [1] : tensor<4xf32> -> tensor<?x4x6x5xf32, #y>
  %tb = graph.broadcast %t dims [1] : tensor<4xf32> -> tensor<?x4x6x5xf32, #y>
  %r = graph.map (%c, %sb, %tb) : (tensor<?x4x6x5xf32, #y>, tensor<?x4x6x5xf32, #y>, tensor<?x4x6x5xf32, #y>) -> tensor<?x4x6x5xf32, #y> {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %d : f32
    graph.yield %q : f32
  }
  return %r : tensor<?x4x6x5xf32, #y>
})",
       {{-1, 3, 6, 5}, {4, 3, 3, 3}}},
      {"grouped_strided_conv",
       R"(
#x = #graph.shape<[2, 4, "n + 4", 7]>
#y = #graph.shape<[2, 6, "floordiv(n, 2) + 2", 3]>
func.func @main(%x: tensor<2x4x?x7xf32, #x>, %w: tensor<6x2x2x3xf32>) -> tensor<2x6x?x3xf32, #y> {
  %r = graph.conv %x, %w strides [2, 1] pad [0, 0] dilations [1, 2] input_dilation [1, 1] groups 2
    : (tensor<2x4x?x7xf32, #x>, tensor<6x2x2x3xf32>) -> tensor<2x6x?x3xf32, #y>
  return %r : tensor<2x6x?x3xf32, #y>
})",
       {{2, 4, -5, 7}, {6, 2, 2, 3}}},
      {"transposed_conv",
       R"(
#x = #graph.shape<["n", 3, 4, 3]>
#y = #graph.shape<["n", 2, 9, 7]>
func.func @main(%x: tensor<?x3x4x3xf32, #x>, %w: tensor<2x3x3x3xf32>) -> tensor<?x2x9x7xf32, #y> {
  %r = graph.conv %x, %w strides [1, 1] pad [2, 2] dilations [1, 1] input_dilation [2, 2] groups 1
    : (tensor<?x3x4x3xf32, #x>, tensor<2x3x3x3xf32>) -> tensor<?x2x9x7xf32, #y>
  return %r : tensor<?x2x9x7xf32, #y>
})",
       {{-1, 3, 4, 3}, {2, 3, 3, 3}}},
      {"depthwise_conv",
       R"(
#x = #graph.shape<["n", 5, 7, 7]>
#y = #graph.shape<["n", 5, 4, 4]>
func.func @main(%x: tensor<?x5x7x7xf32, #x>, %w: tensor<5x1x3x3xf32>) -> tensor<?x5x4x4xf32, #y> {
  %r = graph.conv %x, %w strides [2, 2] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 5
    : (tensor<?x5x7x7xf32, #x>, tensor<5x1x3x3xf32>) -> tensor<?x5x4x4xf32, #y>
  return %r : tensor<?x5x4x4xf32, #y>
})",
       {{-1, 5, 7, 7}, {5, 1, 3, 3}}},
      {"row_conv",
       R"(
#x = #graph.shape<[1, 3, "n + 4"]>
#y = #graph.shape<[1, 5, "n + 2"]>
func.func @main(%x: tensor<1x3x?xf32, #x>, %w: tensor<5x3x3xf32>) -> tensor<1x5x?xf32, #y> {
  %r = graph.conv %x, %w strides [1] pad [0] dilations [1] input_dilation [1] groups 1
    : (tensor<1x3x?xf32, #x>, tensor<5x3x3xf32>) -> tensor<1x5x?xf32, #y>
  return %r : tensor<1x5x?xf32, #y>
})",
       {{1, 3, -5}, {5, 3, 3}}},
      {"pools",
       R"(
#x = #graph.shape<["n", 3, 7, 6]>
#y = #graph.shape<["n", 3, 4, 6]>
func.func @main(%x: tensor<?x3x7x6xf32, #x>) -> tensor<?x3x4x6xf32, #y> {
  %m = graph.window_reduce max %x window [1, 1, 5, 5] strides [1, 1, 2, 1] pad [0, 0, 2, 2] dilations [1, 1, 1, 1]
    : tensor<?x3x7x6xf32, #x> -> tensor<?x3x4x6xf32, #y>
  %r = graph.window_reduce sum %m window [1, 1, 3, 1] strides [1, 1, 1, 1] pad [0, 0, 1, 0] dilations [1, 1, 1, 1]
    : tensor<?x3x4x6xf32, #y> -> tensor<?x3x4x6xf32, #y>
  return %r : tensor<?x3x4x6xf32, #y>
})",
       {{-1, 3, 7, 6}}},
  };
}

static std::vector<PassCase> movementCases() {
  return {
      {"transposed_operands",
       R"(
#a = #graph.shape<["n", 3, 5]>
#t = #graph.shape<[5, "n", 3]>
func.func @main(%a: tensor<?x3x5xf32, #a>, %b: tensor<?x3x5xf32, #a>, %c: tensor<3xf32>) -> tensor<?x3x5xf32, #a> {
  %x = graph.transpose %a [2, 0, 1] : tensor<?x3x5xf32, #a> -> tensor<5x?x3xf32, #t>
  %y = graph.transpose %b [2, 0, 1] : tensor<?x3x5xf32, #a> -> tensor<5x?x3xf32, #t>
  %z = graph.broadcast %c dims [2] : tensor<3xf32> -> tensor<5x?x3xf32, #t>
  %m = graph.map (%x, %y, %z) : (tensor<5x?x3xf32, #t>, tensor<5x?x3xf32, #t>, tensor<5x?x3xf32, #t>) -> tensor<5x?x3xf32, #t> {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %u = arith.mulf %p, %s : f32
    %v = arith.subf %u, %q : f32
    graph.yield %v : f32
  }
  %r = graph.transpose %m [1, 2, 0] : tensor<5x?x3xf32, #t> -> tensor<?x3x5xf32, #a>
  return %r : tensor<?x3x5xf32, #a>
})",
       {{-1, 3, 5}, {-1, 3, 5}, {3}}},
      {"views_of_transposes",
       R"(
#s = #graph.shape<[3, "n", 2]>
#t = #graph.shape<["n", 2, 3]>
#p = #graph.shape<["n + 3", 2, 3]>
#c = #graph.shape<["2*n + 3", 2, 3]>
#f = #graph.shape<["12*n + 18"]>
func.func @main(%a: tensor<3x?x2xf32, #s>) -> tensor<?xf32, #f> {
  %t = graph.transpose %a [1, 2, 0] : tensor<3x?x2xf32, #s> -> tensor<?x2x3xf32, #t>
  %v = graph.slice %t <["n - 1", 0, 2]> [-1, 1, -1] : tensor<?x2x3xf32, #t> -> tensor<?x2x3xf32, #t>
  %p = graph.pad %v <[1, 0, 0]> 0.5 : f32 : tensor<?x2x3xf32, #t> -> tensor<?x2x3xf32, #p>
  %c = graph.concat %p, %t axis 0 : (tensor<?x2x3xf32, #p>, tensor<?x2x3xf32, #t>) -> tensor<?x2x3xf32, #c>
  %f = graph.reshape %c : tensor<?x2x3xf32, #c> -> tensor<?xf32, #f>
  return %f : tensor<?xf32, #f>
})",
       {{3, -1, 2}}},
  };
}

static std::vector<PassCase> smallerMovementCases() {
  return {
      {"updates",
       R"(
#n = #graph.shape<["n", 3]>
#m = #graph.shape<["n + 2", 3]>
func.func @main(%a: tensor<?x3xf32, #n>, %b: tensor<2x3xf32>) -> (tensor<?x3xf32, #m>, tensor<3x2xf32>) {
  %d = graph.map (%b) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%x: f32):
    %y = arith.addf %x, %x : f32
    graph.yield %y : f32
  }
  %r = graph.update %a, %d at <["n"]> axis 0 : (tensor<?x3xf32, #n>, tensor<2x3xf32>) -> tensor<?x3xf32, #m>
  %t = graph.transpose %d [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %s = graph.slice %t <["1", "0"]> [1, 1] : tensor<3x2xf32> -> tensor<1x2xf32>
  %u = graph.update %t, %s at <["0"]> axis 0 : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  return %r, %u : tensor<?x3xf32, #m>, tensor<3x2xf32>
})",
       {{-1, 3}, {2, 3}}},
      {"reduced_transpose",
       R"(
#a = #graph.shape<["n", 3, 5, 2]>
#t = #graph.shape<[2, "n", 5, 3]>
#r = #graph.shape<[2, "n"]>
func.func @main(%a: tensor<?x3x5x2xf32, #a>) -> tensor<2x?xf32, #r> {
  %t = graph.transpose %a [3, 0, 2, 1] : tensor<?x3x5x2xf32, #a> -> tensor<2x?x5x3xf32, #t>
  %r = graph.reduce sum %t dims [2, 3] : tensor<2x?x5x3xf32, #t> -> tensor<2x?xf32, #r>
  return %r : tensor<2x?xf32, #r>
})",
       {{-1, 3, 5, 2}}},
      {"unit_reshape_of_transpose",
       R"(
#a = #graph.shape<["n", 3, 5]>
#t = #graph.shape<[5, 3, "n"]>
#u = #graph.shape<[5, 1, 3, "n", 1]>
func.func @main(%a: tensor<?x3x5xf32, #a>) -> tensor<5x1x3x?x1xf32, #u> {
  %t = graph.transpose %a [2, 1, 0] : tensor<?x3x5xf32, #a> -> tensor<5x3x?xf32, #t>
  %r = graph.reshape %t : tensor<5x3x?xf32, #t> -> tensor<5x1x3x?x1xf32, #u>
  return %r : tensor<5x1x3x?x1xf32, #u>
})",
       {{-1, 3, 5}}},
      {"broadcasts",
       R"(
#b = #graph.shape<[3, "n", 5]>
#c = #graph.shape<[5, 3, "n", 2]>
#d = #graph.shape<["n", 2, 3, 5]>
func.func @main(%a: tensor<3x1xf32>, %x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?x2x3x5xf32, #d> {
  %b = graph.broadcast %a dims [0, 1] : tensor<3x1xf32> -> tensor<3x?x5xf32, #b>
  %t = graph.transpose %b [2, 0, 1] : tensor<3x?x5xf32, #b> -> tensor<5x3x?xf32, #graph.shape<[5, 3, "n"]>>
  %c = graph.broadcast %t dims [0, 1, 2] : tensor<5x3x?xf32, #graph.shape<[5, 3, "n"]>> -> tensor<5x3x?x2xf32, #c>
  %d = graph.transpose %c [2, 3, 1, 0] : tensor<5x3x?x2xf32, #c> -> tensor<?x2x3x5xf32, #d>
  %e = graph.broadcast %x dims [0] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?x2x3x5xf32, #d>
  %r = graph.map (%d, %e) : (tensor<?x2x3x5xf32, #d>, tensor<?x2x3x5xf32, #d>) -> tensor<?x2x3x5xf32, #d> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  return %r : tensor<?x2x3x5xf32, #d>
})",
       {{3, 1}, {-1}}},
      {"gathered_rows",
       R"(
#a = #graph.shape<["n", 3]>
func.func @main(%a: tensor<?x3xf32, #a>) -> tensor<3x4xf32> {
  %i = graph.constant dense<[0, 100, 0, 2]> : tensor<4xi64> : tensor<4xi64>
  %t = graph.transpose %a [1, 0] : tensor<?x3xf32, #a> -> tensor<3x?xf32, #graph.shape<[3, "n"]>>
  %g = graph.gather %t[%i] axis 1 : (tensor<3x?xf32, #graph.shape<[3, "n"]>>, tensor<4xi64>) -> tensor<3x4xf32>
  return %g : tensor<3x4xf32>
})",
       {{-1, 3}},
       /*leastN=*/1},
  };
}

static std::vector<PassCase> pointwiseCases() {
  return {
      {"swish",
       R"(
#a = #graph.shape<["n", 3]>
func.func @main(%a: tensor<?x3xf32, #a>) -> tensor<?x3xf32, #a> {
  %s = graph.map (%a) : (tensor<?x3xf32, #a>) -> tensor<?x3xf32, #a> {
  ^bb0(%x: f32):
    %one = arith.constant 1.0 : f32
    %m = arith.negf %x : f32
    %e = math.exp %m : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %one, %d : f32
    graph.yield %q : f32
  }
  %r = graph.map (%a, %s) : (tensor<?x3xf32, #a>, tensor<?x3xf32, #a>) -> tensor<?x3xf32, #a> {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    graph.yield %p : f32
  }
  return %r : tensor<?x3xf32, #a>
})",
       {{-1, 3}}},
      {"constant_expression",
       R"(
#a = #graph.shape<["n", 2, 3]>
func.func @main(%a: tensor<?x2x3xf32, #a>) -> tensor<?x2x3xf32, #a> {
  %k = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32> : tensor<3x2xf32>
  %t = graph.transpose %k [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %m = graph.map (%t, %t) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    graph.yield %p : f32
  }
  %b = graph.broadcast %m dims [1, 2] : tensor<2x3xf32> -> tensor<?x2x3xf32, #a>
  %r = graph.map (%a, %b) : (tensor<?x2x3xf32, #a>, tensor<?x2x3xf32, #a>) -> tensor<?x2x3xf32, #a> {
  ^bb0(%x: f32, %y: f32):
    %p = arith.subf %x, %y : f32
    graph.yield %p : f32
  }
  return %r : tensor<?x2x3xf32, #a>
})",
       {{-1, 2, 3}}},
  };
}

static std::vector<PassCase> quantisedCases() {
  return {
      {"quantised_product",
       R"(
#a = #graph.shape<["n", 5]>
#r = #graph.shape<["n", 3]>
func.func @main(%a: tensor<?x5xf32, #a>) -> tensor<?x3xf32, #r> {
  %q = graph.map (%a) : (tensor<?x5xf32, #a>) -> tensor<?x5xi8, #a> {
  ^bb0(%x: f32):
    %i = arith.fptosi %x : f32 to i8
    graph.yield %i : i8
  }
  %d = graph.map (%q) : (tensor<?x5xi8, #a>) -> tensor<?x5xf32, #a> {
  ^bb0(%x: i8):
    %z = arith.constant 3.0 : f32
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %x : i8 to f32
    %c = arith.subf %f, %z : f32
    %p = arith.mulf %c, %s : f32
    graph.yield %p : f32
  }
  %w = graph.constant dense<[[1, -2, 3], [-4, 5, -6], [7, -8, 9], [0, 127, -128], [1, 1, 1]]> : tensor<5x3xi8> : tensor<5x3xi8>
  %t = graph.constant dense<[0.25, 0.5, 2.0]> : tensor<3xf32> : tensor<3xf32>
  %tw = graph.broadcast %t dims [1] : tensor<3xf32> -> tensor<5x3xf32>
  %v = graph.map (%w, %tw) : (tensor<5x3xi8>, tensor<5x3xf32>) -> tensor<5x3xf32> {
  ^bb0(%x: i8, %s: f32):
    %f = arith.sitofp %x : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %c = graph.contract %d, %v batch [] x [] over [1] x [0] : (tensor<?x5xf32, #a>, tensor<5x3xf32>) -> tensor<?x3xf32, #r>
  return %c : tensor<?x3xf32, #r>
})",
       {{-1, 5}}},
  };
}

static std::vector<PassCase> contractionCases() {
  return {
      {"bias_behind_a_reshaped_product",
       R"(
#a = #graph.shape<["n", 3, 7]>
#r = #graph.shape<["n", 3, 19]>
func.func @main(%a: tensor<?x3x7xf32, #a>, %w: tensor<7x19xf32>, %b: tensor<19xf32>) -> tensor<?x3x19xf32, #r> {
  %c = graph.contract %a, %w batch [] x [] over [2] x [0] : (tensor<?x3x7xf32, #a>, tensor<7x19xf32>) -> tensor<?x3x19xf32, #r>
  %d = graph.broadcast %b dims [2] : tensor<19xf32> -> tensor<?x3x19xf32, #r>
  %e = graph.map (%c, %d) : (tensor<?x3x19xf32, #r>, tensor<?x3x19xf32, #r>) -> tensor<?x3x19xf32, #r> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    graph.yield %s : f32
  }
  return %e : tensor<?x3x19xf32, #r>
})",
       {{-1, 3, 7}, {7, 19}, {19}}},
      {"equal_weights",
       R"(
#a = #graph.shape<["n", 16]>
func.func @main(%a: tensor<?x16xf32, #a>) -> tensor<?x16xf32, #a> {
  %w = graph.constant dense<2.0> : tensor<16x16xf32> : tensor<16x16xf32>
  %c = graph.contract %a, %w batch [] x [] over [1] x [0] : (tensor<?x16xf32, #a>, tensor<16x16xf32>) -> tensor<?x16xf32, #a>
  return %c : tensor<?x16xf32, #a>
})",
       {{-1, 16}}},
      {"attention",
       R"(
#q = #graph.shape<[2, "n", 5]>
#s = #graph.shape<[2, "n", "n"]>
#m = #graph.shape<[2, "n"]>
func.func @main(%q: tensor<2x?x5xf32, #q>, %k: tensor<2x?x5xf32, #q>, %v: tensor<2x?x5xf32, #q>) -> tensor<2x?x5xf32, #q> {
  %s = graph.contract %q, %k batch [0] x [0] over [2] x [2] : (tensor<2x?x5xf32, #q>, tensor<2x?x5xf32, #q>) -> tensor<2x?x?xf32, #s>
  %m = graph.reduce max %s dims [2] : tensor<2x?x?xf32, #s> -> tensor<2x?xf32, #m>
  %w = graph.broadcast %m dims [0, 1] : tensor<2x?xf32, #m> -> tensor<2x?x?xf32, #s>
  %e = graph.map (%s, %w) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    %z = math.exp %d : f32
    graph.yield %z : f32
  }
  %t = graph.reduce sum %e dims [2] : tensor<2x?x?xf32, #s> -> tensor<2x?xf32, #m>
  %b = graph.broadcast %t dims [0, 1] : tensor<2x?xf32, #m> -> tensor<2x?x?xf32, #s>
  %p = graph.map (%e, %b) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    graph.yield %z : f32
  }
  %r = graph.contract %p, %v batch [0] x [0] over [2] x [1] : (tensor<2x?x?xf32, #s>, tensor<2x?x5xf32, #q>) -> tensor<2x?x5xf32, #q>
  return %r : tensor<2x?x5xf32, #q>
})",
       {{2, -1, 5}, {2, -1, 5}, {2, -1, 5}}},
  };
}

std::vector<PassCase> passCases() {
  std::vector<PassCase> cases = windowCases();
  for (const auto &more : {movementCases(), smallerMovementCases(), pointwiseCases(), quantisedCases(),
                           contractionCases(), controlFlowCases()})
    cases.insert(cases.end(), more.begin(), more.end());
  cases.push_back(resizedCase());
  return cases;
}
} // namespace perpend::graph
