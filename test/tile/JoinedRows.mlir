// The loops inside of a row of an image are one where all operands cross both in one stride.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks %s | FileCheck %s
// RUN: perpend check %s --against interpreter --symbol n=0
// RUN: perpend check %s --against interpreter --symbol n=3

#x = #graph.shape<["n", 6, 9, 11]>
#r = #graph.shape<["n", 6]>
#y = #graph.shape<["n", 6, 11, 9]>

func.func @main(%x: tensor<?x6x9x11xf32, #x> {graph.name = "x"}, %y: tensor<?x6x11x9xf32, #y> {graph.name = "y"}) -> (tensor<?x6x9x11xf32, #x>, tensor<?x6x9x11xf32, #x>) {
  %0 = graph.call_kernel @softmax(%x) {graph.symbols = #graph.shape<["n"]>} : (tensor<?x6x9x11xf32, #x>) -> tensor<?x6x9x11xf32, #x>
  %1 = graph.call_kernel @across(%x, %y) {graph.symbols = #graph.shape<["n"]>} : (tensor<?x6x9x11xf32, #x>, tensor<?x6x11x9xf32, #y>) -> tensor<?x6x9x11xf32, #x>
  return %0, %1 : tensor<?x6x9x11xf32, #x>, tensor<?x6x9x11xf32, #x>
}

// A value that is kept has its loops.
// CHECK-LABEL: func.func private @softmax
// CHECK: "transform_block_layout %reduce, (i0, i1, i2, i3) -> (i0, i1, 11*i2 + i3)"
// CHECK: tile.for {{.*}} in 6*n parallel {
// CHECK: tile.for {{.*}} in 99 {
// CHECK-NEXT: tile.block "reduce"
// CHECK: tile.for {{.*}} in 9 {
// CHECK-NEXT: tile.for {{.*}} in 11 {
// CHECK-NEXT: tile.block "map"
func.func private @softmax(%x: tensor<?x6x9x11xf32, #x>) -> tensor<?x6x9x11xf32, #x> attributes {tile.kernel, graph.symbols = ["n"]} {
  %0 = graph.reduce max %x dims [2, 3] : tensor<?x6x9x11xf32, #x> -> tensor<?x6xf32, #r>
  %1 = graph.broadcast %0 dims [0, 1] : tensor<?x6xf32, #r> -> tensor<?x6x9x11xf32, #x>
  %2 = graph.map (%x, %1) : (tensor<?x6x9x11xf32, #x>, tensor<?x6x9x11xf32, #x>) -> tensor<?x6x9x11xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %a, %b : f32
    %e = math.exp %s : f32
    graph.yield %e : f32
  }
  %3 = graph.reduce sum %2 dims [2, 3] : tensor<?x6x9x11xf32, #x> -> tensor<?x6xf32, #r>
  %4 = graph.broadcast %3 dims [0, 1] : tensor<?x6xf32, #r> -> tensor<?x6x9x11xf32, #x>
  %5 = graph.map (%2, %4) : (tensor<?x6x9x11xf32, #x>, tensor<?x6x9x11xf32, #x>) -> tensor<?x6x9x11xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %q = arith.divf %a, %b : f32
    graph.yield %q : f32
  }
  return %5 : tensor<?x6x9x11xf32, #x>
}

// An operand that lies across keeps its loops two; the sum's are one.
// CHECK-LABEL: func.func private @across
// CHECK: tile.for {{.*}} in 6*n parallel {
// CHECK: tile.for {{.*}} in 99 {
// CHECK: tile.block "reduce"
// CHECK: tile.for {{.*}} in 9 {
// CHECK-NEXT: tile.for {{.*}} in 11 {
// CHECK-NEXT: tile.block "map"
func.func private @across(%x: tensor<?x6x9x11xf32, #x>, %y: tensor<?x6x11x9xf32, #y>) -> tensor<?x6x9x11xf32, #x> attributes {tile.kernel, graph.symbols = ["n"]} {
  %0 = graph.reduce sum %x dims [2, 3] : tensor<?x6x9x11xf32, #x> -> tensor<?x6xf32, #r>
  %1 = graph.broadcast %0 dims [0, 1] : tensor<?x6xf32, #r> -> tensor<?x6x9x11xf32, #x>
  %2 = graph.transpose %y [0, 1, 3, 2] : tensor<?x6x11x9xf32, #y> -> tensor<?x6x9x11xf32, #x>
  %3 = graph.map (%x, %1, %2) : (tensor<?x6x9x11xf32, #x>, tensor<?x6x9x11xf32, #x>, tensor<?x6x9x11xf32, #x>) -> tensor<?x6x9x11xf32, #x> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.subf %a, %b : f32
    %m = arith.mulf %s, %c : f32
    graph.yield %m : f32
  }
  return %3 : tensor<?x6x9x11xf32, #x>
}
