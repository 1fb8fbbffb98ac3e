// Two dimensions of one element in front do not end a chain of rows.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=5

#x = #graph.shape<[1, 1, "n", 8]>
#r = #graph.shape<[1, 1, "n"]>
#k = #graph.shape<[1, 1, "n", 1]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = graph.call_kernel @{{exp_reduce_sub_[0-9a-f]*}}(%arg0)
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<1x1x?x8xf32, #x> {graph.name = "x"}) -> tensor<1x1x?x8xf32, #x> {
  %0 = graph.map (%x) : (tensor<1x1x?x8xf32, #x>) -> tensor<1x1x?x8xf32, #x> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  %1 = graph.reduce max %0 dims [3] : tensor<1x1x?x8xf32, #x> -> tensor<1x1x?xf32, #r>
  %2 = graph.reshape %1 : tensor<1x1x?xf32, #r> -> tensor<1x1x?x1xf32, #k>
  %3 = graph.broadcast %2 dims [0, 1, 2, 3] : tensor<1x1x?x1xf32, #k> -> tensor<1x1x?x8xf32, #x>
  %4 = graph.map (%0, %3) : (tensor<1x1x?x8xf32, #x>, tensor<1x1x?x8xf32, #x>) -> tensor<1x1x?x8xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    graph.yield %d : f32
  }
  return %4 : tensor<1x1x?x8xf32, #x>
}
