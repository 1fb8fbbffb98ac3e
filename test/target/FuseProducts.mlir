// RUN: perpend-opt --vector-fuse-products='target=x86-64-v4,+avx512vnni' %s | FileCheck %s --check-prefixes=CHECK,WORDS
// RUN: perpend-opt --vector-fuse-products='target=x86-64-v4' %s | FileCheck %s --check-prefixes=CHECK,PAIRS

// Two sums of a window of three rows and two columns, side by side: they share the words of the column between them.
// CHECK-LABEL: func.func @columns
// WORDS-COUNT-4: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// WORDS-NOT: vpdpbusd
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
func.func @columns(%x: memref<?xi8>, %w: memref<?xi8>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %c80 = arith.constant 80 : index
  %c96 = arith.constant 96 : index
  %c112 = arith.constant 112 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0> : vector<16xi32>
  %x1 = vector.load %x[%c0] : memref<?xi8>, vector<16xi8>
  %w1 = vector.load %w[%c0] : memref<?xi8>, vector<16xi8>
  %a1 = arith.extui %x1 : vector<16xi8> to vector<16xi32>
  %b1 = arith.extsi %w1 : vector<16xi8> to vector<16xi32>
  %p1 = arith.muli %a1, %b1 : vector<16xi32>
  %s1 = arith.addi %zero, %p1 : vector<16xi32>
  %x2 = vector.load %x[%c48] : memref<?xi8>, vector<16xi8>
  %w2 = vector.load %w[%c32] : memref<?xi8>, vector<16xi8>
  %a2 = arith.extui %x2 : vector<16xi8> to vector<16xi32>
  %b2 = arith.extsi %w2 : vector<16xi8> to vector<16xi32>
  %p2 = arith.muli %a2, %b2 : vector<16xi32>
  %s2 = arith.addi %s1, %p2 : vector<16xi32>
  %x3 = vector.load %x[%c96] : memref<?xi8>, vector<16xi8>
  %w3 = vector.load %w[%c64] : memref<?xi8>, vector<16xi8>
  %a3 = arith.extui %x3 : vector<16xi8> to vector<16xi32>
  %b3 = arith.extsi %w3 : vector<16xi8> to vector<16xi32>
  %p3 = arith.muli %a3, %b3 : vector<16xi32>
  %s3 = arith.addi %s2, %p3 : vector<16xi32>
  %x4 = vector.load %x[%c16] : memref<?xi8>, vector<16xi8>
  %w4 = vector.load %w[%c16] : memref<?xi8>, vector<16xi8>
  %a4 = arith.extui %x4 : vector<16xi8> to vector<16xi32>
  %b4 = arith.extsi %w4 : vector<16xi8> to vector<16xi32>
  %p4 = arith.muli %a4, %b4 : vector<16xi32>
  %s4 = arith.addi %s3, %p4 : vector<16xi32>
  %x5 = vector.load %x[%c64] : memref<?xi8>, vector<16xi8>
  %w5 = vector.load %w[%c48] : memref<?xi8>, vector<16xi8>
  %a5 = arith.extui %x5 : vector<16xi8> to vector<16xi32>
  %b5 = arith.extsi %w5 : vector<16xi8> to vector<16xi32>
  %p5 = arith.muli %a5, %b5 : vector<16xi32>
  %s5 = arith.addi %s4, %p5 : vector<16xi32>
  %x6 = vector.load %x[%c112] : memref<?xi8>, vector<16xi8>
  %w6 = vector.load %w[%c80] : memref<?xi8>, vector<16xi8>
  %a6 = arith.extui %x6 : vector<16xi8> to vector<16xi32>
  %b6 = arith.extsi %w6 : vector<16xi8> to vector<16xi32>
  %p6 = arith.muli %a6, %b6 : vector<16xi32>
  %s6 = arith.addi %s5, %p6 : vector<16xi32>
  vector.store %s6, %out[%c0] : memref<?xi32>, vector<16xi32>
  %x7 = vector.load %x[%c16] : memref<?xi8>, vector<16xi8>
  %w7 = vector.load %w[%c0] : memref<?xi8>, vector<16xi8>
  %a7 = arith.extui %x7 : vector<16xi8> to vector<16xi32>
  %b7 = arith.extsi %w7 : vector<16xi8> to vector<16xi32>
  %p7 = arith.muli %a7, %b7 : vector<16xi32>
  %s7 = arith.addi %zero, %p7 : vector<16xi32>
  %x8 = vector.load %x[%c64] : memref<?xi8>, vector<16xi8>
  %w8 = vector.load %w[%c32] : memref<?xi8>, vector<16xi8>
  %a8 = arith.extui %x8 : vector<16xi8> to vector<16xi32>
  %b8 = arith.extsi %w8 : vector<16xi8> to vector<16xi32>
  %p8 = arith.muli %a8, %b8 : vector<16xi32>
  %s8 = arith.addi %s7, %p8 : vector<16xi32>
  %x9 = vector.load %x[%c112] : memref<?xi8>, vector<16xi8>
  %w9 = vector.load %w[%c64] : memref<?xi8>, vector<16xi8>
  %a9 = arith.extui %x9 : vector<16xi8> to vector<16xi32>
  %b9 = arith.extsi %w9 : vector<16xi8> to vector<16xi32>
  %p9 = arith.muli %a9, %b9 : vector<16xi32>
  %s9 = arith.addi %s8, %p9 : vector<16xi32>
  %x10 = vector.load %x[%c32] : memref<?xi8>, vector<16xi8>
  %w10 = vector.load %w[%c16] : memref<?xi8>, vector<16xi8>
  %a10 = arith.extui %x10 : vector<16xi8> to vector<16xi32>
  %b10 = arith.extsi %w10 : vector<16xi8> to vector<16xi32>
  %p10 = arith.muli %a10, %b10 : vector<16xi32>
  %s10 = arith.addi %s9, %p10 : vector<16xi32>
  %x11 = vector.load %x[%c80] : memref<?xi8>, vector<16xi8>
  %w11 = vector.load %w[%c48] : memref<?xi8>, vector<16xi8>
  %a11 = arith.extui %x11 : vector<16xi8> to vector<16xi32>
  %b11 = arith.extsi %w11 : vector<16xi8> to vector<16xi32>
  %p11 = arith.muli %a11, %b11 : vector<16xi32>
  %s11 = arith.addi %s10, %p11 : vector<16xi32>
  %x12 = vector.load %x[%c128] : memref<?xi8>, vector<16xi8>
  %w12 = vector.load %w[%c80] : memref<?xi8>, vector<16xi8>
  %a12 = arith.extui %x12 : vector<16xi8> to vector<16xi32>
  %b12 = arith.extsi %w12 : vector<16xi8> to vector<16xi32>
  %p12 = arith.muli %a12, %b12 : vector<16xi32>
  %s12 = arith.addi %s11, %p12 : vector<16xi32>
  vector.store %s12, %out[%c16] : memref<?xi32>, vector<16xi32>
  return
}

