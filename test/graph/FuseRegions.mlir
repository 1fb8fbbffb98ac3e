// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: same-values %s graph-fuse-kernels
// Each block is fused on its own. What another block reads, or control flow, is stored; operators that are gone from a
// region must not be taken for the calls that come after it.

// CHECK-LABEL: func.func @main
// CHECK: %[[D:.*]] = graph.call_kernel @[[DOUBLE:.*]](%arg0)
// CHECK: %[[H:.*]] = graph.loop
// CHECK: ^bb0(%[[I:.*]]: tensor<i64>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[N:.*]] = graph.call_kernel @{{.*}}(%[[D]], %[[C]])
// CHECK-NEXT: graph.yield %[[N]]
// CHECK: %[[A:.*]] = graph.call_kernel @[[LAST:.*]](%[[H]], %[[D]])
// CHECK-NEXT: return %[[A]]
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %d = graph.map (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: f32):
    %y = arith.addf %x, %x : f32
    graph.yield %y : f32
  }
  %h = graph.loop count <["9"]> carried (%a : tensor<4xf32>) symbols [] -> (tensor<4xf32>) {
    ^bb0(%i: tensor<i64>, %c: tensor<4xf32>):
    %p = graph.transpose %d [0] : tensor<4xf32> -> tensor<4xf32>
    %q = graph.slice %c <["0"]> [1] : tensor<4xf32> -> tensor<4xf32>
    %r = graph.map (%p, %q) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      graph.yield %z : f32
    }
    %s = graph.map (%r) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%x: f32):
      %z = arith.negf %x : f32
      graph.yield %z : f32
    }
    graph.yield %s : tensor<4xf32>
  }
  %u = graph.map (%h) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: f32):
    %z = arith.negf %x : f32
    graph.yield %z : f32
  }
  %v = graph.map (%u, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%x: f32, %y: f32):
    %z = arith.subf %x, %y : f32
    graph.yield %z : f32
  }
  return %v : tensor<4xf32>
}
