// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v4,+avx512vnni | FileCheck %s --check-prefix=VNNI
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v3,+avxvnni | FileCheck %s --check-prefix=SHORT
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v4,+avxvnni | FileCheck %s --check-prefix=HALVES
// RUN: not perpend-opt %s --tile-lower-intrinsics=target=x86-64-v3 2>&1 | FileCheck %s --check-prefix=WITHOUT

// WITHOUT: error: 'i8.block' is for another machine: the target has no avxvnni, nor avx512vl, avx512vnni
// A word is four bytes of a, times four of each column of b.
// VNNI-LABEL: func.func private @registers_i8.block_1x16
// VNNI: vector.load {{.*}} vector<64xi8>
// VNNI: vector.load {{.*}} vector<4xi8>
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// SHORT-LABEL: func.func private @registers_i8.block_1x16
// SHORT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
// HALVES-LABEL: func.func private @registers_i8.block_1x16
// HALVES-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"{{.*}} -> vector<8xi32>
func.func @bytes(%a: memref<?xi8>, %b: memref<?xi8>, %c: memref<?xi32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %g = arith.constant 4 : index
  %cols = arith.constant 16 : index
  %line = arith.constant 64 : index
  tile.call_intrinsic "i8.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %g, %one, %zero, %zero, %line, %g, %one, %cols, %one)
    extents(%cols, %k, %one, %one, %one) : memref<?xi8>, memref<?xi8>, memref<?xi32>
  return
}
