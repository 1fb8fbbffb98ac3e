// RUN: perpend-opt %s --tile-lower-intrinsics=target=sapphirerapids | FileCheck %s
// RUN: not perpend-opt %s --tile-lower-intrinsics=target=sapphirerapids,-amx 2>&1 | FileCheck %s --check-prefix=WITHOUT

// WITHOUT: error: 'amx.i8.block' is for another machine: the target has no amx-tile, amx-int8

// Each step of a block loads four registers and multiplies four.
// CHECK-LABEL: func.func private @tiles_amx.i8.block_32x32
// CHECK-COUNT-4: "llvm.x86.tilezero"
// CHECK-COUNT-3: scf.for
// CHECK-COUNT-4: "llvm.x86.tileloadd64"
// CHECK-COUNT-4: "llvm.x86.tdpbusd"
// CHECK-NOT: "llvm.x86.t{{ilel|dp}}
// CHECK-COUNT-4: "llvm.x86.tilestored64"

// A kernel says once how many rows registers have, at its entry; calls of other rows are between two that say it again.
// Of rows that only a run knows, there are blocks, and of those that are left, one or two registers.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: %[[FULL:.*]] = arith.constant 16 : i8
// CHECK-DAG: %[[NINE:.*]] = arith.constant 9 : i8
// CHECK: call @tiles_amx.configure(%[[FULL]], %[[NINE]])
// CHECK-NOT: call @tiles_amx.configure
// CHECK: func.call @tiles_amx.i8.block_32x32
// CHECK: %[[FIVE:.*]] = arith.constant 5 : i8
// CHECK: call @tiles_amx.configure(%[[FIVE]],
// CHECK: call @tiles_amx.i8.block_16x32
// CHECK-DAG: %[[FULL:.*]] = arith.constant 16 : i8
// CHECK-DAG: %[[NINE:.*]] = arith.constant 9 : i8
// CHECK: call @tiles_amx.configure(%[[FULL]], %[[NINE]])
// CHECK: scf.for
// CHECK: func.call @tiles_amx.i8.block_32x32
// CHECK: scf.if
// CHECK-DAG: arith.minsi
// CHECK-DAG: arith.maxsi
// CHECK: call @tiles_amx.configure
// CHECK: scf.if
// CHECK-NEXT: func.call @tiles_amx.i8.block_32x32
// CHECK: else
// CHECK-NEXT: func.call @tiles_amx.i8.block_16x32
// CHECK-DAG: %[[FULL:.*]] = arith.constant 16 : i8
// CHECK-DAG: %[[NINE:.*]] = arith.constant 9 : i8
// CHECK: call @tiles_amx.configure(%[[FULL]], %[[NINE]])
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: return
func.func @rows(%a: memref<?xi8>, %b: memref<?xi8>, %c: memref<?xi32>, %k: index, %left: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rest = arith.constant 5 : index
  %rows = arith.constant 25 : index
  %g = arith.constant 4 : index
  %cols = arith.constant 32 : index
  %line = arith.constant 128 : index
  scf.for %i = %zero to %k step %one {
    tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%i, %zero, %zero) strides(%zero, %zero, %zero, %k, %g, %one, %zero, %zero, %line, %g, %one, %zero, %cols, %one)
      extents(%cols, %k, %one, %one, %one, %rows) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  }
  tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%k, %zero, %zero) strides(%zero, %zero, %zero, %k, %g, %one, %zero, %zero, %line, %g, %one, %zero, %cols, %one)
    extents(%cols, %k, %one, %one, %one, %rest) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%k, %zero, %zero) strides(%zero, %zero, %zero, %k, %g, %one, %zero, %zero, %line, %g, %one, %zero, %cols, %one)
    extents(%cols, %k, %one, %one, %one, %left) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  return
}

