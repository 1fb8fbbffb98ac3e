// RUN: perpend-opt --graph-place-small-transposes %s | FileCheck %s
// RUN: same-values %s 'func.func(graph-place-small-transposes)'

// The image is transposed before it is enlarged; its vectors follow.
// CHECK-LABEL: func.func @resized
// CHECK: %[[T:.*]] = graph.transpose %arg0 [0, 3, 1, 2] : tensor<1x4x5x6xf32> -> tensor<1x6x4x5xf32>
// CHECK-DAG: %[[A:.*]] = graph.gather %[[T]][%{{.*}}] axis 2
// CHECK-DAG: %[[B:.*]] = graph.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<1x6x16x5xf32>
// CHECK: %[[M:.*]] = graph.map (%[[A]], %[[B]])
// CHECK: return %[[M]]
func.func @resized(%x: tensor<1x4x5x6xf32>, %f: tensor<16xf32>) -> tensor<1x6x16x5xf32> {
  %i = graph.constant dense<[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]> : tensor<16xi32> : tensor<16xi32>
  %a = graph.gather %x[%i] axis 1 : (tensor<1x4x5x6xf32>, tensor<16xi32>) -> tensor<1x16x5x6xf32>
  %b = graph.broadcast %f dims [1] : tensor<16xf32> -> tensor<1x16x5x6xf32>
  %m = graph.map (%a, %b) : (tensor<1x16x5x6xf32>, tensor<1x16x5x6xf32>) -> tensor<1x16x5x6xf32> {
  ^bb0(%p: f32, %s: f32):
    %u = arith.mulf %p, %s : f32
    graph.yield %u : f32
  }
  %t = graph.transpose %m [0, 3, 1, 2] : tensor<1x16x5x6xf32> -> tensor<1x6x16x5xf32>
  return %t : tensor<1x6x16x5xf32>
}

// So is one that is padded, or put beside others; sums over what was gathered disappear again.
// CHECK-LABEL: func.func @others
// CHECK: %[[X:.*]] = graph.transpose %arg0 [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
// CHECK: %[[P:.*]] = graph.pad %[[X]] <[2, 1]> 5.000000e-01 : f32 : tensor<2x3xf32> -> tensor<7x5xf32>
// CHECK: %[[Y:.*]] = graph.transpose %arg0 [1, 0]
// CHECK: %[[G:.*]] = graph.gather %[[Y]][%{{.*}}] axis 1 : (tensor<2x3xf32>, tensor<9x2xi32>) -> tensor<2x9x2xf32>
// CHECK: %[[S:.*]] = graph.reduce sum %[[G]] dims [2] : tensor<2x9x2xf32> -> tensor<2x9xf32>
// CHECK: return %[[P]], %[[S]]
func.func @others(%x: tensor<3x2xf32>) -> (tensor<7x5xf32>, tensor<2x9xf32>) {
  %i = graph.constant dense<[[0, 1], [1, 1], [2, 0], [0, 0], [1, 2], [2, 2], [0, 1], [2, 1], [0, 2]]> : tensor<9x2xi32> : tensor<9x2xi32>
  %p = graph.pad %x <[1, 2]> 0.5 : f32 : tensor<3x2xf32> -> tensor<5x7xf32>
  %s = graph.transpose %p [1, 0] : tensor<5x7xf32> -> tensor<7x5xf32>
  %g = graph.gather %x[%i] axis 0 : (tensor<3x2xf32>, tensor<9x2xi32>) -> tensor<9x2x2xf32>
  %r = graph.reduce sum %g dims [1] : tensor<9x2x2xf32> -> tensor<9x2xf32>
  %t = graph.transpose %r [1, 0] : tensor<9x2xf32> -> tensor<2x9xf32>
  return %s, %t : tensor<7x5xf32>, tensor<2x9xf32>
}

// What others read, or what becomes smaller, stays.
// CHECK-LABEL: func.func @stay
// CHECK: %[[A:.*]] = graph.gather %arg0[%{{.*}}] axis 0
// CHECK: graph.transpose %[[A]]
// CHECK: %[[B:.*]] = graph.gather %arg0[%{{.*}}] axis 0
// CHECK: graph.transpose %[[B]]
func.func @stay(%x: tensor<3x2xf32>) -> (tensor<9x2xf32>, tensor<2x9xf32>, tensor<2x2xf32>) {
  %i = graph.constant dense<[0, 0, 0, 1, 1, 1, 2, 2, 2]> : tensor<9xi32> : tensor<9xi32>
  %j = graph.constant dense<[2, 1]> : tensor<2xi32> : tensor<2xi32>
  %a = graph.gather %x[%i] axis 0 : (tensor<3x2xf32>, tensor<9xi32>) -> tensor<9x2xf32>
  %s = graph.transpose %a [1, 0] : tensor<9x2xf32> -> tensor<2x9xf32>
  %b = graph.gather %x[%j] axis 0 : (tensor<3x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  %t = graph.transpose %b [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  return %a, %s, %t : tensor<9x2xf32>, tensor<2x9xf32>, tensor<2x2xf32>
}
