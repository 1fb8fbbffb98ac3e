// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64-v4,+avx512vnni --cpu-lower-dots=target=x86-64-v4,+avx512vnni | FileCheck %s --check-prefix=VNNI
// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64-v3,+avxvnni --cpu-lower-dots=target=x86-64-v3,+avxvnni | FileCheck %s --check-prefix=SHORT
// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64-v4,+avxvnni --cpu-lower-dots=target=x86-64-v4,+avxvnni | FileCheck %s --check-prefix=HALVES
// RUN: not perpend-opt %s --tile-lower-ukernels=target=x86-64-v3 --cpu-lower-dots=target=x86-64-v3 2>&1 | FileCheck %s --check-prefix=PAIRS

// A step multiplies words: four bytes of a with four of each column of b.
// VNNI-LABEL: func.func private @ukernel_i8_1x16
// VNNI: vector.load {{.*}} vector<64xi8>
// VNNI: vector.load {{.*}} vector<4xi8>
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// SHORT-LABEL: func.func private @ukernel_i8_1x16
// SHORT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
// HALVES-LABEL: func.func private @ukernel_i8_1x16
// HALVES-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"{{.*}} -> vector<8xi32>
// PAIRS: error: 'tile.dot' op the target has no products of 'i8' in 8 lanes; hint: pack the operands for this target
func.func @bytes(%a: memref<?xi8>, %b: memref<?xi8>, %c: memref<?xi32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %k] depth %k window(%one, %one) steps(%zero, %zero)(%zero, %zero) block 1 x 16 group 4
    : memref<?xi8>, memref<?xi8>, memref<?xi32>
  return
}
