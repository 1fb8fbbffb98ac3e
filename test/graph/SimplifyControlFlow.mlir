// RUN: perpend-opt --graph-simplify --split-input-file %s | FileCheck %s

// A known condition leaves its branch, and the symbol is what the branch yields.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[R:.*]] = graph.concat %arg0, %arg0
// CHECK-NEXT: return %[[R]] : tensor<?xf32, #graph.shape<["2*n"]>>
func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["s"]>> {
  %c = graph.constant dense<true> : tensor<i1> : tensor<i1>
  %r = graph.if %c symbols ["s"] : tensor<i1> -> (tensor<?xf32, #graph.shape<["s"]>>) {
    %y = graph.concat %x, %x axis 0 : (tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["2*n"]>>
    graph.yield %y : tensor<?xf32, #graph.shape<["2*n"]>>
  } else {
    graph.yield %x : tensor<?xf32, #graph.shape<["n"]>>
  }
  return %r : tensor<?xf32, #graph.shape<["s"]>>
}

// -----

// One iteration is the body; the extent of the state is that of the initial value inside, of the next one behind.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.loop
// CHECK-NOT: graph.measure
// CHECK: %[[R:.*]] = graph.concat %arg0, %arg0, %arg0
// CHECK: return %[[R]] : tensor<?xf32, #graph.shape<["3*n"]>>
func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["s"]>> {
  %h = graph.loop count <[1]> carried (%x : tensor<?xf32, #graph.shape<["n"]>>) symbols ["s"] -> (tensor<?xf32, #graph.shape<["s"]>>) {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #graph.shape<["s"]>>):
    %j = graph.concat %a, %x, %a axis 0 : (tensor<?xf32, #graph.shape<["s"]>>, tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["s"]>>) -> tensor<?xf32, #graph.shape<["n + 2*s"]>>
    graph.yield %j : tensor<?xf32, #graph.shape<["n + 2*s"]>>
  }
  return %h : tensor<?xf32, #graph.shape<["s"]>>
}

// -----

// Without an iteration the initial value is the result; elements that nothing uses are not computed.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[H:.*]] = graph.loop count <["n"]> carried(%arg0 : tensor<?xf32, #graph.shape<["n"]>>)
// CHECK: graph.yield %{{.*}} : tensor<?xf32, #graph.shape<["n"]>>
// CHECK: return %arg0, %[[H]]
func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>>) -> (tensor<?xf32, #graph.shape<["s"]>>, tensor<?xf32, #graph.shape<["n"]>>) {
  %h = graph.loop count <[0]> carried (%x : tensor<?xf32, #graph.shape<["n"]>>) symbols ["s"] -> (tensor<?xf32, #graph.shape<["s"]>>) {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #graph.shape<["s"]>>):
    graph.yield %x : tensor<?xf32, #graph.shape<["n"]>>
  }
  %g, %es = graph.loop count <["n"]> carried (%x : tensor<?xf32, #graph.shape<["n"]>>) symbols [] -> (tensor<?xf32, #graph.shape<["n"]>>, tensor<?x?xf32, #graph.shape<["n", "n"]>>) {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #graph.shape<["n"]>>):
    %m = graph.map (%a) : (tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["n"]>> {
    ^bb0(%v: f32):
      %z = math.exp %v : f32
      graph.yield %z : f32
    }
    graph.yield %m, %a : tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["n"]>>
  }
  return %h, %g : tensor<?xf32, #graph.shape<["s"]>>, tensor<?xf32, #graph.shape<["n"]>>
}

// -----

// What a run of the branch would have checked stays: one symbol for two extents, and an extent that is promised.
// CHECK-LABEL: func.func @main(
// CHECK-DAG: graph.require <["-m + n"]> "the sizes do not fit behind the else branch"
// CHECK-DAG: graph.require <["m - n"]> "the sizes do not fit behind the else branch"
// CHECK-DAG: graph.require <["n - 4"]> "the sizes do not fit behind the else branch"
// CHECK-DAG: graph.require <["-n + 4"]> "the sizes do not fit behind the else branch"
// CHECK: graph.reshape
func.func @main(%x: tensor<?x?xf32, #graph.shape<["n", "m"]>>, %y: tensor<?xf32, #graph.shape<["n"]>>) -> (tensor<?x?xf32, #graph.shape<["s", "s"]>>, tensor<4xf32>) {
  %c = graph.constant dense<false> : tensor<i1> : tensor<i1>
  %z = graph.constant dense<0.0> : tensor<4xf32> : tensor<4xf32>
  %r, %t = graph.if %c symbols ["s"] : tensor<i1> -> (tensor<?x?xf32, #graph.shape<["s", "s"]>>, tensor<4xf32>) {
    graph.yield %x, %z : tensor<?x?xf32, #graph.shape<["n", "m"]>>, tensor<4xf32>
  } else {
    graph.yield %x, %y : tensor<?x?xf32, #graph.shape<["n", "m"]>>, tensor<?xf32, #graph.shape<["n"]>>
  }
  return %r, %t : tensor<?x?xf32, #graph.shape<["s", "s"]>>, tensor<4xf32>
}
