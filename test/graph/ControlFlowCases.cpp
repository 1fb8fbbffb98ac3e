//===- ControlFlowCases.cpp - modules with regions, for passes ------------===//

#include "PassCases.h"

namespace perpend::graph {

static PassCase recurrentLoop() {
  return {"recurrent_loop",
          R"(
#x = #graph.shape<["n", 3, 5]>
#t = #graph.shape<["n", 5, 3]>
func.func @main(%x: tensor<?x3x5xf32, #x>, %w: tensor<3x5xf32>) -> tensor<?x5x3xf32, #t> {
  %t = graph.transpose %x [0, 2, 1] : tensor<?x3x5xf32, #x> -> tensor<?x5x3xf32, #t>
  %wt = graph.transpose %w [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %u = graph.constant dense<0.25> : tensor<3x3xf32> : tensor<3x3xf32>
  %h, %ys = graph.loop count <["n"]> carried (%wt : tensor<5x3xf32>) symbols [] -> (tensor<5x3xf32>, tensor<?x5x3xf32, #t>) {
  ^bb0(%i: tensor<i64>, %state: tensor<5x3xf32>):
    %e = graph.gather %t[%i] axis 0 : (tensor<?x5x3xf32, #t>, tensor<i64>) -> tensor<5x3xf32>
    %p = graph.contract %state, %u batch [] x [] over [1] x [0] : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
    %s = graph.map (%p, %e, %wt) : (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32> {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %q = arith.addf %a, %b : f32
      %r = arith.addf %q, %c : f32
      %z = math.tanh %r : f32
      graph.yield %z : f32
    }
    graph.yield %s, %s : tensor<5x3xf32>, tensor<5x3xf32>
  }
  return %ys : tensor<?x5x3xf32, #t>
})",
          {{-1, 3, 5}, {3, 5}}};
}

/// The convolution's only use is in a region, and it must stay as it is outside.
static PassCase scaleInBranch() {
  return {"scale_in_branch",
          R"(
#x = #graph.shape<["n", 2, 4, 4]>
func.func @main(%x: tensor<?x2x4x4xf32, #x>, %w: tensor<2x2x3x3xf32>, %c: tensor<1xf32>) -> tensor<?x2x4x4xf32, #x> {
  %y = graph.conv %x, %w strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<?x2x4x4xf32, #x>, tensor<2x2x3x3xf32>) -> tensor<?x2x4x4xf32, #x>
  %b = graph.map (%c) : (tensor<1xf32>) -> tensor<1xi1> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %p = arith.cmpf ogt, %a, %zero : f32
    graph.yield %p : i1
  }
  %r = graph.if %b symbols [] : tensor<1xi1> -> (tensor<?x2x4x4xf32, #x>) {
    %s = graph.constant dense<[2.0, -1.0]> : tensor<2xf32> : tensor<2xf32>
    %sb = graph.broadcast %s dims [1] : tensor<2xf32> -> tensor<?x2x4x4xf32, #x>
    %m = graph.map (%y, %sb) : (tensor<?x2x4x4xf32, #x>, tensor<?x2x4x4xf32, #x>) -> tensor<?x2x4x4xf32, #x> {
    ^bb0(%a: f32, %d: f32):
      %p = arith.mulf %a, %d : f32
      graph.yield %p : f32
    }
    graph.yield %m : tensor<?x2x4x4xf32, #x>
  } else {
    graph.yield %x : tensor<?x2x4x4xf32, #x>
  }
  return %r : tensor<?x2x4x4xf32, #x>
})",
          {{-1, 2, 4, 4}, {2, 2, 3, 3}, {1}}};
}

/// Extents that grow, a number of iterations and a branch that are known, a size that is measured.
static std::vector<PassCase> sizeCases() {
  return {{"growing_loop",
           R"(
#s = #graph.shape<["s", 3]>
#t = #graph.shape<["s + 2", 3]>
func.func @main(%x: tensor<2x3xf32>, %y: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?x3xf32, #s> {
  %h = graph.loop count <["n"]> carried (%x : tensor<2x3xf32>) symbols ["s"] -> (tensor<?x3xf32, #s>) {
  ^bb0(%i: tensor<i64>, %c: tensor<?x3xf32, #s>):
    %j = graph.concat %c, %x axis 0 : (tensor<?x3xf32, #s>, tensor<2x3xf32>) -> tensor<?x3xf32, #t>
    graph.yield %j : tensor<?x3xf32, #t>
  }
  return %h : tensor<?x3xf32, #s>
})",
           {{2, 3}, {-1}}},
          {"known_control_flow",
           R"(
#n = #graph.shape<["n"]>
#s = #graph.shape<["s"]>
#e = #graph.shape<[1, "s"]>
#i = #graph.shape<["i"]>
#m = #graph.shape<["m"]>
func.func @main(%x: tensor<?xf32, #n>) -> tensor<?xf32, #m> {
  %c = graph.constant dense<true> : tensor<i1> : tensor<i1>
  %h, %es = graph.loop count <[1]> carried (%x : tensor<?xf32, #n>) symbols ["s"] -> (tensor<?xf32, #s>, tensor<1xf32>) {
  ^bb0(%k: tensor<i64>, %a: tensor<?xf32, #s>):
    %j = graph.concat %a, %x axis 0 : (tensor<?xf32, #s>, tensor<?xf32, #n>) -> tensor<?xf32, #graph.shape<["n + s"]>>
    %o = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
    graph.yield %j, %o : tensor<?xf32, #graph.shape<["n + s"]>>, tensor<f32>
  }
  %r = graph.if %c symbols ["i"] : tensor<i1> -> (tensor<?xf32, #i>) {
    %j = graph.concat %h, %es axis 0 : (tensor<?xf32, #s>, tensor<1xf32>) -> tensor<?xf32, #graph.shape<["s + 1"]>>
    graph.yield %j : tensor<?xf32, #graph.shape<["s + 1"]>>
  } else {
    graph.yield %x : tensor<?xf32, #n>
  }
  %d = graph.dims <["i - 1"]> : tensor<1xi64>
  graph.measure %d as "m" : tensor<1xi64>
  %z = graph.slice %r <[1]> [1] : tensor<?xf32, #i> -> tensor<?xf32, #m>
  return %z : tensor<?xf32, #m>
})",
           {{-1}}}};
}

/// Short ones, with equal elements, updates of one element and outside of all, and extents that grow.
static PassCase sequences() {
  return {"sequences",
          R"(
#s = #graph.shape<["s", 4]>
#t = #graph.shape<["s + 6", 4]>
func.func @main(%x: tensor<6x4xf32>, %u: tensor<5x4xf32>, %c: tensor<1xf32>) -> (tensor<3x4xf32>, tensor<6x4xf32>, tensor<?x4xf32, #s>, tensor<3x4xf32>) {
  %r = graph.map (%x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
  ^bb0(%a: f32):
    %f = math.floor %a : f32
    graph.yield %f : f32
  }
  %o = graph.sort descending %r dim 0 : tensor<6x4xf32> -> tensor<3x4xi64>
  %of = graph.map (%o) : (tensor<3x4xi64>) -> tensor<3x4xf32> {
  ^bb0(%a: i64):
    %f = arith.sitofp %a : i64 to f32
    graph.yield %f : f32
  }
  %i = graph.constant dense<[[0], [5], [0], [7], [-1]]> : tensor<5x1xi64> : tensor<5x1xi64>
  %w = graph.scatter %x[%i] to %u : (tensor<6x4xf32>, tensor<5x1xi64>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %h, %es = graph.loop count <[3]> carried (%x : tensor<6x4xf32>) symbols ["s"] -> (tensor<?x4xf32, #s>, tensor<3x4xf32>) {
  ^bb0(%n: tensor<i64>, %a: tensor<?x4xf32, #s>):
    %j = graph.concat %a, %w axis 0 : (tensor<?x4xf32, #s>, tensor<6x4xf32>) -> tensor<?x4xf32, #t>
    %e = graph.gather %x[%n] axis 0 : (tensor<6x4xf32>, tensor<i64>) -> tensor<4xf32>
    graph.yield %j, %e : tensor<?x4xf32, #t>, tensor<4xf32>
  }
  %b = graph.map (%c) : (tensor<1xf32>) -> tensor<1xi1> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %p = arith.cmpf ogt, %a, %zero : f32
    graph.yield %p : i1
  }
  %d = graph.if %b symbols [] : tensor<1xi1> -> (tensor<3x4xf32>) {
    %m = graph.map (%es, %of) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%a: f32, %e: f32):
      %p = arith.subf %a, %e : f32
      graph.yield %p : f32
    }
    graph.yield %m : tensor<3x4xf32>
  } else {
    graph.yield %es : tensor<3x4xf32>
  }
  return %of, %w, %h, %d : tensor<3x4xf32>, tensor<6x4xf32>, tensor<?x4xf32, #s>, tensor<3x4xf32>
})",
          {{6, 4}, {5, 4}, {1}}};
}

std::vector<PassCase> controlFlowCases() {
  std::vector<PassCase> cases{recurrentLoop(), scaleInBranch(), sequences()};
  for (const PassCase &more : sizeCases())
    cases.push_back(more);
  return cases;
}
} // namespace perpend::graph
