// RUN: perpend-opt --host-plan-memory %s | FileCheck %s
// Growing buffers: number 0 is the output's; of three values never more than two live at once. The branch that computes
// its result writes to the output, the other one copies.

// CHECK: host.entry @main(%{{.*}}: !host.place<[] x i64>, %[[C:.*]]: !host.place<[] x i1>, %[[OUT:.*]]: !host.room)
// CHECK: %[[FIRST:.*]] = host.room 1
// CHECK: %[[SECOND:.*]] = host.room 2
// CHECK: %[[THIRD:.*]] = host.room 1
// CHECK: host.read "k" from
// CHECK: host.check [k] at_least [0]
// CHECK: %[[X:.*]] = host.reserve %[[FIRST]]
// CHECK: host.launch @k({{.*}}) -> (%[[X]]) symbols [k]
// CHECK: %[[Y:.*]] = host.reserve %[[SECOND]]
// CHECK: host.launch @k(%[[X]]) -> (%[[Y]])
// CHECK: %[[Z:.*]] = host.reserve %[[THIRD]]
// CHECK: host.launch @k(%[[Y]]) -> (%[[Z]])
// CHECK: host.read "if0" from %[[C]]
// CHECK: host.if [if0] {
// CHECK: %[[W:.*]] = host.reserve %[[OUT]]
// CHECK: host.launch @k(%[[Z]]) -> (%[[W]])
// CHECK: } else {
// CHECK: %[[V:.*]] = host.reserve %[[OUT]]
// CHECK: host.copy %[[Z]] to %[[V]]
// CHECK: host.content %[[OUT]]
// CHECK: host.return
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
