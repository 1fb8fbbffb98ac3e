// RUN: perpend-opt --host-plan-memory %s | FileCheck %s
// Growing buffers: number 0 is the output's; of three values never more than two live at once. The branch that computes
// its result writes to the output, the other one copies.

// CHECK: tile.growing = 2
// CHECK: graph.measure {{.*}} {tile.buffers = array<i64: 0, 0>}
// CHECK: graph.call_kernel {{.*}} tile.buffers = array<i64: 2, 0, 4, 1>}
// CHECK: graph.call_kernel {{.*}}tile.buffers = array<i64: 4, 1, 4, 2>}
// CHECK: graph.call_kernel {{.*}}tile.buffers = array<i64: 4, 2, 4, 1>}
// CHECK: graph.if {{.*}} {tile.buffers = array<i64: 0, 1, 4, 0>}
// CHECK: graph.call_kernel {{.*}}tile.buffers = array<i64: 4, 1, 4, 0>}
// CHECK: graph.yield {{.*}} {tile.buffers = array<i64: 4, 0>}
// CHECK: graph.yield {{.*}} {tile.buffers = array<i64: 4, 1>}
// CHECK: return {tile.buffers = array<i64: 4, 0>}
#k = #graph.shape<["k"]>
func.func @main(%n: tensor<i64>, %c: tensor<i1>) -> tensor<?xf32, #k> {
  %one = graph.constant dense<1.0> : tensor<1xf32> : tensor<1xf32>
  graph.measure %n as "k" : tensor<i64>
  %x = graph.call_kernel @k(%one) {graph.symbols = #k} : (tensor<1xf32>) -> tensor<?xf32, #k>
  %y = graph.call_kernel @k(%x) {graph.symbols = #k} : (tensor<?xf32, #k>) -> tensor<?xf32, #k>
  %z = graph.call_kernel @k(%y) {graph.symbols = #k} : (tensor<?xf32, #k>) -> tensor<?xf32, #k>
  %r = graph.if %c symbols [] : tensor<i1> -> (tensor<?xf32, #k>) {
    %w = graph.call_kernel @k(%z) {graph.symbols = #k} : (tensor<?xf32, #k>) -> tensor<?xf32, #k>
    graph.yield %w : tensor<?xf32, #k>
  } else {
    graph.yield %z : tensor<?xf32, #k>
  }
  return %r : tensor<?xf32, #k>
}
func.func private @k(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %l: index, %u: index) attributes {graph.symbols = ["k"], tile.kernel, tile.extent = #graph.shape<["k"]>} {
  return
}
