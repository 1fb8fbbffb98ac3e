// RUN: perpend-opt --graph-place-calls %s | FileCheck %s
// RUN: same-values %s graph-place-calls

// Eight lines side by side, then these with the last three.
// CHECK-LABEL: func.func @sums
// CHECK: graph.reduce sum %{{.*}} dims [0] : tensor<500x40xf32> -> tensor<40xf32>
// CHECK: graph.concat
// CHECK: graph.reduce sum %{{.*}} dims [0] : tensor<11x5xf32> -> tensor<5xf32>
func.func @sums(%x: tensor<4003x5xf32>) -> tensor<5xf32> {
  %r = graph.reduce sum %x dims [0] : tensor<4003x5xf32> -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// Leading dimensions are one, and so are the others.
// CHECK-LABEL: func.func @several
// CHECK: graph.reduce max %{{.*}} dims [0] : tensor<500x48xf32> -> tensor<48xf32>
// CHECK-NOT: graph.concat
// CHECK: graph.reduce max %{{.*}} dims [0] : tensor<8x6xf32> -> tensor<6xf32>
// CHECK: graph.reshape %{{.*}} -> tensor<2x3xf32>
func.func @several(%x: tensor<40x100x2x3xf32>) -> tensor<2x3xf32> {
  %r = graph.reduce max %x dims [0, 1] : tensor<40x100x2x3xf32> -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// Few elements, wide lines, one column, other dimensions, narrow types, and operands that are computed stay.
// CHECK-LABEL: func.func @kernels
// CHECK-COUNT-6: graph.reduce {{.*}} dims [{{[01]}}] : tensor<{{(1000x5|2000x17|20000x1|5x8000|20000x5)x}}
// CHECK-NOT: graph.reduce
func.func @kernels(%a: tensor<1000x5xf32>, %b: tensor<2000x17xf32>, %c: tensor<20000x1xf32>, %d: tensor<5x8000xf32>,
                   %e: tensor<20000x5xf16>, %f: tensor<20000x5xf32>)
    -> (tensor<5xf32>, tensor<17xf32>, tensor<1xf32>, tensor<5xf32>, tensor<5xf16>, tensor<5xf32>) {
  %0 = graph.reduce sum %a dims [0] : tensor<1000x5xf32> -> tensor<5xf32>
  %1 = graph.reduce sum %b dims [0] : tensor<2000x17xf32> -> tensor<17xf32>
  %2 = graph.reduce sum %c dims [0] : tensor<20000x1xf32> -> tensor<1xf32>
  %3 = graph.reduce sum %d dims [1] : tensor<5x8000xf32> -> tensor<5xf32>
  %4 = graph.reduce sum %e dims [0] : tensor<20000x5xf16> -> tensor<5xf16>
  %5 = graph.map (%f) : (tensor<20000x5xf32>) -> tensor<20000x5xf32> {
  ^bb0(%s: f32):
    %square = arith.mulf %s, %s : f32
    graph.yield %square : f32
  }
  %6 = graph.reduce sum %5 dims [0] : tensor<20000x5xf32> -> tensor<5xf32>
  return %0, %1, %2, %3, %4, %6 : tensor<5xf32>, tensor<17xf32>, tensor<1xf32>, tensor<5xf32>, tensor<5xf16>, tensor<5xf32>
}
