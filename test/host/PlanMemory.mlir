// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory %s | FileCheck %s
// RUN: same-values %s "tile-build-blocks,tile-schedule-blocks{target=znver5},tile-flatten-blocks,host-plan-memory"

// Of three buffers of 256 bytes never more than two live at once.
// CHECK: host.entry @main(%[[A:.*]]: !host.place<[64] x f32> {graph.name = "a"}, %[[R:.*]]: !host.place<[64] x f32> {graph.name = "y"})
// CHECK: %[[B0:.*]] = host.buffer bytes [256] parts [1] live [0, 1] at 0
// CHECK: %[[B1:.*]] = host.buffer bytes [256] parts [1] live [1, 2] at 256
// CHECK: %[[B2:.*]] = host.buffer bytes [256] parts [1] live [2, 3] at 0
// CHECK: %[[B:.*]] = host.place %[[B0]] [0]
// CHECK: host.launch @k(%[[A]]) -> (%[[B]])
// CHECK: %[[C:.*]] = host.place %[[B1]] [0]
// CHECK: host.launch @k(%[[B]]) -> (%[[C]])
// The reshape is the same memory.
// CHECK: %[[S:.*]] = host.place %[[C]] [0] : !host.place<[64] x f32> to <[8, 8] x f32>
// CHECK: %[[T:.*]] = host.place %[[S]] [0]
// CHECK: %[[D:.*]] = host.place %[[B2]] [0]
// CHECK: host.launch @k(%[[T]]) -> (%[[D]])
// CHECK: host.launch @k(%[[D]]) -> (%[[R]])
func.func @main(%a: tensor<64xf32> {graph.name = "a"}) -> (tensor<64xf32> {graph.name = "y"}) {
  %b = graph.call_kernel @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %c = graph.call_kernel @k(%b) : (tensor<64xf32>) -> tensor<64xf32>
  %s = graph.reshape %c : tensor<64xf32> -> tensor<8x8xf32>
  %t = graph.reshape %s : tensor<8x8xf32> -> tensor<64xf32>
  %d = graph.call_kernel @k(%t) : (tensor<64xf32>) -> tensor<64xf32>
  %e = graph.call_kernel @k(%d) : (tensor<64xf32>) -> tensor<64xf32>
  return %e : tensor<64xf32>
}
func.func private @k(%a: tensor<64xf32>) -> tensor<64xf32> attributes {tile.kernel} {
  %r = graph.map (%a) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    graph.yield %y : f32
  }
  return %r : tensor<64xf32>
}
