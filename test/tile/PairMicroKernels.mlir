// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64-v4,+avx512vnni --cpu-lower-dots=target=x86-64-v4,+avx512vnni | FileCheck %s --check-prefixes=CHECK,VNNI
// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64-v4 --cpu-lower-dots=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64-v3 --cpu-lower-dots=target=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,MIDDLE
// RUN: perpend-opt %s --tile-lower-ukernels=target=x86-64 --cpu-lower-dots=target=x86-64 | FileCheck %s --check-prefixes=CHECK,NARROW

// CHECK-LABEL: func.func private @ukernel_i16_1x16
// CHECK: vector.load {{.*}} vector<2xi16>
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.512"
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// MIDDLE: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// NARROW: llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"
func.func @pairs(%a: memref<?xi16>, %b: memref<?xi16>, %c: memref<?xi32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %k] depth %k window(%one, %one) steps(%zero, %zero)(%zero, %zero) block 1 x 16 group 2
    : memref<?xi16>, memref<?xi16>, memref<?xi32>
  return
}
