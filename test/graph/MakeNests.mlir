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

// -----

// A loop of 256 operators is written out, one of 258 stays.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.loop count <[128]>
// CHECK: graph.loop count <[129]>
// CHECK-NOT: graph.loop
func.func @main(%a: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %r = graph.loop count <[128]> carried (%a : tensor<5xf32>) symbols [] -> (tensor<5xf32>) {
  ^bb0(%i: tensor<i64>, %b: tensor<5xf32>):
    %s = graph.map (%b, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s : tensor<5xf32>
  }
  %t = graph.loop count <[129]> carried (%a : tensor<5xf32>) symbols [] -> (tensor<5xf32>) {
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

// Eight operators are computed for nothing, nine are not.
// CHECK-LABEL: func.func @main(
// CHECK: arith.select
// CHECK: graph.if
// CHECK-NOT: graph.if
func.func @main(%c: tensor<i1>, %a: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %r = graph.if %c symbols [] : tensor<i1> -> (tensor<5xf32>) {
    %s0 = graph.map (%a, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s1 = graph.map (%s0, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s2 = graph.map (%s1, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s3 = graph.map (%s2, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s4 = graph.map (%s3, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s5 = graph.map (%s4, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s6 = graph.map (%s5, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s7 = graph.map (%s6, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s7 : tensor<5xf32>
  } else {
    graph.yield %a : tensor<5xf32>
  }
  %t = graph.if %c symbols [] : tensor<i1> -> (tensor<5xf32>) {
    %s0 = graph.map (%a, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s1 = graph.map (%s0, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s2 = graph.map (%s1, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s3 = graph.map (%s2, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s4 = graph.map (%s3, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s5 = graph.map (%s4, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s6 = graph.map (%s5, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s7 = graph.map (%s6, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    %s8 = graph.map (%s7, %a) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.mulf %u, %v : f32
      graph.yield %w : f32
    }
    graph.yield %s8 : tensor<5xf32>
  } else {
    graph.yield %a : tensor<5xf32>
  }
  return %r, %t : tensor<5xf32>, tensor<5xf32>
}

// -----

// 256 updates, and 2^20 comparisons; one more stays.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.scatter {{.*}}tensor<256x1xi64>
// CHECK-NOT: graph.scatter {{.*}}tensor<16x1xi64>
// CHECK: graph.scatter {{.*}}tensor<257x1xi64>
// CHECK-NOT: graph.scatter {{.*}}tensor<16x1xi64>
// CHECK: graph.scatter %arg1{{.*}}tensor<65537xf32>
// CHECK-NOT: graph.scatter
func.func @main(%a: tensor<9xf32>, %b: tensor<65537xf32>, %c: tensor<65536xf32>, %i: tensor<256x1xi64>, %j: tensor<257x1xi64>,
                %k: tensor<16x1xi64>, %u: tensor<256xf32>, %v: tensor<257xf32>, %w: tensor<16xf32>)
    -> (tensor<9xf32>, tensor<65536xf32>, tensor<9xf32>, tensor<65537xf32>) {
  %p = graph.scatter %a[%i] to %u : (tensor<9xf32>, tensor<256x1xi64>, tensor<256xf32>) -> tensor<9xf32>
  %q = graph.scatter %c[%k] to %w : (tensor<65536xf32>, tensor<16x1xi64>, tensor<16xf32>) -> tensor<65536xf32>
  %r = graph.scatter %a[%j] to %v : (tensor<9xf32>, tensor<257x1xi64>, tensor<257xf32>) -> tensor<9xf32>
  %s = graph.scatter %b[%k] to %w : (tensor<65537xf32>, tensor<16x1xi64>, tensor<16xf32>) -> tensor<65537xf32>
  return %p, %q, %r, %s : tensor<9xf32>, tensor<65536xf32>, tensor<9xf32>, tensor<65537xf32>
}

// -----

// Rows of 1024 numbers, each compared with all; one more stays, and a second row.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.sort %arg0
// CHECK: graph.sort %arg1
// CHECK: graph.sort %arg2
func.func @main(%x: tensor<1024xf32>, %y: tensor<1025xf32>, %z: tensor<2x1024xf32>)
    -> (tensor<1024xi64>, tensor<1025xi64>, tensor<2x1024xi64>) {
  %a = graph.sort %x dim 0 : tensor<1024xf32> -> tensor<1024xi64>
  %b = graph.sort %y dim 0 : tensor<1025xf32> -> tensor<1025xi64>
  %c = graph.sort %z dim 1 : tensor<2x1024xf32> -> tensor<2x1024xi64>
  return %a, %b, %c : tensor<1024xi64>, tensor<1025xi64>, tensor<2x1024xi64>
}
