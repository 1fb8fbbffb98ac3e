// RUN: perpend-opt --host-plan-memory %s | FileCheck %s
// Places of control flow: 0 input, 1 output, 2 weights, 3 arena, 4 growing, 5 slot.

// The carried value begins in the output, its other place is in the arena; the element is computed where it belongs. What
// the loop reads from outside stays alive until its end.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tile.growing = 0
// CHECK-SAME: tile.lifetimes = array<i64: 0, 5, 1, 5, 1, 2>
// CHECK-SAME: tile.slots = 4
// CHECK: graph.call_kernel @k(%arg0) {tile.buffers = array<i64: 0, 0, 3, 0>}
// CHECK: graph.loop
// CHECK-SAME: tile.arguments = array<i64: 5, 0, 5, 1>, tile.buffers = array<i64: 0, 0, 1, 0, 1, 1>, tile.spares = array<i64: 3, 1>, tile.targets = array<i64: 5, 2, 5, 3>
// CHECK: graph.call_kernel @k(%{{.*}}) {tile.buffers = array<i64: 5, 1, 3, 2>}
// CHECK: graph.call_kernel @two(%{{.*}}) {tile.buffers = array<i64: 3, 2, 3, 0, 5, 2>}
// CHECK: graph.call_kernel @k(%{{.*}}) {tile.buffers = array<i64: 5, 2, 5, 3>}
// CHECK: graph.yield {{.*}} {tile.buffers = array<i64: 5, 2, 5, 3>}
// CHECK: return {tile.buffers = array<i64: 1, 0, 1, 1>}
func.func @main(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<9x64xf32>) {
  %outer = graph.call_kernel @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %h, %ys = graph.loop count <["9"]> carried (%a : tensor<64xf32>) symbols [] -> (tensor<64xf32>, tensor<9x64xf32>) {
    ^bb0(%i: tensor<i64>, %c: tensor<64xf32>):
    %inner = graph.call_kernel @k(%c) : (tensor<64xf32>) -> tensor<64xf32>
    %next = graph.call_kernel @two(%inner, %outer) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %y = graph.call_kernel @k(%next) : (tensor<64xf32>) -> tensor<64xf32>
    graph.yield %next, %y : tensor<64xf32>, tensor<64xf32>
  }
  return %h, %ys : tensor<64xf32>, tensor<9x64xf32>
}
func.func private @k(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %l: index, %u: index) attributes {tile.kernel, tile.extent = #graph.shape<[64]>} {
  return
}
func.func private @two(%a: memref<?xf32>, %b: memref<?xf32>, %r: memref<?xf32>, %s: memref<?xi64>, %l: index, %u: index) attributes {tile.kernel, tile.extent = #graph.shape<[64]>} {
  return
}
