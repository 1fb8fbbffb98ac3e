// RUN: perpend-opt %s | perpend-opt | FileCheck %s
// The text form of control flow and of sizes that depend on data.

func.func @main(%n: tensor<i64>, %c: tensor<i1>, %h0: tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #graph.shape<["steps", 4]>>, tensor<?xf32, #graph.shape<["if0"]>>) {
  %h, %ys = graph.loop count <["steps"]> limit %n : tensor<i64> carried (%h0 : tensor<4xf32>) symbols ["steps"] -> (tensor<4xf32>, tensor<?x4xf32, #graph.shape<["steps", 4]>>) {
    ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    graph.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  graph.measure %n as "k" : tensor<i64>
  graph.require <["k - 1"]> "bad"
  %r = graph.if %c symbols ["if0"] : tensor<i1> -> (tensor<?xf32, #graph.shape<["if0"]>>) {
    graph.yield %h : tensor<4xf32>
  } else {
    %z = graph.slice %h <[0]> [1] : tensor<4xf32> -> tensor<2xf32>
    graph.yield %z : tensor<2xf32>
  }
  return %h, %ys, %r : tensor<4xf32>, tensor<?x4xf32, #graph.shape<["steps", 4]>>, tensor<?xf32, #graph.shape<["if0"]>>
}

// CHECK: graph.loop count <["steps"]> limit
// CHECK: graph.measure %{{.*}} as "k" : tensor<i64>
// CHECK: graph.require <["k - 1"]> "bad"
// CHECK: graph.if %{{.*}} symbols ["if0"]
