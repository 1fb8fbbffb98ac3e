// RUN: perpend-opt --graph-place-transposes %s | FileCheck %s
// RUN: same-values %s 'func.func(graph-place-transposes)'

#a = #graph.shape<["n", 3, 5]>
#t = #graph.shape<[5, "n", 3]>

// Transposes go behind the operator, meet the one there, and are gone; the broadcast costs nothing in the other order.
// CHECK-LABEL: func.func @meet
// CHECK: %[[B:.*]] = graph.broadcast %arg1 dims [1] : tensor<3xf32> -> tensor<?x3x5xf32
// CHECK: %[[R:.*]] = graph.map (%arg0, %[[B]])
// CHECK-NOT: graph.transpose
// CHECK: return %[[R]]
func.func @meet(%a: tensor<?x3x5xf32, #a>, %c: tensor<3xf32>) -> tensor<?x3x5xf32, #a> {
  %x = graph.transpose %a [2, 0, 1] : tensor<?x3x5xf32, #a> -> tensor<5x?x3xf32, #t>
  %z = graph.broadcast %c dims [2] : tensor<3xf32> -> tensor<5x?x3xf32, #t>
  %m = graph.map (%x, %z) : (tensor<5x?x3xf32, #t>, tensor<5x?x3xf32, #t>) -> tensor<5x?x3xf32, #t> {
  ^bb0(%p: f32, %s: f32):
    %u = arith.mulf %p, %s : f32
    graph.yield %u : f32
  }
  %r = graph.transpose %m [1, 2, 0] : tensor<5x?x3xf32, #t> -> tensor<?x3x5xf32, #a>
  return %r : tensor<?x3x5xf32, #a>
}