// Nothing is shared, and signs are those of no step of bytes: one by one, or in pairs.
// CHECK-LABEL: func.func @signs
// CHECK-NOT: vpdpbusd
// CHECK: return
func.func @signs(%x: vector<16xi8>, %y: vector<16xi8>, %v: vector<16xi8>, %w: vector<16xi8>, %s: vector<16xi32>) -> vector<16xi32> {
  %a = arith.extsi %x : vector<16xi8> to vector<16xi32>
  %b = arith.extsi %v : vector<16xi8> to vector<16xi32>
  %c = arith.extsi %y : vector<16xi8> to vector<16xi32>
  %d = arith.extsi %w : vector<16xi8> to vector<16xi32>
  %p = arith.muli %a, %b : vector<16xi32>
  %q = arith.muli %c, %d : vector<16xi32>
  %t = arith.addi %s, %p : vector<16xi32>
  %u = arith.addi %t, %q : vector<16xi32>
  return %u : vector<16xi32>
}

// A sum that begins with a product has no zero: three products are one word, which lies in one register.
// CHECK-LABEL: func.func @from_products
// WORDS: vector.shuffle %{{.*}} : vector<16xi8>, vector<16xi8>
// WORDS-COUNT-1: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// WORDS-NOT: vpdpbusd
// WORDS: return
func.func @from_products(%x: memref<?xi8>, %w: memref<?xi8>) -> vector<16xi32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %x1 = vector.load %x[%c0] : memref<?xi8>, vector<16xi8>
  %w1 = vector.load %w[%c0] : memref<?xi8>, vector<16xi8>
  %a1 = arith.extui %x1 : vector<16xi8> to vector<16xi32>
  %b1 = arith.extsi %w1 : vector<16xi8> to vector<16xi32>
  %p1 = arith.muli %a1, %b1 : vector<16xi32>
  %x2 = vector.load %x[%c16] : memref<?xi8>, vector<16xi8>
  %w2 = vector.load %w[%c16] : memref<?xi8>, vector<16xi8>
  %a2 = arith.extui %x2 : vector<16xi8> to vector<16xi32>
  %b2 = arith.extsi %w2 : vector<16xi8> to vector<16xi32>
  %p2 = arith.muli %a2, %b2 : vector<16xi32>
  %s2 = arith.addi %p1, %p2 : vector<16xi32>
  %x3 = vector.load %x[%c32] : memref<?xi8>, vector<16xi8>
  %w3 = vector.load %w[%c32] : memref<?xi8>, vector<16xi8>
  %a3 = arith.extui %x3 : vector<16xi8> to vector<16xi32>
  %b3 = arith.extsi %w3 : vector<16xi8> to vector<16xi32>
  %p3 = arith.muli %a3, %b3 : vector<16xi32>
  %s3 = arith.addi %s2, %p3 : vector<16xi32>
  return %s3 : vector<16xi32>
}

