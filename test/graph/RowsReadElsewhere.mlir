// A chain is the same in its kernel as where it was found: what is in it only because of rows that are stored, since
// they are read elsewhere as well, is not.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=0
// RUN: perpend check %s --against interpreter --symbol n=1
// RUN: perpend check %s --against interpreter --symbol n=37

#r = #graph.shape<["n"]>
#x = #graph.shape<["n", 8]>
#y = #graph.shape<["n", 16]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[ROWS:.*]] = graph.call_kernel @{{reduce_sub_[0-9a-f]*}}(%arg0)
// CHECK-NEXT: %[[EXP:.*]] = graph.call_kernel @{{exp_[0-9a-f]*}}(%[[ROWS]])
// The sums are all that is read of the product.
// CHECK-NEXT: %[[PRODUCT:.*]] = graph.call_kernel @{{matmul_[0-9a-f]*}}(%[[EXP]], %arg1)
// CHECK-NEXT: graph.call_kernel @{{reduce_[0-9a-f]*}}(%[[PRODUCT]])
// Its rows are read again.
// CHECK-NEXT: %[[TANH:.*]] = graph.call_kernel @{{tanh_[0-9a-f]*}}(%[[ROWS]])
// CHECK-NEXT: graph.call_kernel @{{matmul_reduce_sub_[0-9a-f]*}}(%[[TANH]], %arg1)
func.func @main(%x: tensor<?x8xf32, #x> {graph.name = "x"}, %w: tensor<1x8x16xf32> {graph.name = "w"})
    -> (tensor<?x8xf32, #x>, tensor<?xf32, #r>, tensor<?x16xf32, #y>) {
  %0 = graph.reduce max %x dims [1] : tensor<?x8xf32, #x> -> tensor<?xf32, #r>
  %1 = graph.broadcast %0 dims [0] : tensor<?xf32, #r> -> tensor<?x8xf32, #x>
  %2 = graph.map (%x, %1) : (tensor<?x8xf32, #x>, tensor<?x8xf32, #x>) -> tensor<?x8xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    graph.yield %d : f32
  }
  %3 = graph.map (%2) : (tensor<?x8xf32, #x>) -> tensor<?x8xf32, #x> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  %4 = tile.matmul %3, %w : (tensor<?x8xf32, #x>, tensor<1x8x16xf32>) -> tensor<?x16xf32, #y>
  %5 = graph.reduce sum %4 dims [1] : tensor<?x16xf32, #y> -> tensor<?xf32, #r>

  %6 = graph.map (%2) : (tensor<?x8xf32, #x>) -> tensor<?x8xf32, #x> {
  ^bb0(%a: f32):
    %t = math.tanh %a : f32
    graph.yield %t : f32
  }
  %7 = tile.matmul %6, %w : (tensor<?x8xf32, #x>, tensor<1x8x16xf32>) -> tensor<?x16xf32, #y>
  %8 = graph.reduce max %7 dims [1] : tensor<?x16xf32, #y> -> tensor<?xf32, #r>
  %9 = graph.broadcast %8 dims [0] : tensor<?xf32, #r> -> tensor<?x16xf32, #y>
  %10 = graph.map (%7, %9) : (tensor<?x16xf32, #y>, tensor<?x16xf32, #y>) -> tensor<?x16xf32, #y> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    graph.yield %d : f32
  }
  return %2, %5, %10 : tensor<?x8xf32, #x>, tensor<?xf32, #r>, tensor<?x16xf32, #y>
}
