// RUN: perpend-opt %s --tile-expand-integers | FileCheck %s
// Division by zero is 0, the lowest number by -1 wraps around, a shift by the width or more gives 0.

// CHECK-LABEL: func.func @divide
// CHECK-DAG: %[[ZERO:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : i32
// CHECK: arith.ori
// CHECK: arith.select
// CHECK: arith.divsi %{{.*}}, %{{.*}} {tile.safe} : i32
// CHECK: arith.subi
// CHECK: arith.select
// CHECK: arith.select
func.func @divide(%a: i32, %b: i32) -> i32 {
  %0 = arith.divsi %a, %b : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @remainder
// CHECK: arith.remui %{{.*}}, %{{.*}} {tile.safe} : i8
// CHECK: arith.select
func.func @remainder(%a: i8, %b: i8) -> i8 {
  %0 = arith.remui %a, %b : i8
  return %0 : i8
}

// CHECK-LABEL: func.func @shift
// CHECK: arith.cmpi ult
// CHECK: arith.shrsi %{{.*}}, %{{.*}} {tile.safe} : i16
// CHECK: arith.select
func.func @shift(%a: i16, %b: i16) -> i16 {
  %0 = arith.shrsi %a, %b : i16
  return %0 : i16
}

// Constants that are safe, and the compiler's own index arithmetic, stay as they are.
// CHECK-LABEL: func.func @safe
// CHECK-NOT: arith.select
// CHECK: return
func.func @safe(%a: i32, %i: index, %j: index) -> (i32, index) {
  %c3 = arith.constant 3 : i32
  %0 = arith.divsi %a, %c3 : i32
  %1 = arith.divui %i, %j : index
  return %0, %1 : i32, index
}

// CHECK-LABEL: func.func @rounding
// CHECK-NOT: arith.floordivsi
// CHECK-NOT: arith.ceildiv
// CHECK: return
func.func @rounding(%a: i64, %b: i64) -> (i64, i64, i64) {
  %0 = arith.floordivsi %a, %b : i64
  %1 = arith.ceildivsi %a, %b : i64
  %2 = arith.ceildivui %a, %b : i64
  return %0, %1, %2 : i64, i64, i64
}

// Vectors are expanded as scalars are.
// CHECK-LABEL: func.func @vectors
// CHECK: arith.divsi %{{.*}}, %{{.*}} {tile.safe} : vector<8xi32>
// CHECK: arith.shli %{{.*}}, %{{.*}} {tile.safe} : vector<8xi32>
func.func @vectors(%a: vector<8xi32>, %b: vector<8xi32>) -> vector<8xi32> {
  %0 = arith.divsi %a, %b : vector<8xi32>
  %1 = arith.shli %0, %b : vector<8xi32>
  return %1 : vector<8xi32>
}
