// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-lower-intrinsics | FileCheck %s
// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-lower-intrinsics=target=x86-64-v3 | FileCheck %s --check-prefix=NARROW

// Two uses of one block share a function; a static buffer is cast.

// CHECK-COUNT-1: func.func private @registers_f32.block_2x32({{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]}
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
// CHECK: call @registers_f32.block_2x32
// CHECK: call @registers_f32.block_2x32
// CHECK-NOT: tile.call_intrinsic

// Sixteen registers leave no room for a second set.
// NARROW-LABEL: func.func private @registers_f32.block_2x32
// NARROW-COUNT-3: :8 = scf.for
func.func @matmul(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<64xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 32 : index
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %k, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<64xf32>
  tile.call_intrinsic "f32.block" %a, %b, %c at(%k, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %k, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<64xf32>
  return
}

// -----

// Rows of a panel that lie apart, as those of a cache, have a function of their own, which takes their distance.

// CHECK-LABEL: func.func private @registers_f32.block_2x32_apart
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?xf32>, {{.*}}, %[[DISTANCE:[a-z0-9]+]]: index) attributes
// CHECK: arith.muli %{{.*}}, %[[DISTANCE]]
// CHECK-LABEL: func.func @apart
// CHECK: call @registers_f32.block_2x32_apart({{.*}}, %arg4)
func.func @apart(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<64xf32>, %k: index, %distance: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 32 : index
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %distance, %one, %cols, %one)
    extents(%cols, %k, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<64xf32>
  return
}

// -----

// Of a depth of 21, the body has 7 steps, so that none are left for a loop of single ones. A depth that four divides, one
// that is long, and one of a prime number of steps have the function of any depth.

// CHECK-LABEL: func.func private @registers_f32.block_2x16(
// CHECK-LABEL: func.func private @registers_f32.block_2x16_depth21
// CHECK: %[[DEPTH:.*]] = arith.constant 21 : index
// CHECK: arith.divui %[[DEPTH]], %c7
// CHECK-COUNT-14: vector.fma
// CHECK-NOT: vector.fma
// CHECK-LABEL: func.func @depths
// CHECK: call @registers_f32.block_2x16_depth21
// CHECK-COUNT-3: call @registers_f32.block_2x16(
func.func @depths(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 16 : index
  %odd = arith.constant 21 : index
  %four = arith.constant 20 : index
  %long = arith.constant 35 : index
  %prime = arith.constant 13 : index
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %odd, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %four, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %long, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %prime, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

// Rows of f16 are extended a vector at a time into local memory, from which words are broadcast.

// CHECK-LABEL: func.func private @registers_f16.rows.block_2x16
// CHECK: %[[LOCAL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32xf32>
// CHECK: %[[WORDS:.*]] = vector.load {{.*}} : memref<?xf16>, vector<16xf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[WORDS]]
// CHECK: vector.store %[[WIDE]], %[[LOCAL]]
// CHECK: %[[WORD:.*]] = memref.load %[[LOCAL]]
// CHECK: vector.broadcast %[[WORD]] : f32 to vector<16xf32>
func.func @extended(%a: memref<?xf16>, %b: memref<?xf32>, %c: memref<32xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 16 : index
  tile.call_intrinsic "f16.rows.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %cols, %one)
    extents(%cols, %k, %one, %one, %rows) : memref<?xf16>, memref<?xf32>, memref<32xf32>
  return
}

// -----

// Columns that do not fill the registers: the widest vector that divides them.

// CHECK: func.func private @registers_f32.block_1x24
// CHECK-COUNT-3: vector.load {{.*}} vector<8xf32>
func.func @narrow(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %cols = arith.constant 24 : index
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %k, %one)
    extents(%cols, %k, %k, %k, %one) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

// Of four parts of what is to be asked for, one: for each line that is read, a quarter of one, so one in four steps.

// CHECK-LABEL: func.func private @registers_f32.block_8x16_ahead4
// CHECK: %[[READ:.*]] = arith.subi %{{.*}}, %arg4
// CHECK: %[[QUARTER:.*]] = arith.divui %[[READ]], %c4
// CHECK: %[[ASKED:.*]] = arith.addi %arg15, %[[QUARTER]]
// CHECK: memref.prefetch %arg3[%[[ASKED]]], read, locality<2>, data
// CHECK-NOT: locality<2>
func.func @ahead(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %cols = arith.constant 16 : index
  %rows = arith.constant 8 : index
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %cols, %one, %k, %one)
    extents(%cols, %k, %one, %one, %rows) ahead(%k in 5) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

// One column: lanes along the depth, then four words of it, then single ones.

// CHECK: func.func private @registers_f32.block_3x1
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-4: vector.load {{.*}} vector<16xf32>
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: vector.insert_strided_slice
// CHECK: vector.load {{.*}} vector<1xf32>
// CHECK-COUNT-3: vector.reduction <add>
func.func @column(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = arith.constant 3 : index
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %one, %one, %one, %one)
    extents(%one, %k, %one, %one, %rows) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @strided(%a: memref<?x4xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{expected contiguous one-dimensional buffers, got 'memref<?x4xf32>'}}
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %one, %one, %one, %one)
    extents(%one, %k, %one, %one, %one) : memref<?x4xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @rows(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{expected numbers of rows and columns that 'f32.block' takes}}
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %one, %one, %one, %one)
    extents(%one, %k, %one, %one, %k) : memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @types(%a: memref<?xf64>, %b: memref<?xf32>, %c: memref<?xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{'f32.block' takes operands of other numbers or types than this call has}}
  tile.call_intrinsic "f32.block" %a, %b, %c at(%zero, %zero, %zero) strides(%zero, %zero, %k, %one, %zero, %zero, %one, %one, %one, %one)
    extents(%one, %k, %one, %one, %one) : memref<?xf64>, memref<?xf32>, memref<?xf32>
  return
}

// -----

func.func @nothing_ahead(%a: memref<?xf32>, %k: index) {
  // expected-error @below {{C2: expected a position ahead, of the second buffer, together with a number of parts}}
  tile.call_intrinsic "f32.block" %a at(%k) strides() extents() ahead(%k in 2) : memref<?xf32>
  return
}
