// RUN: perpend-opt --graph-place-reshapes %s | FileCheck %s
// RUN: same-values %s 'func.func(graph-place-reshapes)'

#x = #graph.shape<["n", 7]>
#c = #graph.shape<["n", 16]>
#r = #graph.shape<["n", 4, 4]>

// The elementwise operator works on rows by columns, its broadcast operand too; the reshape is last.
// CHECK-LABEL: func.func @bias
// CHECK: %[[C:.*]] = tile.matmul %arg0, %arg1
// CHECK: %[[B:.*]] = graph.broadcast %{{.*}} dims [0] : {{.*}} -> tensor<?x16xf32
// CHECK: %[[M:.*]] = graph.map (%[[C]], %[[B]])
// CHECK: %[[R:.*]] = graph.reshape %[[M]]
// CHECK: return %[[R]]
func.func @bias(%a: tensor<?x7xf32, #x>, %w: tensor<1x7x16xf32>, %b: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?x4x4xf32, #r> {
  %c = tile.matmul %a, %w : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> tensor<?x16xf32, #c>
  %d = graph.reshape %c : tensor<?x16xf32, #c> -> tensor<?x4x4xf32, #r>
  %e = graph.broadcast %b dims [0] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?x4x4xf32, #r>
  %f = graph.map (%d, %e) : (tensor<?x4x4xf32, #r>, tensor<?x4x4xf32, #r>) -> tensor<?x4x4xf32, #r> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    graph.yield %s : f32
  }
  return %f : tensor<?x4x4xf32, #r>
}

// A reshape of something else stays.
// CHECK-LABEL: func.func @no_reduction
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0
// CHECK-NEXT: graph.map (%[[R]])
func.func @no_reduction(%a: tensor<?x16xf32, #c>) -> tensor<?x4x4xf32, #r> {
  %d = graph.reshape %a : tensor<?x16xf32, #c> -> tensor<?x4x4xf32, #r>
  %e = graph.map (%d) : (tensor<?x4x4xf32, #r>) -> tensor<?x4x4xf32, #r> {
  ^bb0(%x: f32):
    %s = arith.negf %x : f32
    graph.yield %s : f32
  }
  return %e : tensor<?x4x4xf32, #r>
}
