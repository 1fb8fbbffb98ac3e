// A division of indices that all iterations have in common stands in front of the loop, where its divisor may be 0; one of
// elements stays below its condition.
// RUN: perpend-opt --tile-hoist-divisions %s | FileCheck %s

// CHECK-LABEL: func.func private @common
// CHECK: scf.for
// CHECK: %[[MOST:.*]] = arith.maxui %{{.*}}, %c1
// CHECK-NEXT: %[[Q:.*]] = arith.divui %{{.*}}, %[[MOST]]
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NOT: arith.divui
// CHECK: memref.store %[[Q]]
func.func private @common(%out: memref<?xindex>, %n: index, %m: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %inside = arith.cmpi ult, %j, %n : index
      scf.if %inside {
        %q = arith.divui %i, %m : index
        memref.store %q, %out[%j] : memref<?xindex>
      }
    }
  }
  return
}

// CHECK-LABEL: func.func private @own
// CHECK: scf.if
// CHECK-NEXT: arith.divui
func.func private @own(%out: memref<?xi32>, %a: memref<?xi32>, %n: index) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    %x = memref.load %a[%j] : memref<?xi32>
    %inside = arith.cmpi ult, %j, %n : index
    scf.if %inside {
      %q = arith.divui %x, %x : i32
      memref.store %q, %out[%j] : memref<?xi32>
    }
  }
  return
}
