// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-lower-intrinsics=target=znver5 | FileCheck %s
// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-lower-intrinsics=target=x86-64-v3 | FileCheck %s --check-prefix=SLOW

// Two uses of one block share a function; a static buffer is cast. What memory brings until it answers is asked for: 35 GB/s
// are 125 lines of 16 words, 12 GB/s are 43.

// CHECK-COUNT-1: func.func private @groups_i4.groups_2x32({{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]}
// CHECK: %[[NEAR:.*]] = arith.addi %{{.*}}, %c2000
// CHECK: memref.prefetch %arg4[%[[NEAR]]], read, locality<2>, data
// CHECK-NOT: func.func private
// SLOW: %[[NEAR:.*]] = arith.addi %{{.*}}, %c688
// SLOW: memref.prefetch %arg4[%[[NEAR]]], read, locality<2>, data
// CHECK-LABEL: func.func @matmul
// CHECK: memref.cast %{{.*}} : memref<64xf32> to memref<?xf32>
// CHECK-COUNT-2: call @groups_i4.groups_2x32
// CHECK-NOT: tile.call_intrinsic
func.func @matmul(%a: memref<?xf32>, %b: memref<?xi32>, %s: memref<?xf32>, %c: memref<64xf32>, %d: memref<?xf32>, %k: index, %g: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 32 : index
  tile.call_intrinsic "i4.groups" %a, %b, %s, %c at(%zero, %zero, %zero, %zero)
    strides(%k, %k, %one, %one, %k, %cols, %one, %cols, %one, %k, %one) extents(%cols, %k, %g, %rows)
    : memref<?xf32>, memref<?xi32>, memref<?xf32>, memref<64xf32>
  tile.call_intrinsic "i4.groups" %a, %b, %s, %d at(%k, %zero, %zero, %k)
    strides(%k, %k, %one, %one, %k, %cols, %one, %cols, %one, %k, %one) extents(%cols, %k, %g, %rows)
    : memref<?xf32>, memref<?xi32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @strided(%a: memref<?x4xf32>, %b: memref<?xi32>, %s: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{expected contiguous one-dimensional buffers, got 'memref<?x4xf32>'}}
  tile.call_intrinsic "i4.groups" %a, %b, %s, %c at(%zero, %zero, %zero, %zero)
    strides(%k, %k, %one, %one, %k, %one, %one, %one, %one, %one, %one) extents(%one, %k, %one, %one)
    : memref<?x4xf32>, memref<?xi32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @rows(%a: memref<?xf32>, %b: memref<?xi32>, %s: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 65 : index
  // expected-error @below {{expected numbers of rows and columns that 'i4.groups' takes}}
  tile.call_intrinsic "i4.groups" %a, %b, %s, %c at(%zero, %zero, %zero, %zero)
    strides(%k, %k, %one, %one, %k, %one, %one, %one, %one, %one, %one) extents(%one, %k, %one, %rows)
    : memref<?xf32>, memref<?xi32>, memref<?xf32>, memref<?xf32>
  return
}
