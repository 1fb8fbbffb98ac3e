// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-lower-ukernels | FileCheck %s
// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-lower-ukernels=target=x86-64-v3 | FileCheck %s --check-prefix=NARROW

// Two uses of one block share a function; a static buffer is cast.

// CHECK-COUNT-1: func.func private @ukernel_f32_2x32({{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]}
// CHECK-NOT: func.func private
// Four accumulators and four sets of them, through the window and the depth.
// CHECK-COUNT-3: :16 = scf.for
// CHECK: memref.prefetch
// CHECK-COUNT-2: vector.load {{.*}} vector<16xf32>
// CHECK: memref.load
// CHECK: vector.broadcast
// CHECK: vector.fma
// CHECK-COUNT-4: vector.store {{.*}} vector<16xf32>
// CHECK-LABEL: func.func @matmul
// CHECK: memref.cast %{{.*}} : memref<64xf32> to memref<?xf32>
// CHECK: call @ukernel_f32_2x32
// CHECK: call @ukernel_f32_2x32
// CHECK-NOT: tile.ukernel

// Sixteen registers leave no room for a second set.
// NARROW-LABEL: func.func private @ukernel_f32_2x32
// NARROW-COUNT-3: :8 = scf.for
func.func @matmul(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<64xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stride = arith.constant 32 : index
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %stride] depth %k window(%one, %one) steps(%zero, %zero)(%zero, %zero) block 2 x 32
    : memref<?xf32>, memref<?xf32>, memref<64xf32>
  tile.ukernel %a[%k, %k], %b[%zero], %c[%zero, %stride] depth %k window(%one, %one) steps(%zero, %zero)(%zero, %zero) block 2 x 32
    : memref<?xf32>, memref<?xf32>, memref<64xf32>
  return
}

// -----

// Columns that do not fill the registers: the widest vector that divides them.

// CHECK: func.func private @ukernel_f32_1x8
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: func.func private @ukernel_f32_1x24
// CHECK-COUNT-3: vector.load {{.*}} vector<8xf32>
func.func @narrow(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %k] depth %k window(%k, %k) steps(%zero, %zero)(%zero, %zero) block 1 x 24
    : memref<?xf32>, memref<?xf32>, memref<?xf32>
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %k] depth %k window(%k, %k) steps(%zero, %zero)(%zero, %zero) block 1 x 8
    : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

// One column: lanes along the depth, then four words of it, then single ones.

// CHECK: func.func private @ukernel_f32_3x1
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-4: vector.load {{.*}} vector<16xf32>
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: vector.insert_strided_slice
// CHECK: vector.load {{.*}} vector<1xf32>
// CHECK-COUNT-3: vector.reduction <add>
func.func @column(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %one] depth %k window(%one, %one) steps(%zero, %zero)(%zero, %zero) block 3 x 1
    : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @strided(%a: memref<?x4xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  // expected-error @below {{expected contiguous one-dimensional buffers, got 'memref<?x4xf32>'; hint: address a part of a buffer by the offset operands}}
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %k] depth %k window(%k, %k) steps(%zero, %zero)(%zero, %zero) block 1 x 24
    : memref<?x4xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @types(%a: memref<?xf64>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  // expected-error @below {{C3: expected buffers of f32, or words of two i16 or four i8 with sums of i32, got 'f64', 'f32' and 'f32' in words of 1}}
  tile.ukernel %a[%zero, %k], %b[%zero], %c[%zero, %k] depth %k window(%k, %k) steps(%zero, %zero)(%zero, %zero) block 1 x 24
    : memref<?xf64>, memref<?xf32>, memref<?xf32>
  return
}