// Rows of several blocks take 512 of the depth at a time, as the first cache has a third of it for a panel's part; what
// follows the first part goes on with its sums. In each step, one of three pieces of the next panel is asked for.
// CHECK-LABEL: func.func @deep
// CHECK: scf.for %{{.*}} to %c3 step
// CHECK: func.call @tiles_amx.i8.block_32x32_ahead3
// CHECK: scf.for %{{.*}} = %c512{{.*}} to %c1088{{.*}} step %c512
// CHECK: scf.for
// CHECK: func.call @tiles_amx.i8.block_32x32_more_ahead3
// CHECK: call @tiles_amx.configure
// CHECK: call @tiles_amx.i8.block_16x32(
// CHECK: call @tiles_amx.configure
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: return
func.func @deep(%a: memref<?xi8>, %b: memref<?xi8>, %c: memref<?xi32>, %next: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 101 : index
  %words = arith.constant 272 : index
  %k = arith.constant 1088 : index
  %g = arith.constant 4 : index
  %cols = arith.constant 32 : index
  %line = arith.constant 128 : index
  tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %zero, %k, %g, %one, %zero, %zero, %line, %g, %one, %zero, %cols, %one)
    extents(%cols, %words, %one, %one, %one, %rows) ahead(%next in 1) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  return
}

// Of an image's lines, two are a block, the second one in the lower registers, which have as many rows. What is left is
// one line, for which the upper ones are right as they are. Of as many as only a run knows, there is one or the other.
// CHECK-LABEL: func.func @lines
// CHECK-DAG: %[[UPPER:.*]] = arith.constant 7 : i8
// CHECK-DAG: %[[LOWER:.*]] = arith.constant 7 : i8
// CHECK: call @tiles_amx.configure(%[[UPPER]], %[[LOWER]])
// CHECK-NOT: call @tiles_amx.configure
// CHECK-DAG: %[[LINE:.*]] = arith.constant 9216 : index
// CHECK-DAG: %[[SUMS:.*]] = arith.constant 224 : index
// CHECK: call @tiles_amx.i8.block_32x32({{.*}}, %[[LINE]], %[[SUMS]])
// CHECK-NOT: call @tiles_amx.configure
// CHECK: call @tiles_amx.i8.block_16x32(
// CHECK-NOT: call @tiles_amx.configure
// CHECK: scf.if
// CHECK: func.call @tiles_amx.i8.block_32x32({{.*}}, %[[LINE]], %[[SUMS]])
// CHECK: else
// CHECK: func.call @tiles_amx.i8.block_16x32({{.*}}, %[[LINE]], %[[SUMS]])
// CHECK-NOT: call @tiles_amx.configure
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: return
// CHECK: func.func private @tiles_amx.configure
// CHECK: "llvm.x86.ldtilecfg"
func.func @lines(%a: memref<?xi8>, %b: memref<?xi8>, %c: memref<?xi32>, %left: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %rows = arith.constant 7 : index
  %words = arith.constant 256 : index
  %k = arith.constant 1024 : index
  %g = arith.constant 4 : index
  %cols = arith.constant 32 : index
  %line = arith.constant 128 : index
  %ofImage = arith.constant 9216 : index
  %ofSums = arith.constant 224 : index
  tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%zero, %zero, %zero) strides(%ofImage, %k, %ofImage, %k, %g, %one, %zero, %zero, %line, %g, %one, %ofSums, %cols, %one)
    extents(%cols, %words, %three, %two, %three, %rows) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%zero, %zero, %zero) strides(%ofImage, %k, %ofImage, %k, %g, %one, %zero, %zero, %line, %g, %one, %ofSums, %cols, %one)
    extents(%cols, %words, %three, %one, %three, %rows) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  tile.call_intrinsic "amx.i8.block" %a, %b, %c at(%zero, %zero, %zero) strides(%ofImage, %k, %ofImage, %k, %g, %one, %zero, %zero, %line, %g, %one, %ofSums, %cols, %one)
    extents(%cols, %words, %three, %left, %three, %rows) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  return
}
