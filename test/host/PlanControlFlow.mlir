// RUN: perpend-opt --host-plan-memory %s | FileCheck %s

// The carried value begins in the output, its other place is in the arena; the element is computed where it belongs. What
// the loop reads from outside stays alive until its end.
// CHECK: host.entry @main(%[[A:.*]]: !host.place<[64] x f32>, %[[H:.*]]: !host.place<[64] x f32>, %[[YS:.*]]: !host.place<[9, 64] x f32>)
// CHECK: %[[OUTER_BUFFER:.*]] = host.buffer bytes [256] parts [1] live [0, 6] at 0
// CHECK: %[[SPARE_BUFFER:.*]] = host.buffer bytes [256] parts [1] live [2, 7] at 256
// CHECK: %[[INNER_BUFFER:.*]] = host.buffer bytes [256] parts [1] live [3, 4] at 512
// CHECK: %[[OUTER:.*]] = host.place %[[OUTER_BUFFER]] [0]
// CHECK: host.launch @k(%[[A]]) -> (%[[OUTER]])
// CHECK: host.copy %[[A]] to %[[H]]
// CHECK: %[[SPARE:.*]] = host.place %[[SPARE_BUFFER]] [0]
// CHECK: %[[LAST:.*]]:2 = host.loop "iteration0" below [9] carried(%[[H]], %[[SPARE]]
// CHECK: ^bb0(%[[C:.*]]: !host.place<[64] x f32>, %[[NEXT:.*]]: !host.place<[64] x f32>):
// CHECK: %[[Y:.*]] = host.place %[[YS]] [256*iteration0]
// CHECK: %[[INNER:.*]] = host.place %[[INNER_BUFFER]] [0]
// CHECK: host.launch @k(%[[C]]) -> (%[[INNER]])
// CHECK: host.launch @two(%[[INNER]], %[[OUTER]]) -> (%[[NEXT]])
// CHECK: host.launch @k(%[[NEXT]]) -> (%[[Y]])
// CHECK: host.yield %[[NEXT]], %[[C]]
// CHECK: host.copy %[[LAST]]#0 to %[[H]]
// CHECK: host.return
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
