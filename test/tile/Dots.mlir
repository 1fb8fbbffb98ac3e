// RUN: perpend-opt %s --split-input-file --verify-diagnostics --cpu-lower-dots=target=x86-64-v4,+avx512vnni | FileCheck %s --check-prefixes=CHECK,VNNI
// RUN: perpend-opt %s --split-input-file --verify-diagnostics --cpu-lower-dots=target=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,PAIRS

// CHECK-LABEL: func.func @pairs
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.128"(%arg2,
// PAIRS: %[[PRODUCTS:.*]] = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%arg0, %arg1)
// PAIRS: arith.addi %arg2, %[[PRODUCTS]]
// CHECK-NOT: tile.dot
func.func @pairs(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32> {
  %0 = tile.dot %a, %b, %sums : vector<8xi16>, vector<4xi32>
  return %0 : vector<4xi32>
}

// -----

// CHECK-LABEL: func.func @pairs_in_8_lanes
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.256"(%arg2,
// PAIRS: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%arg0, %arg1)
func.func @pairs_in_8_lanes(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32> {
  %0 = tile.dot %a, %b, %sums : vector<16xi16>, vector<8xi32>
  return %0 : vector<8xi32>
}

// -----

// CHECK-LABEL: func.func @pairs_in_16_lanes
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.512"(%arg2,
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"(%arg0, %arg1)
func.func @pairs_in_16_lanes(%a: vector<32xi16>, %b: vector<32xi16>, %sums: vector<16xi32>) -> vector<16xi32> {
  %0 = tile.dot %a, %b, %sums : vector<32xi16>, vector<16xi32>
  return %0 : vector<16xi32>
}

// -----

func.func @half_words(%a: vector<8xi16>, %sums: vector<8xi32>) -> vector<8xi32> {
  // expected-error @below {{C1: expected 8 words of 32 bits, got 'vector<8xi16>'}}
  %0 = tile.dot %a, %a, %sums : vector<8xi16>, vector<8xi32>
  return %0 : vector<8xi32>
}

// -----

func.func @no_register(%a: vector<4xi16>, %sums: vector<2xi32>) -> vector<2xi32> {
  // expected-error @below {{the target has no products of 'i16' in 2 lanes; hint: pack the operands for this target (--start-from pack), in 4, 8 or 16 lanes}}
  %0 = tile.dot %a, %a, %sums : vector<4xi16>, vector<2xi32>
  return %0 : vector<2xi32>
}
