// A product with a single column of a panel: a query and the keys of a head of its own, which lie in the rows of a cache.
// Several rows are in registers at once, whether elements are extended or not; that the column's elements lie apart makes
// no words of them.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=37

#keys = #graph.shape<[1, "n", 3, 64]>
#heads = #graph.shape<[1, 3, "n", 64]>
#scores = #graph.shape<[1, 3, "n", 1]>
#symbols = #graph.shape<["n"]>

func.func @main(%k: tensor<1x?x3x64xf32, #keys> {graph.name = "k"}, %h: tensor<1x?x3x64xf16, #keys> {graph.name = "h"},
    %q: tensor<1x3x1x64x8xf32> {graph.name = "q"}) -> (tensor<1x3x?x1xf32, #scores>, tensor<1x3x?x1xf32, #scores>) {
  %0 = graph.call_kernel @wide(%k, %q) {graph.result = 0 : i64, graph.symbols = #symbols} : (tensor<1x?x3x64xf32, #keys>, tensor<1x3x1x64x8xf32>) -> tensor<1x3x?x1xf32, #scores>
  %1 = graph.call_kernel @narrow(%h, %q) {graph.result = 1 : i64, graph.symbols = #symbols} : (tensor<1x?x3x64xf16, #keys>, tensor<1x3x1x64x8xf32>) -> tensor<1x3x?x1xf32, #scores>
  return %0, %1 : tensor<1x3x?x1xf32, #scores>, tensor<1x3x?x1xf32, #scores>
}

// CHECK-LABEL: func.func private @wide
// CHECK-SAME: = split %i2, [_, {{.*}}14]"
// CHECK-SAME: "%{{.*}}, %[[ROWS:i2_[0-9]]], %k0 = get_loops %matmul_1"
// CHECK-SAME: "tensorize %[[ROWS]], \22f32.block\22"
func.func private @wide(%k: tensor<1x?x3x64xf32, #keys>, %q: tensor<1x3x1x64x8xf32>) -> tensor<1x3x?x1xf32, #scores> attributes {tile.kernel, graph.batch_invariant, graph.symbols = ["n"]} {
  %0 = graph.transpose %k [0, 2, 1, 3] : tensor<1x?x3x64xf32, #keys> -> tensor<1x3x?x64xf32, #heads>
  %1 = tile.matmul %0, %q : (tensor<1x3x?x64xf32, #heads>, tensor<1x3x1x64x8xf32>) -> tensor<1x3x?x1xf32, #scores>
  %2 = graph.map (%1) : (tensor<1x3x?x1xf32, #scores>) -> tensor<1x3x?x1xf32, #scores> {
  ^bb0(%x: f32):
    %half = arith.constant 5.0e-01 : f32
    %y = arith.mulf %x, %half : f32
    graph.yield %y : f32
  }
  return %2 : tensor<1x3x?x1xf32, #scores>
}

// CHECK-LABEL: func.func private @narrow
// CHECK-SAME: = split %i2, [_, {{.*}}14]"
// CHECK-SAME: "%{{.*}}, %[[ROWS:i2_[0-9]]], %k0 = get_loops %matmul_1"
// CHECK-SAME: "tensorize %[[ROWS]], \22f16.rows.block\22"
func.func private @narrow(%k: tensor<1x?x3x64xf16, #keys>, %q: tensor<1x3x1x64x8xf32>) -> tensor<1x3x?x1xf32, #scores> attributes {tile.kernel, graph.batch_invariant, graph.symbols = ["n"]} {
  %0 = graph.transpose %k [0, 2, 1, 3] : tensor<1x?x3x64xf16, #keys> -> tensor<1x3x?x64xf16, #heads>
  %1 = tile.matmul %0, %q : (tensor<1x3x?x64xf16, #heads>, tensor<1x3x1x64x8xf32>) -> tensor<1x3x?x1xf32, #scores>
  %2 = graph.map (%1) : (tensor<1x3x?x1xf32, #scores>) -> tensor<1x3x?x1xf32, #scores> {
  ^bb0(%x: f32):
    %half = arith.constant 5.0e-01 : f32
    %y = arith.mulf %x, %half : f32
    graph.yield %y : f32
  }
  return %2 : tensor<1x3x?x1xf32, #scores>
}
