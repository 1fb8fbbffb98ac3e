// Chains of reductions over the same rows are one kernel; whatever else reads their values, or reads another row, ends
// them.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=0 --symbol m=3
// RUN: perpend check %s --against interpreter --symbol n=1 --symbol m=1
// RUN: perpend check %s --against interpreter --symbol n=13 --symbol m=17

#nm = #graph.shape<["n", "m"]>
#n1 = #graph.shape<["n", 1]>
#n = #graph.shape<["n"]>
#n8 = #graph.shape<["n", 8]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[SOFTMAX:.*]] = graph.call_kernel @[[S:reduce_sub_exp_div_[0-9a-f]*]](%arg0)
// The exponentials are a result of their own, so the chain ends there.
// CHECK-NEXT: %[[EXP:.*]] = graph.call_kernel @[[E:reduce_sub_exp_[0-9a-f]*]](%arg0)
// CHECK-NEXT: %[[RATIO:.*]] = graph.call_kernel @{{reduce_div_[0-9a-f]*}}(%[[EXP]])
// Rows of a length that depends on symbols.
// CHECK-NEXT: %[[LONG:.*]] = graph.call_kernel @{{reduce_sub_exp_div_[0-9a-f]*}}(%arg1)
// A sum over all columns needs every row.
// CHECK-NEXT: graph.call_kernel @{{reduce_[0-9a-f]*}}(%arg0)
func.func @main(%a: tensor<?x8xf32, #n8> {graph.name = "a"}, %b: tensor<?x?xf32, #nm> {graph.name = "b"})
    -> (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>, tensor<?x?xf32, #nm>, tensor<?x8xf32, #n8>) {
  %0 = graph.reduce max %a dims [1] : tensor<?x8xf32, #n8> -> tensor<?xf32, #n>
  %1 = graph.broadcast %0 dims [0] : tensor<?xf32, #n> -> tensor<?x8xf32, #n8>
  %2 = graph.map (%a, %1) : (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.subf %x, %y : f32
    %e = math.exp %s : f32
    graph.yield %e : f32
  }
  %3 = graph.reduce sum %2 dims [1] : tensor<?x8xf32, #n8> -> tensor<?xf32, #n>
  %4 = graph.broadcast %3 dims [0] : tensor<?xf32, #n> -> tensor<?x8xf32, #n8>
  %5 = graph.map (%2, %4) : (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32, %y: f32):
    %q = arith.divf %x, %y : f32
    graph.yield %q : f32
  }
  %6 = graph.reduce min %a dims [1] : tensor<?x8xf32, #n8> -> tensor<?xf32, #n>
  %7 = graph.broadcast %6 dims [0] : tensor<?xf32, #n> -> tensor<?x8xf32, #n8>
  %8 = graph.map (%a, %7) : (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.subf %x, %y : f32
    %e = math.exp %s : f32
    graph.yield %e : f32
  }
  %9 = graph.reduce sum %8 dims [1] : tensor<?x8xf32, #n8> -> tensor<?xf32, #n>
  %10 = graph.broadcast %9 dims [0] : tensor<?xf32, #n> -> tensor<?x8xf32, #n8>
  %11 = graph.map (%8, %10) : (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32, %y: f32):
    %q = arith.divf %x, %y : f32
    graph.yield %q : f32
  }
  %12 = graph.reduce max %b dims [1] : tensor<?x?xf32, #nm> -> tensor<?xf32, #n>
  %13 = graph.broadcast %12 dims [0] : tensor<?xf32, #n> -> tensor<?x?xf32, #nm>
  %14 = graph.map (%b, %13) : (tensor<?x?xf32, #nm>, tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.subf %x, %y : f32
    %e = math.exp %s : f32
    graph.yield %e : f32
  }
  %15 = graph.reduce sum %14 dims [1] : tensor<?x?xf32, #nm> -> tensor<?xf32, #n>
  %16 = graph.broadcast %15 dims [0] : tensor<?xf32, #n> -> tensor<?x?xf32, #nm>
  %17 = graph.map (%14, %16) : (tensor<?x?xf32, #nm>, tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm> {
  ^bb0(%x: f32, %y: f32):
    %q = arith.divf %x, %y : f32
    graph.yield %q : f32
  }
  %18 = graph.reduce sum %a dims [0] : tensor<?x8xf32, #n8> -> tensor<8xf32>
  %19 = graph.broadcast %18 dims [1] : tensor<8xf32> -> tensor<?x8xf32, #n8>
  %20 = graph.map (%a, %19) : (tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>) -> tensor<?x8xf32, #n8> {
  ^bb0(%x: f32, %y: f32):
    %q = arith.subf %x, %y : f32
    graph.yield %q : f32
  }
  return %5, %8, %11, %17, %20 : tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>, tensor<?x8xf32, #n8>, tensor<?x?xf32, #nm>, tensor<?x8xf32, #n8>
}
