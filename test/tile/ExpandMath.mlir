// RUN: perpend-opt %s --tile-expand-math=target=x86-64 | FileCheck %s
// RUN: perpend-opt %s --tile-expand-math=target=x86-64-v3 | FileCheck %s --check-prefix=FMA
// ExpandMathTest checks the values.

// Straight-line code without fast-math flags, whatever the operation allowed.
// CHECK-LABEL: func.func @tanh
// CHECK-NOT: math.tanh
// CHECK-NOT: fastmath
// CHECK-NOT: math.fma
// CHECK-DAG: math.absf
// CHECK-DAG: arith.divf
// CHECK-DAG: arith.select
// CHECK: math.copysign
// CHECK-NEXT: return
// FMA-LABEL: func.func @tanh
// FMA: math.fma
func.func @tanh(%x: f32) -> f32 {
  %y = math.tanh %x fastmath<fast> : f32
  return %y : f32
}

// CHECK-LABEL: func.func @half
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK-NOT: math.exp
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @half(%x: f16) -> f16 {
  %y = math.exp %x : f16
  return %y : f16
}

// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.sin
// CHECK: arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
// CHECK: arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
func.func @vector(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.sin %x : vector<8xf32>
  return %y : vector<8xf32>
}

// Left to libm, or to an instruction.
// CHECK-LABEL: func.func @left
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.floor
func.func @left(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.floor %y : f32
  return %0, %1 : f64, f32
}

// bf16 is computed in f32, whatever the processor has: conversions are integer arithmetic.
// CHECK-LABEL: func @brain
// CHECK-NOT: bf16 to f32
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : bf16
func.func @brain(%x: bf16, %y: bf16, %n: i32, %c: i1) -> bf16 {
  %larger = arith.maximumf %x, %y : bf16
  %number = arith.sitofp %n : i32 to bf16
  %chosen = arith.select %c, %larger, %number : bf16
  return %chosen : bf16
}
