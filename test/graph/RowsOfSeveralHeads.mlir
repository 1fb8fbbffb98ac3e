// What is the same for all rows of a chain, such as a mask for all heads, is no part of it: each row would compute it.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=1
// RUN: perpend check %s --against interpreter --symbol n=19

#x = #graph.shape<[3, "n"]>
#mask = #graph.shape<[1, "n"]>

// CHECK-LABEL: func.func @main
// CHECK: %[[MASK:.*]] = graph.call_kernel @{{.*}}(%arg1) {{.*}} -> tensor<1x?xi1
// CHECK: graph.call_kernel @{{.*}}(%arg0, %[[MASK]])
// CHECK-NOT: graph.call_kernel
// CHECK: return
func.func @main(%x: tensor<3x?xf32, #x> {graph.name = "x"}, %last: tensor<1xi64> {graph.name = "last"}) -> tensor<3x?xf32, #x> {
  %0 = graph.generate (%last) : (tensor<1xi64>) -> tensor<1x?xi1, #mask> {
  ^bb0(%row: index, %column: index, %t: tensor<1xi64>):
    %number = graph.load %t[%row] : tensor<1xi64> -> i64
    %at = arith.index_cast %number : i64 to index
    %seen = arith.cmpi sle, %column, %at : index
    graph.yield %seen : i1
  }
  %1 = graph.broadcast %0 dims [0, 1] : tensor<1x?xi1, #mask> -> tensor<3x?xi1, #x>
  %2 = graph.map (%x, %1) : (tensor<3x?xf32, #x>, tensor<3x?xi1, #x>) -> tensor<3x?xf32, #x> {
  ^bb0(%a: f32, %m: i1):
    %least = arith.constant -1.0e+01 : f32
    %r = arith.select %m, %a, %least : f32
    graph.yield %r : f32
  }
  %3 = graph.reduce max %2 dims [1] {graph.cancels} : tensor<3x?xf32, #x> -> tensor<3xf32>
  %4 = graph.broadcast %3 dims [0] : tensor<3xf32> -> tensor<3x?xf32, #x>
  %5 = graph.map (%2, %4) : (tensor<3x?xf32, #x>, tensor<3x?xf32, #x>) -> tensor<3x?xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    graph.yield %e : f32
  }
  return %5 : tensor<3x?xf32, #x>
}
