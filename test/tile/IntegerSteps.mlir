// A step is the first in the intrinsic's text that the machine has.
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v4,+avx512vnni | FileCheck %s --check-prefix=VNNI
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v3,+avxvnni | FileCheck %s --check-prefix=SHORT
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v4,+avxvnni | FileCheck %s --check-prefix=HALVES
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v4 | FileCheck %s --check-prefix=WIDE
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64-v3 | FileCheck %s --check-prefix=MIDDLE
// RUN: perpend-opt %s --tile-lower-intrinsics=target=x86-64 | FileCheck %s --check-prefix=NARROW

// VNNI-LABEL: func.func private @registers_i16.block_1x16
// VNNI: vector.load {{.*}} vector<2xi16>
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.512"
// SHORT-LABEL: func.func private @registers_i16.block_1x16
// SHORT: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.256"
// HALVES-LABEL: func.func private @registers_i16.block_1x16
// HALVES-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.256"{{.*}} -> vector<8xi32>
// WIDE-LABEL: func.func private @registers_i16.block_1x16
// WIDE: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// WIDE: arith.addi
// MIDDLE-LABEL: func.func private @registers_i16.block_1x16
// MIDDLE: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// NARROW-LABEL: func.func private @registers_i16.block_1x16
// NARROW: llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"
func.func @pairs(%a: memref<?xi16>, %b: memref<?xi16>, %c: memref<?xi32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %g = arith.constant 2 : index
  %cols = arith.constant 16 : index
  %line = arith.constant 32 : index
  tile.call_intrinsic "i16.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %g, %one, %zero, %zero, %line, %g, %one, %cols, %one)
    extents(%cols, %k, %one, %one, %one) : memref<?xi16>, memref<?xi16>, memref<?xi32>
  return
}