// An operand that would have to be transposed for it keeps the transpose where it is.
// CHECK-LABEL: func.func @other_order
// CHECK: %[[T:.*]] = graph.transpose %arg0
// CHECK: graph.map (%[[T]], %arg1)
func.func @other_order(%a: tensor<3x5xf32>, %b: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %x = graph.transpose %a [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %m = graph.map (%x, %b) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32> {
  ^bb0(%p: f32, %s: f32):
    %u = arith.subf %p, %s : f32
    graph.yield %u : f32
  }
  return %m : tensor<5x3xf32>
}

// Views take their attributes along in the other order.
// CHECK-LABEL: func.func @views
// CHECK: %[[S:.*]] = graph.slice %arg0 <[1, 0]> [2, 1] : tensor<5x3xf32> -> tensor<2x3xf32>
// CHECK: %[[P:.*]] = graph.pad %[[S]] <[2, 1]> 5.000000e-01 : f32 : tensor<2x3xf32> -> tensor<5x4xf32>
// CHECK: %[[C:.*]] = graph.concat %[[P]], %[[P]] axis 1
// CHECK: %[[T:.*]] = graph.transpose %[[C]] [1, 0]
// CHECK: return %[[T]]
func.func @views(%a: tensor<5x3xf32>) -> tensor<8x5xf32> {
  %x = graph.transpose %a [1, 0] : tensor<5x3xf32> -> tensor<3x5xf32>
  %s = graph.slice %x <[0, 1]> [1, 2] : tensor<3x5xf32> -> tensor<3x2xf32>
  %p = graph.pad %s <[1, 2]> 0.5 : f32 : tensor<3x2xf32> -> tensor<4x5xf32>
  %c = graph.concat %p, %p axis 0 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  return %c : tensor<8x5xf32>
}

// Windows, too.
// CHECK-LABEL: func.func @windows
// CHECK: %[[W:.*]] = graph.window_reduce max %arg0 window [3, 1] strides [2, 1] pad [1, 0] dilations [1, 1] : tensor<7x3xf32> -> tensor<4x3xf32>
// CHECK: %[[T:.*]] = graph.transpose %[[W]] [1, 0]
// CHECK: return %[[T]]
func.func @windows(%a: tensor<7x3xf32>) -> tensor<3x4xf32> {
  %x = graph.transpose %a [1, 0] : tensor<7x3xf32> -> tensor<3x7xf32>
  %w = graph.window_reduce max %x window [1, 3] strides [1, 2] pad [0, 1] dilations [1, 1] : tensor<3x7xf32> -> tensor<3x4xf32>
  return %w : tensor<3x4xf32>
}

// A reduction may leave no order to restore.
// CHECK-LABEL: func.func @reduce
// CHECK-NEXT: %[[R:.*]] = graph.reduce sum %arg0 dims [1, 2]
// CHECK-NEXT: return %[[R]]
func.func @reduce(%a: tensor<2x3x5xf32>) -> tensor<2xf32> {
  %x = graph.transpose %a [2, 0, 1] : tensor<2x3x5xf32> -> tensor<5x2x3xf32>
  %r = graph.reduce sum %x dims [0, 2] : tensor<5x2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// Two operands that are free in any order do not chase each other's transposes for ever.
// CHECK-LABEL: func.func @free_operands
// CHECK: graph.map
func.func @free_operands(%a: tensor<3x2xf32>, %x: tensor<7xf32>) -> tensor<2x3x7xf32> {
  %t = graph.transpose %a [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %b = graph.broadcast %t dims [1, 2] : tensor<2x3xf32> -> tensor<7x2x3xf32>
  %c = graph.transpose %b [1, 2, 0] : tensor<7x2x3xf32> -> tensor<2x3x7xf32>
  %d = graph.broadcast %x dims [2] : tensor<7xf32> -> tensor<2x3x7xf32>
  %r = graph.map (%c, %d) : (tensor<2x3x7xf32>, tensor<2x3x7xf32>) -> tensor<2x3x7xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    graph.yield %s : f32
  }
  return %r : tensor<2x3x7xf32>
}

#i = #graph.shape<["n", "h", "w", 32]>
#c = #graph.shape<["n", 32, "h", "w"]>
#f = #graph.shape<["n", 32, "h * w"]>
#r = #graph.shape<["n", "h * w", 32]>

// A reshape that merges, or divides, what are neighbours before the transpose, too.
// CHECK-LABEL: func.func @merged
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : tensor<?x?x?x32xf32, {{.*}}> -> tensor<?x?x32xf32
// CHECK-NEXT: return %[[R]]
func.func @merged(%a: tensor<?x?x?x32xf32, #i>) -> tensor<?x?x32xf32, #r> {
  %x = graph.transpose %a [0, 3, 1, 2] : tensor<?x?x?x32xf32, #i> -> tensor<?x32x?x?xf32, #c>
  %y = graph.reshape %x : tensor<?x32x?x?xf32, #c> -> tensor<?x32x?xf32, #f>
  %z = graph.transpose %y [0, 2, 1] : tensor<?x32x?xf32, #f> -> tensor<?x?x32xf32, #r>
  return %z : tensor<?x?x32xf32, #r>
}

// CHECK-LABEL: func.func @divided
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : tensor<1x24x5xf32> -> tensor<1x4x6x5xf32>
// CHECK-NEXT: return %[[R]]
func.func @divided(%a: tensor<1x24x5xf32>) -> tensor<1x4x6x5xf32> {
  %x = graph.transpose %a [0, 2, 1] : tensor<1x24x5xf32> -> tensor<1x5x24xf32>
  %y = graph.reshape %x : tensor<1x5x24xf32> -> tensor<1x5x4x6xf32>
  %z = graph.transpose %y [0, 2, 3, 1] : tensor<1x5x4x6xf32> -> tensor<1x4x6x5xf32>
  return %z : tensor<1x4x6x5xf32>
}

// What a reshape merges across stays.
// CHECK-LABEL: func.func @apart
// CHECK: graph.transpose %arg0 [1, 0]
// CHECK-NEXT: graph.reshape
func.func @apart(%a: tensor<4x5xf32>) -> tensor<20xf32> {
  %x = graph.transpose %a [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  %y = graph.reshape %x : tensor<5x4xf32> -> tensor<20xf32>
  return %y : tensor<20xf32>
}

// Equal extents in another order are other elements.
// CHECK-LABEL: func.func @swapped
// CHECK: graph.transpose
func.func @swapped(%a: tensor<4x4x5xf32>) -> tensor<4x20xf32> {
  %x = graph.transpose %a [0, 2, 1] : tensor<4x4x5xf32> -> tensor<4x5x4xf32>
  %y = graph.reshape %x : tensor<4x5x4xf32> -> tensor<4x20xf32>
  return %y : tensor<4x20xf32>
}

// Gathers keep their indices: one dimension of these, or two, in place of the axis. A gather of one element stays.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[G:.*]] = graph.gather %arg0[%{{.*}}] axis 1 : (tensor<2x3x4x5xf32>, tensor<7xi32>) -> tensor<2x7x4x5xf32>
// CHECK: graph.transpose %[[G]] [0, 3, 1, 2]
// CHECK: %[[H:.*]] = graph.gather %arg0[%{{.*}}] axis 2 : (tensor<2x3x4x5xf32>, tensor<6x2xi32>) -> tensor<2x3x6x2x5xf32>
// CHECK: graph.transpose %[[H]] [0, 4, 1, 2, 3]
// CHECK: graph.gather %{{.*}}[%{{.*}}] axis 1 : (tensor<2x5x3x4xf32>, tensor<i32>) -> tensor<2x3x4xf32>
// CHECK: return
func.func @gathers(%x: tensor<2x3x4x5xf32>) -> (tensor<2x5x7x4xf32>, tensor<2x5x3x6x2xf32>, tensor<2x3x4xf32>) {
  %i = graph.constant dense<[2, 0, 1, 1, 2, 2, 0]> : tensor<7xi32> : tensor<7xi32>
  %j = graph.constant dense<[[0, 1], [2, 3], [3, 3], [1, 0], [2, 2], [0, 3]]> : tensor<6x2xi32> : tensor<6x2xi32>
  %k = graph.constant dense<3> : tensor<i32> : tensor<i32>
  %t = graph.transpose %x [0, 3, 1, 2] : tensor<2x3x4x5xf32> -> tensor<2x5x3x4xf32>
  %g = graph.gather %t[%i] axis 2 : (tensor<2x5x3x4xf32>, tensor<7xi32>) -> tensor<2x5x7x4xf32>
  %h = graph.gather %t[%j] axis 3 : (tensor<2x5x3x4xf32>, tensor<6x2xi32>) -> tensor<2x5x3x6x2xf32>
  %o = graph.gather %t[%k] axis 1 : (tensor<2x5x3x4xf32>, tensor<i32>) -> tensor<2x3x4xf32>
  return %g, %h, %o : tensor<2x5x7x4xf32>, tensor<2x5x3x6x2xf32>, tensor<2x3x4xf32>
}
