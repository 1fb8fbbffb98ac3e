// What instructions take and give stays bf16; all else are the bits.
// RUN: perpend-opt --cpu-lower-bfloat16 %s | FileCheck %s

// CHECK-LABEL: llvm.func @both(%arg0: vector<16xf32>, %arg1: vector<32xi16>) -> vector<16xi16>
// CHECK: %[[PAIRS:.*]] = llvm.bitcast %arg1 : vector<32xi16> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%arg0, %[[PAIRS]], %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>)
// CHECK: %[[NARROW:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{.*}}) : (vector<16xf32>) -> vector<16xbf16>
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[NARROW]] : vector<16xbf16> to vector<16xi16>
// CHECK: llvm.return %[[BITS]]
llvm.func @both(%sums: vector<16xf32>, %a: vector<32xbf16>) -> vector<16xbf16> {
  %next = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%sums, %a, %a)
    : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
  %r = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%next) : (vector<16xf32>) -> vector<16xbf16>
  llvm.return %r : vector<16xbf16>
}
