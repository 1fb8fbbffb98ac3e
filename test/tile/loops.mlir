// Loops that an optimiser can vectorise.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --canonicalize %s | FileCheck %s

// The row of pixels is divided where the padding begins and ends; three channels are no loop.
// CHECK-LABEL: func.func private @colours
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK: scf.for
// CHECK-COUNT-3: memref.store
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[C8]]
// CHECK-NOT: scf.for
// CHECK-COUNT-6: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func private @colours(%a: tensor<1x3x64x8xf32>) -> tensor<1x64x10x3xf32> attributes {tile.kernel} {
  %0 = graph.pad %a <[0, 0, 0, 1]> 0.000000e+00 : f32 : tensor<1x3x64x8xf32> -> tensor<1x3x64x10xf32>
  %1 = graph.transpose %0 [0, 2, 3, 1] : tensor<1x3x64x10xf32> -> tensor<1x64x10x3xf32>
  return %1 : tensor<1x64x10x3xf32>
}

// Whether it is a number is asked of the new element alone; which zero is the greater one is not asked.
// CHECK-LABEL: func.func private @pool
// What a local buffer held is known everywhere: there is none.
// CHECK-NOT: memref.alloca
// CHECK: %[[FIRST:.*]] = vector.load %arg0
// CHECK: arith.maximumf %{{.*}}, %[[FIRST]] fastmath<nsz>
func.func private @pool(%a: tensor<1x64x8x32xf32>) -> tensor<1x64x4x32xf32> attributes {tile.kernel} {
  %0 = graph.window_reduce max %a window [1, 1, 2, 1] strides [1, 1, 2, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x64x8x32xf32> -> tensor<1x64x4x32xf32>
  return %0 : tensor<1x64x4x32xf32>
}

// The loop inside of a unit is the one to vectorise.
// CHECK-LABEL: func.func private @pairs
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-COUNT-2: memref.store
// CHECK: return
func.func private @pairs(%a: tensor<2x4096xf32>) -> tensor<4096x2xf32> attributes {tile.kernel} {
  %0 = graph.transpose %a [1, 0] : tensor<2x4096xf32> -> tensor<4096x2xf32>
  return %0 : tensor<4096x2xf32>
}
