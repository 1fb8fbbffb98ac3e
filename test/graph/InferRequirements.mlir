// RUN: perpend-opt --split-input-file --graph-infer-requirements %s | FileCheck %s
// What the symbols of inputs must satisfy is for binding; the rest is checked where it is assumed.

// CHECK: func.func @main
// CHECK-SAME: graph.requirements = #graph.shape<["m - n", "-m + n"]>
func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>>, %y: tensor<?xf32, #graph.shape<["m"]>>, %k: tensor<i64>, %c: tensor<i1>) -> (tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["k"]>>, tensor<?xf32, #graph.shape<["n"]>>) {
  // CHECK-NOT: graph.require
  // CHECK: graph.map
  %s = graph.map (%x, %y) : (tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["m"]>>) -> tensor<?xf32, #graph.shape<["n"]>> {
  ^bb0(%a: f32, %b: f32):
    %z = arith.addf %a, %b : f32
    graph.yield %z : f32
  }
  // CHECK: graph.measure
  // CHECK-NEXT: graph.require <["-k + n"]>
  // CHECK-NEXT: graph.slice
  graph.measure %k as "k" : tensor<i64>
  %t = graph.slice %x <[0]> [1] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?xf32, #graph.shape<["k"]>>
  // Only where the branch is taken.
  // CHECK: graph.if
  // CHECK-NEXT: graph.require <["n - 4"]>
  // CHECK-NEXT: graph.slice
  %r = graph.if %c symbols [] : tensor<i1> -> (tensor<?xf32, #graph.shape<["n"]>>) {
    %f = graph.slice %x <[3]> [1] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<1xf32>
    %w = graph.broadcast %f dims [0] : tensor<1xf32> -> tensor<?xf32, #graph.shape<["n"]>>
    graph.yield %w : tensor<?xf32, #graph.shape<["n"]>>
  } else {
    graph.yield %x : tensor<?xf32, #graph.shape<["n"]>>
  }
  return %s, %t, %r : tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["k"]>>, tensor<?xf32, #graph.shape<["n"]>>
}

// -----

// Limits, extents that an operator deduces, and what the operators of a kernel assume.
// CHECK: func.func @main({{.*}}) -> (tensor<?xi64
// CHECK-SAME: graph.requirements = #graph.shape<["-n + 4294967295", "m - n", "-m + n"]>
module {
  func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>>, %y: tensor<?xf32, #graph.shape<["m"]>>) -> (tensor<?xi64, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["m"]>>) {
    %s = graph.sort %x dim 0 : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?xi64, #graph.shape<["n"]>>
    %k = graph.call_kernel @kernel(%x) : (tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["m"]>>
    return %s, %k : tensor<?xi64, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["m"]>>
  }
  func.func private @kernel(%x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["m"]>> attributes {tile.kernel} {
    %r = graph.transpose %x [0] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?xf32, #graph.shape<["m"]>>
    return %r : tensor<?xf32, #graph.shape<["m"]>>
  }
}
