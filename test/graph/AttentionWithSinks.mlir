// Attention whose softmax has one more score for each row (a sink), which is no key: all of it is one kernel, as without.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=7 --symbol m=19

#q = #graph.shape<[2, "n", 8]>
#k = #graph.shape<[2, "floordiv(m + 15, 16)", 8, 16]>
#v = #graph.shape<[2, 2, "m", 16]>
#s = #graph.shape<[2, "n", "m"]>
#r = #graph.shape<[2, "n"]>
#y = #graph.shape<[2, "n", 24]>

// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: graph.call_kernel
// CHECK-NOT: graph.call_kernel
// CHECK: return
func.func @main(%q: tensor<2x?x8xf32, #q> {graph.name = "q"}, %k: tensor<2x?x8x16xf32, #k> {graph.name = "k"},
    %v: tensor<2x2x?x16xf32, #v> {graph.name = "v"}, %sinks: tensor<2x?xf32, #r> {graph.name = "sinks"}) -> tensor<2x?x24xf32, #y> {
  %0 = tile.matmul %q, %k : (tensor<2x?x8xf32, #q>, tensor<2x?x8x16xf32, #k>) -> tensor<2x?x?xf32, #s>
  %1 = graph.reduce max %0 dims [2] {graph.cancels} : tensor<2x?x?xf32, #s> -> tensor<2x?xf32, #r>
  %2 = graph.map (%1, %sinks) : (tensor<2x?xf32, #r>, tensor<2x?xf32, #r>) -> tensor<2x?xf32, #r> {
  ^bb0(%x: f32, %z: f32):
    %larger = arith.maximumf %x, %z : f32
    graph.yield %larger : f32
  }
  %3 = graph.broadcast %2 dims [0, 1] : tensor<2x?xf32, #r> -> tensor<2x?x?xf32, #s>
  %4 = graph.map (%0, %3) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %d = arith.subf %x, %z : f32
    %e = math.exp %d : f32
    graph.yield %e : f32
  }
  %5 = graph.reduce sum %4 dims [2] : tensor<2x?x?xf32, #s> -> tensor<2x?xf32, #r>
  %6 = graph.map (%5, %sinks, %2) : (tensor<2x?xf32, #r>, tensor<2x?xf32, #r>, tensor<2x?xf32, #r>) -> tensor<2x?xf32, #r> {
  ^bb0(%x: f32, %z: f32, %m: f32):
    %one = arith.constant 1.0 : f32
    %d = arith.subf %z, %m : f32
    %e = math.exp %d : f32
    %t = arith.addf %x, %e : f32
    %i = arith.divf %one, %t : f32
    graph.yield %i : f32
  }
  %7 = graph.broadcast %6 dims [0, 1] : tensor<2x?xf32, #r> -> tensor<2x?x?xf32, #s>
  %8 = graph.map (%4, %7) : (tensor<2x?x?xf32, #s>, tensor<2x?x?xf32, #s>) -> tensor<2x?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %p = arith.mulf %x, %z : f32
    graph.yield %p : f32
  }
  %9 = tile.matmul %8, %v : (tensor<2x?x?xf32, #s>, tensor<2x2x?x16xf32, #v>) -> tensor<2x?x24xf32, #y>
  return %9 : tensor<2x?x24xf32, #y>
}
