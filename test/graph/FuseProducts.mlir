// Products of rows join a chain of reductions where what they read again for each block of rows is less than what need not
// be stored.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=0 --symbol m=3
// RUN: perpend check %s --against interpreter --symbol n=1 --symbol m=1
// RUN: perpend check %s --against interpreter --symbol n=13 --symbol m=37

#q = #graph.shape<["n", 2, 8]>
#qt = #graph.shape<[2, "n", 8]>
#k = #graph.shape<[2, "floordiv(m + 31, 32)", 8, 32]>
#v = #graph.shape<[2, 1, "m", 16]>
#s = #graph.shape<[2, "n", "m"]>
#r = #graph.shape<[2, "n"]>
#y = #graph.shape<[2, "n", 16]>
#mask = #graph.shape<["n", "m"]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: graph.call_kernel @[[ATTENTION:matmul_mul_add_reduce_[0-9a-f]*]](%arg0, %arg1, %arg3, %arg2)
// The rows are a result of their own.
// CHECK-NEXT: %[[ROWS:.*]] = graph.call_kernel @[[FIRST:matmul_exp_reduce_div_[0-9a-f]*]](
// CHECK-NEXT: graph.call_kernel @{{matmul_[0-9a-f]*}}(%[[ROWS]], %arg2)
// The sum is over more than a block of rows has.
// CHECK-NEXT: %[[SCORES:.*]] = graph.call_kernel @{{matmul_[0-9a-f]*}}(%arg4, %arg5)
// CHECK-NEXT: graph.call_kernel @{{reduce_div_[0-9a-f]*}}(%[[SCORES]])
// All rows stay in a cache.
// CHECK-NEXT: %[[FEW:.*]] = graph.call_kernel @{{matmul_[0-9a-f]*}}(%arg6, %arg7)
// CHECK-NEXT: graph.call_kernel @{{reduce_div_[0-9a-f]*}}(%[[FEW]])
func.func @main(%q: tensor<?x2x8xf32, #q> {graph.name = "q"}, %k: tensor<2x?x8x32xf32, #k> {graph.name = "k"},
                %v: tensor<2x1x?x16xf32, #v> {graph.name = "v"}, %mask: tensor<?x?xf32, #mask> {graph.name = "mask"},
                %a: tensor<8x300xf32> {graph.name = "a"}, %b: tensor<300x300x32xf32> {graph.name = "b"},
                %c: tensor<8x6xf32> {graph.name = "c"}, %d: tensor<1x6x16xf32> {graph.name = "d"})
    -> (tensor<2x?x16xf32, #y>, tensor<2x?x?xf32, #s>, tensor<2x?x16xf32, #y>, tensor<8x9600xf32>, tensor<8x16xf32>) {
  %0 = graph.transpose %q [1, 0, 2] : tensor<?x2x8xf32, #q> -> tensor<2x?x8xf32, #qt>
  %1 = tile.matmul %0, %k : (tensor<2x?x8xf32, #qt>, tensor<2x?x8x32xf32, #k>) -> tensor<2x?x?xf32, #s>
  %2 = graph.broadcast %mask dims [1, 2] : tensor<?x?xf32, #mask> -> tensor<2x?x?xf32, #s>
  %3 = graph.map (%1, %2) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %scale = arith.constant 0.5 : f32
    %p = arith.mulf %x, %scale : f32
    %e = arith.addf %p, %z : f32
    graph.yield %e : f32
  }
  %4 = graph.reduce max %3 dims [2] : tensor<2x?x?xf32, #s> -> tensor<2x?xf32, #r>
  %5 = graph.broadcast %4 dims [0, 1] : tensor<2x?xf32, #r> -> tensor<2x?x?xf32, #s>
  %6 = graph.map (%3, %5) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %p = arith.subf %x, %z : f32
    graph.yield %p : f32
  }
  %7 = tile.matmul %6, %v : (tensor<2x?x?xf32, #s>, tensor<2x1x?x16xf32, #v>) -> tensor<2x?x16xf32, #y>

  %t = graph.transpose %q [1, 0, 2] : tensor<?x2x8xf32, #q> -> tensor<2x?x8xf32, #qt>
  %8 = tile.matmul %t, %k : (tensor<2x?x8xf32, #qt>, tensor<2x?x8x32xf32, #k>) -> tensor<2x?x?xf32, #s>
  %9 = graph.map (%8) : (tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32):
    %e = math.exp %x : f32
    graph.yield %e : f32
  }
  %10 = graph.reduce sum %9 dims [2] : tensor<2x?x?xf32, #s> -> tensor<2x?xf32, #r>
  %11 = graph.broadcast %10 dims [0, 1] : tensor<2x?xf32, #r> -> tensor<2x?x?xf32, #s>
  %12 = graph.map (%9, %11) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %p = arith.divf %x, %z : f32
    graph.yield %p : f32
  }
  %13 = tile.matmul %12, %v : (tensor<2x?x?xf32, #s>, tensor<2x1x?x16xf32, #v>) -> tensor<2x?x16xf32, #y>

  %14 = tile.matmul %a, %b : (tensor<8x300xf32>, tensor<300x300x32xf32>) -> tensor<8x9600xf32>
  %15 = graph.reduce sum %14 dims [1] : tensor<8x9600xf32> -> tensor<8xf32>
  %16 = graph.broadcast %15 dims [0] : tensor<8xf32> -> tensor<8x9600xf32>
  %17 = graph.map (%14, %16) : (tensor<8x9600xf32>, tensor<8x9600xf32>) -> tensor<8x9600xf32> {
  ^bb0(%x: f32, %z: f32):
    %p = arith.divf %x, %z : f32
    graph.yield %p : f32
  }
  %18 = tile.matmul %c, %d : (tensor<8x6xf32>, tensor<1x6x16xf32>) -> tensor<8x16xf32>
  %19 = graph.reduce sum %18 dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  %20 = graph.broadcast %19 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %21 = graph.map (%18, %20) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%x: f32, %z: f32):
    %p = arith.divf %x, %z : f32
    graph.yield %p : f32
  }
  return %7, %12, %13, %17, %21 : tensor<2x?x16xf32, #y>, tensor<2x?x?xf32, #s>, tensor<2x?x16xf32, #y>, tensor<8x9600xf32>, tensor<8x16xf32>
}

// The query is read through its transpose.
// CHECK: func.func private @[[ATTENTION]](%arg0: tensor<?x2x8xf32
// CHECK: graph.transpose %arg0
// CHECK: tile.matmul
// CHECK: graph.reduce  max
// CHECK: tile.matmul
// CHECK: func.func private @[[FIRST]](
// CHECK: tile.matmul
// CHECK: graph.reduce  sum
// CHECK-NOT: tile.matmul
// CHECK: return
