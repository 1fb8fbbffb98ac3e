// Sizes that become known may contradict an operator: an error of the model, and in a branch one of the runs that
// choose it.
// RUN: perpend-opt --graph-simplify --split-input-file --verify-diagnostics %s | FileCheck %s

func.func @main(%x: tensor<2x3xf32>) -> tensor<?xf32, #graph.shape<["s"]>> {
  %c = graph.constant dense<7> : tensor<i64> : tensor<i64>
  graph.measure %c as "s" : tensor<i64>
  // expected-error @+1 {{graph.reshape: cannot reshape [2, 3] to [7]: the numbers of elements differ, 6 and 7}}
  %r = graph.reshape %x : tensor<2x3xf32> -> tensor<?xf32, #graph.shape<["s"]>>
  return %r : tensor<?xf32, #graph.shape<["s"]>>
}

// -----

// The other branch stays, behind a requirement.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.if
// CHECK: graph.measure %{{.*}} as "[[TAKEN:.*]]" : tensor<i64>
// CHECK: graph.require <["-[[TAKEN]]"]> "the condition chooses the then branch, which cannot run: graph.reshape: cannot reshape [6] to [7]: the numbers of elements differ, 6 and 7"
// CHECK-NOT: graph.if
// CHECK: return %{{.*}} : tensor<6xf32>
func.func @main(%x: tensor<6xf32>, %b: tensor<i1>) -> tensor<6xf32> {
  %c = graph.constant dense<7> : tensor<i64> : tensor<i64>
  graph.measure %c as "s" : tensor<i64>
  // expected-warning @+1 {{a run that chooses the then branch will be an error: graph.reshape: cannot reshape [6] to [7]}}
  %r = graph.if %b symbols [] : tensor<i1> -> (tensor<6xf32>) {
    %w = graph.reshape %x : tensor<6xf32> -> tensor<?xf32, #graph.shape<["s"]>>
    %y = graph.slice %w <[0]> [1] : tensor<?xf32, #graph.shape<["s"]>> -> tensor<6xf32>
    graph.yield %y : tensor<6xf32>
  } else {
    graph.yield %x : tensor<6xf32>
  }
  return %r : tensor<6xf32>
}
