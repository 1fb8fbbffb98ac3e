// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-verify-accesses | FileCheck %s

// Memory 0 is the kernel's own, then come its buffers and the symbols.

// CHECK: func.func private @note_outside(%{{.*}}: memref<?xi64>, %{{.*}}: index, %{{.*}}: index) attributes
// CHECK: memref.atomic_rmw assign
// CHECK-LABEL: func.func private @kernel_copy(
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[SYMBOLS:.*]]: memref<?xi64>, %{{.*}}: index, %{{.*}}: index, %[[RECORD:.*]]: memref<?xi64>) attributes {tile.checked
// CHECK-DAG: %[[OWN:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[SECOND:.*]] = arith.constant 2 : index
// CHECK: scf.for %[[I:.*]] =
// CHECK: memref.extract_strided_metadata %[[X]]
// CHECK: arith.cmpi ult, %[[I]], %sizes
// CHECK: %[[LOADED:.*]] = scf.if
// CHECK-NEXT: %[[THERE:.*]] = memref.load %[[X]][%[[I]]]
// CHECK-NEXT: scf.yield %[[THERE]]
// CHECK: else
// CHECK: func.call @note_outside(%[[RECORD]], %[[FIRST]],
// CHECK: scf.if
// CHECK-NEXT: memref.store %[[LOADED]], %[[Y]][%[[I]]]
// CHECK: else
// CHECK: func.call @note_outside(%[[RECORD]], %[[SECOND]],
// CHECK: func.call @block(%[[X]], %{{.*}}, %[[RECORD]], %[[FIRST]])
// CHECK: call @note_outside(%[[RECORD]], %[[OWN]],
func.func private @kernel_copy(%x: memref<?xf32>, %y: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
    attributes {tile.kernel} {
  %one = arith.constant 1 : index
  %tile = memref.alloca() : memref<8xf32>
  scf.for %i = %begin to %end step %one {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32>
    memref.prefetch %x[%i], read, locality<3>, data : memref<?xf32>
    func.call @block(%x, %i) : (memref<?xf32>, index) -> ()
    memref.store %v, %tile[%i] : memref<8xf32>
  }
  return
}

// All of a vector must be inside. Callees get the numbers of their memories.

// CHECK-LABEL: func.func private @block(
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[AT:.*]]: index, %[[NOTES:.*]]: memref<?xi64>, %[[NUMBER:.*]]: index)
// CHECK: memref.extract_strided_metadata %[[A]]
// CHECK: %[[LAST:.*]] = arith.subi %sizes{{.*}}, %c16
// CHECK: arith.cmpi sge, %[[AT]], %c0
// CHECK: arith.cmpi sle, %[[AT]], %[[LAST]]
// CHECK: scf.if %{{.*}} -> (vector<16xf32>)
// CHECK-NEXT: vector.load
// CHECK: call @note_outside(%[[NOTES]], %[[NUMBER]],
// CHECK: arith.constant dense<0.0
// CHECK: scf.if
// CHECK-NEXT: vector.store
func.func private @block(%a: memref<?xf32>, %at: index) {
  %v = vector.load %a[%at] : memref<?xf32>, vector<16xf32>
  vector.store %v, %a[%at] : memref<?xf32>, vector<16xf32>
  return
}

// -----

// A part of a buffer: inside the part, and inside the buffer.

// CHECK-LABEL: func.func private @kernel_part(
// CHECK: memref.subview
// CHECK: arith.cmpi ult, %{{.*}}, %c4
// CHECK: memref.extract_strided_metadata
// CHECK: arith.cmpi ult
// CHECK: scf.if
func.func private @kernel_part(%x: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index) attributes {tile.kernel} {
  %part = memref.subview %x[%begin] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
  %v = memref.load %part[%end] : memref<4xf32, strided<[1], offset: ?>>
  memref.store %v, %x[%begin] : memref<?xf32>
  return
}

// -----

// Extents that a cast adds are not those of the buffer, those that it forgets are.

// CHECK-LABEL: func.func private @kernel_cast(
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %{{.*}}: memref<?xi64>
// CHECK: %[[MORE:.*]] = memref.cast %[[X]]
// CHECK: arith.cmpi ult, %{{.*}}, %c64
// CHECK: memref.extract_strided_metadata %[[MORE]]
// CHECK: %[[EXTENT:.*]] = arith.muli %{{.*}}, %sizes
// CHECK: arith.cmpi ult, %{{.*}}, %[[EXTENT]]
// CHECK: scf.if
// CHECK-NEXT: memref.load %[[MORE]]
// CHECK: %[[TILE:.*]] = memref.alloca
// CHECK-NEXT: %[[LESS:.*]] = memref.cast %[[TILE]]
// CHECK: arith.cmpi ult
// CHECK-NOT: arith.cmpi ult
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.*}}, %[[LESS]]
func.func private @kernel_cast(%x: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index) attributes {tile.kernel} {
  %more = memref.cast %x : memref<?xf32> to memref<64xf32>
  %v = memref.load %more[%begin] : memref<64xf32>
  %tile = memref.alloca() : memref<8xf32>
  %less = memref.cast %tile : memref<8xf32> to memref<?xf32>
  memref.store %v, %less[%begin] : memref<?xf32>
  return
}

// -----

// What is not known is not let through.

func.func private @kernel_unknown(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tile.kernel} {
  // expected-error @below {{checked code cannot have 'memref.copy', whose accesses to memory are not known}}
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  return
}

// -----

func.func private @kernel_choice(%x: memref<?xf32>, %y: memref<?xf32>, %isFirst: i1, %i: index) -> f32 attributes {tile.kernel} {
  %one = arith.select %isFirst, %x, %y : memref<?xf32>
  // expected-error @below {{cannot tell whose memory this access is in}}
  %v = memref.load %one[%i] : memref<?xf32>
  return %v : f32
}

// -----

// expected-error @below {{accesses of a function without a body cannot be checked}}
func.func private @external(memref<?xf32>)
