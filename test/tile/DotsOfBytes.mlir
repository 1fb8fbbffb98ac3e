// RUN: perpend-opt %s --cpu-lower-dots=target=x86-64-v4,+avx512vnni | FileCheck %s
// RUN: not perpend-opt %s --cpu-lower-dots=target=x86-64-v4 2>&1 | FileCheck %s --check-prefix=WITHOUT

// WITHOUT: the target has no products of 'i8' in 4 lanes; hint: pack the operands for this target (--start-from pack), or compile for one with VNNI

// CHECK-LABEL: func.func @in_4_lanes
// CHECK: %[[LEFT:.*]] = vector.bitcast %arg0 : vector<16xi8> to vector<4xi32>
// CHECK: %[[RIGHT:.*]] = vector.bitcast %arg1 : vector<16xi8> to vector<4xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%arg2, %[[LEFT]], %[[RIGHT]])
func.func @in_4_lanes(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32> {
  %0 = tile.dot %a, %b, %sums : vector<16xi8>, vector<4xi32>
  return %0 : vector<4xi32>
}

// CHECK-LABEL: func.func @in_8_lanes
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%arg2,
func.func @in_8_lanes(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32> {
  %0 = tile.dot %a, %b, %sums : vector<32xi8>, vector<8xi32>
  return %0 : vector<8xi32>
}

// CHECK-LABEL: func.func @in_16_lanes
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%arg2,
func.func @in_16_lanes(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32> {
  %0 = tile.dot %a, %b, %sums : vector<64xi8>, vector<16xi32>
  return %0 : vector<16xi32>
}
