// RUN: perpend-opt --graph-emit-gradients --split-input-file --verify-diagnostics %s | FileCheck %s

// The sum of x^2 w over the columns: the gradient in x is 2 x w, in w it is summed over the rows. Integers have none.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x3xf32, #graph.shape<["n", 3]>>, %[[W:.*]]: tensor<3xf32>, %[[K:.*]]: tensor<3xi64>)
// CHECK-SAME: -> (tensor<?xf32, #graph.shape<["n"]>> {graph.name = "y"}, tensor<?x3xf32, #graph.shape<["n", 3]>>, tensor<3xf32>)
// CHECK: %[[WIDE:.*]] = graph.broadcast %[[W]] dims [1]
// CHECK: %[[Y:.*]] = graph.reduce sum
// CHECK: %[[ONES:.*]] = graph.broadcast %{{.*}} dims [] : tensor<f32> -> tensor<?xf32, #graph.shape<["n"]>>
// CHECK: %[[G:.*]] = graph.broadcast %[[ONES]] dims [0]
// CHECK: %[[DX:.*]] = graph.map (%[[X]], %[[WIDE]], %[[G]])
// CHECK: %[[DWIDE:.*]] = graph.map (%[[X]], %[[WIDE]], %[[G]])
// CHECK: %[[DW:.*]] = graph.reduce sum %[[DWIDE]] dims [0]
// CHECK: return %[[Y]], %[[DX]], %[[DW]]
func.func @main(%x: tensor<?x3xf32, #graph.shape<["n", 3]>>, %w: tensor<3xf32>, %k: tensor<3xi64>) -> (tensor<?xf32, #graph.shape<["n"]>> {graph.name = "y"}) {
  %wide = graph.broadcast %w dims [1] : tensor<3xf32> -> tensor<?x3xf32, #graph.shape<["n", 3]>>
  %p = graph.map (%x, %wide) : (tensor<?x3xf32, #graph.shape<["n", 3]>>, tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
  ^bb0(%a: f32, %b: f32):
    %square = arith.mulf %a, %a : f32
    %product = arith.mulf %square, %b : f32
    graph.yield %product : f32
  }
  %y = graph.reduce sum %p dims [1] : tensor<?x3xf32, #graph.shape<["n", 3]>> -> tensor<?xf32, #graph.shape<["n"]>>
  return %y : tensor<?xf32, #graph.shape<["n"]>>
}

// -----

// A result that depends on no argument.
// CHECK-LABEL: func.func @main
// CHECK: %[[ONE:.*]] = graph.constant
// CHECK: %[[ZERO:.*]] = graph.constant dense<0.0
// CHECK: return %[[ONE]], %[[ZERO]]
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  return %one : tensor<f32>
}

// -----

// expected-error @+1 {{no derivative of node 'repeat' (graph.loop)}}
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.loop count <[3]> carried (%x : tensor<f32>) symbols [] -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<f32>):
    graph.yield %state : tensor<f32>
  } loc("repeat")
  return %y : tensor<f32>
}

// -----

// A gradient has the shape of the caller's input, so no input is repeated.
// CHECK-LABEL: func.func @main
// CHECK-NOT: graph.repeats
// CHECK: return
func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>> {graph.repeats = [#graph.shape<["m"]>]}, %y: tensor<?xf32, #graph.shape<["m"]>>) -> (tensor<?xf32, #graph.shape<["m"]>>) {
  %r = graph.broadcast %x dims [0] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?xf32, #graph.shape<["m"]>>
  return %r : tensor<?xf32, #graph.shape<["m"]>>
}
