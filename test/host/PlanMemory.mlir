// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory %s | FileCheck %s

// Of three buffers of 256 bytes never more than two live at once.
// CHECK: tile.arena_bytes = 512
// CHECK-SAME: tile.lifetimes = array<i64: 0, 1, 1, 2, 2, 3>
// CHECK-SAME: tile.offsets = array<i64: 0, 256, 0>
// CHECK: tile.buffers = array<i64: 0, 0, 3, 0>
// CHECK: tile.buffers = array<i64: 3, 0, 3, 1>
// The reshape is the same memory.
// CHECK-NOT: tile.offset
// CHECK: tile.buffers = array<i64: 3, 1, 3, 2>
// CHECK: tile.buffers = array<i64: 3, 2, 1, 0>
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