// The same bytes, read with and without a sign, are two words.
// CHECK-LABEL: func.func @bytes_of_two_signs
// PAIRS-DAG: %[[X:.*]] = vector.load %arg0[%c0]
// PAIRS-DAG: %[[Y:.*]] = vector.load %arg0[%c16]
// PAIRS-DAG: %[[A:.*]] = vector.shuffle %[[X]], %[[Y]]
// PAIRS-DAG: %[[B:.*]] = vector.shuffle %[[X]], %[[Y]]
// PAIRS-DAG: arith.extui %[[A]]
// PAIRS-DAG: arith.extsi %[[B]]
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
func.func @bytes_of_two_signs(%x: memref<?xi8>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0> : vector<16xi32>
  %x1 = vector.load %x[%c0] : memref<?xi8>, vector<16xi8>
  %a1 = arith.extui %x1 : vector<16xi8> to vector<16xi32>
  %b1 = arith.extsi %x1 : vector<16xi8> to vector<16xi32>
  %p1 = arith.muli %a1, %b1 : vector<16xi32>
  %s1 = arith.addi %zero, %p1 : vector<16xi32>
  %x2 = vector.load %x[%c16] : memref<?xi8>, vector<16xi8>
  %a2 = arith.extui %x2 : vector<16xi8> to vector<16xi32>
  %b2 = arith.extsi %x2 : vector<16xi8> to vector<16xi32>
  %p2 = arith.muli %a2, %b2 : vector<16xi32>
  %s2 = arith.addi %s1, %p2 : vector<16xi32>
  vector.store %s2, %out[%c0] : memref<?xi32>, vector<16xi32>
  return
}

// A view that is stored to may be what was loaded; loads at another row are others.
// CHECK-LABEL: func.func @views
// CHECK-COUNT-4: vector.load
// CHECK: return
func.func @views(%x: memref<4x16xi8>, %new: vector<16xi8>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : vector<16xi32>
  %flat = memref.collapse_shape %x [[0, 1]] : memref<4x16xi8> into memref<64xi8>
  %x1 = vector.load %x[%c0, %c0] : memref<4x16xi8>, vector<16xi8>
  %y1 = vector.load %x[%c0, %c1] : memref<4x16xi8>, vector<16xi8>
  %a1 = arith.extui %x1 : vector<16xi8> to vector<16xi32>
  %b1 = arith.extsi %y1 : vector<16xi8> to vector<16xi32>
  %p1 = arith.muli %a1, %b1 : vector<16xi32>
  %s1 = arith.addi %zero, %p1 : vector<16xi32>
  vector.store %new, %flat[%c0] : memref<64xi8>, vector<16xi8>
  %x2 = vector.load %x[%c0, %c0] : memref<4x16xi8>, vector<16xi8>
  %y2 = vector.load %x[%c1, %c0] : memref<4x16xi8>, vector<16xi8>
  %a2 = arith.extui %x2 : vector<16xi8> to vector<16xi32>
  %b2 = arith.extsi %y2 : vector<16xi8> to vector<16xi32>
  %p2 = arith.muli %a2, %b2 : vector<16xi32>
  %s2 = arith.addi %s1, %p2 : vector<16xi32>
  vector.store %s2, %out[%c0] : memref<?xi32>, vector<16xi32>
  return
}
