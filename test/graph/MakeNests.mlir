// RUN: perpend-opt --graph-make-nests --graph-simplify --split-input-file %s | FileCheck %s
// PassEquivalenceTest compares the values.

// Each iteration has its number, and its part of the result.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.loop
// CHECK-DAG: %[[A:.*]] = graph.constant dense<0>
// CHECK-DAG: %[[B:.*]] = graph.constant dense<1>
// CHECK: %[[X:.*]] = graph.gather %arg1[%[[A]]]
// CHECK: %[[S:.*]] = graph.map (%arg0, %[[X]])
// CHECK: %[[Y:.*]] = graph.gather %arg1[%[[B]]]
// CHECK: %[[T:.*]] = graph.map (%[[S]], %[[Y]])
// CHECK: %[[R:.*]] = graph.concat
// CHECK: return %[[T]], %[[R]]
func.func @main(%a: tensor<5xf32>, %x: tensor<2x5xf32>) -> (tensor<5xf32>, tensor<2x5xf32>) {
  %r:2 = graph.loop count <[2]> carried (%a : tensor<5xf32>) symbols [] -> (tensor<5xf32>, tensor<2x5xf32>) {
  ^bb0(%i: tensor<i64>, %b: tensor<5xf32>):
    %row = graph.gather %x[%i] axis 0 : (tensor<2x5xf32>, tensor<i64>) -> tensor<5xf32>
    %s = graph.map (%b, %row) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.addf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s, %s : tensor<5xf32>, tensor<5xf32>
  }
  return %r#0, %r#1 : tensor<5xf32>, tensor<2x5xf32>
}

// -----

// What is carried grows, and has another extent in each copy.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.loop
// CHECK: %[[A:.*]] = graph.concat %arg0, %arg0
// CHECK: %[[B:.*]] = graph.concat {{.*}} -> tensor<12xf32>
// CHECK: return %[[B]]
func.func @main(%x: tensor<3xf32>) -> tensor<?xf32, #graph.shape<["s"]>> {
  %h = graph.loop count <[2]> carried (%x : tensor<3xf32>) symbols ["s"] -> (tensor<?xf32, #graph.shape<["s"]>>) {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #graph.shape<["s"]>>):
    %j = graph.concat %a, %a axis 0 : (tensor<?xf32, #graph.shape<["s"]>>, tensor<?xf32, #graph.shape<["s"]>>) -> tensor<?xf32, #graph.shape<["2*s"]>>
    graph.yield %j : tensor<?xf32, #graph.shape<["2*s"]>>
  }
  return %h : tensor<?xf32, #graph.shape<["s"]>>
}

// -----

// Iterations of an unknown number, and too many, stay.
// CHECK-LABEL: func.func @main(
// CHECK: graph.loop count <["n"]>
// CHECK: graph.loop count <[1000]>
func.func @main(%a: tensor<5xf32>, %x: tensor<?xf32, #graph.shape<["n"]>>) -> (tensor<5xf32>, tensor<5xf32>) {
  %r = graph.loop count <["n"]> carried (%a : tensor<5xf32>) symbols [] -> (tensor<5xf32>) {
  ^bb0(%i: tensor<i64>, %b: tensor<5xf32>):
    %s = graph.map (%b, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s : tensor<5xf32>
  }
  %t = graph.loop count <[1000]> carried (%a : tensor<5xf32>) symbols [] -> (tensor<5xf32>) {
  ^bb0(%i: tensor<i64>, %b: tensor<5xf32>):
    %s = graph.map (%b, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s : tensor<5xf32>
  }
  return %r, %t : tensor<5xf32>, tensor<5xf32>
}

// -----

// Both branches, and a choice.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.if
// CHECK: arith.select
func.func @main(%c: tensor<i1>, %x: tensor<7xf32>, %y: tensor<7xf32>) -> tensor<7xf32> {
  %r = graph.if %c symbols [] : tensor<i1> -> (tensor<7xf32>) {
    %s = graph.map (%x, %y) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s : tensor<7xf32>
  } else {
    graph.yield %x : tensor<7xf32>
  }
  return %r : tensor<7xf32>
}

// -----

// The last update of each element, and the positions in order.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.scatter
// CHECK-NOT: graph.sort
// CHECK: graph.reduce max
// CHECK: graph.reduce sum
// CHECK: graph.reduce max
func.func @main(%x: tensor<9x4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) -> (tensor<9x4xf32>, tensor<2x4xi64>) {
  %s = graph.scatter %x[%i] to %u : (tensor<9x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %o = graph.sort descending %x dim 0 : tensor<9x4xf32> -> tensor<2x4xi64>
  return %s, %o : tensor<9x4xf32>, tensor<2x4xi64>
}

// -----

// A value that is carried may have another extent than iterations take: each one checks it first.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.loop
// CHECK: graph.require {{.*}}before an iteration
func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<5xf32> {
  %r = graph.loop count <[2]> carried (%x : tensor<?xf32, #graph.shape<["n"]>>) symbols [] -> (tensor<5xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<5xf32>):
    %s = graph.map (%a) : (tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32):
      %w = arith.mulf %u, %u : f32
      graph.yield %w : f32
    }
    graph.yield %s : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}
