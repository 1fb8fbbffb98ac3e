// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory %s | FileCheck %s

// Two entries: each has a plan of its own. They share the kernel, and constants with equal bytes.
// CHECK: host.segment @[[SHARED:w[0-9]]] at 0 = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: host.entry @decode(
// CHECK: %[[W:.*]] = host.constant @[[SHARED]]
// CHECK: host.launch @k(%{{.*}}, %[[W]])
// CHECK: host.segment @[[OWN:w[0-9]]] at 64 = dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NOT: host.segment
// CHECK: host.entry @main(
// CHECK: host.buffer bytes [8] parts [1] live [0, 1] at 0
// CHECK: %[[A:.*]] = host.constant @[[SHARED]]
// CHECK: %[[B:.*]] = host.constant @[[OWN]]
// CHECK: host.launch @k(%{{.*}}, %[[A]])
// CHECK: host.launch @k(%{{.*}}, %[[B]])
// CHECK: tile.number = 0
// CHECK-NOT: tile.number
func.func @decode(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %y = graph.call_kernel @k(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %v = graph.constant dense<[3.0, 4.0]> : tensor<2xf32> : tensor<2xf32>
  %y = graph.call_kernel @k(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %z = graph.call_kernel @k(%y, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func private @k(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> attributes {tile.kernel} {
  %r = graph.map (%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    graph.yield %s : f32
  }
  return %r : tensor<2xf32>
}
