// RUN: perpend-opt %s --tile-expand-math=target=x86-64 --canonicalize | FileCheck %s
// RUN: perpend-opt %s --tile-expand-math=target=x86-64-v3 --canonicalize | FileCheck %s --check-prefix=FMA
// RUN: perpend-opt %s --tile-expand-math=target=znver5 --canonicalize | FileCheck %s --check-prefix=LANES
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

// 1 + erf is one function, whose polynomial takes the factor of its argument.
// FMA-LABEL: func.func @one_plus_erf
// FMA-NOT: arith.divf
// FMA: math.absf %arg0
// FMA: math.copysign
// FMA-NEXT: arith.addf
// FMA-NEXT: return
func.func @one_plus_erf(%x: vector<4xf32>) -> vector<4xf32> {
  %root = arith.constant dense<1.41421354> : vector<4xf32>
  %one = arith.constant dense<1.0> : vector<4xf32>
  %scaled = arith.divf %x, %root : vector<4xf32>
  %erf = math.erf %scaled : vector<4xf32>
  %sum = arith.addf %one, %erf : vector<4xf32>
  return %sum : vector<4xf32>
}

// An erf that is used otherwise, too, is computed once.
// FMA-LABEL: func.func @erf_twice
// FMA: %[[ERF:.*]] = math.copysign
// FMA-NOT: math.copysign
// FMA: arith.addf %[[ERF]]
// FMA: return
func.func @erf_twice(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %erf = math.erf %x : f32
  %sum = arith.addf %erf, %one : f32
  return %erf, %sum : f32, f32
}

// Likewise one that is computed less often than the sum.
// FMA-LABEL: func.func @erf_outside
// FMA: math.copysign
// FMA: scf.for
// FMA-NOT: math.copysign
// FMA: return
func.func @erf_outside(%x: f32, %out: memref<?xf32>, %begin: index, %end: index, %step: index) {
  %one = arith.constant 1.0 : f32
  %erf = math.erf %x : f32
  scf.for %i = %begin to %end step %step {
    %sum = arith.addf %erf, %one : f32
    memref.store %sum, %out[%i] : memref<?xf32>
  }
  return
}

// So are numbers whose quarter turns cannot be counted: one test of a vector finds out whether it has any.
// CHECK-LABEL: func.func @far
// CHECK: %[[ISANY:.*]] = vector.reduction <or>, %{{.*}} : vector<4xi1> into i1
// CHECK: scf.if %[[ISANY]]
// CHECK-COUNT-4: call @perpend.far_cosine
// CHECK: else
// CHECK-NOT: call
// CHECK: return
func.func @far(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.cos %x : vector<4xf32>
  return %y : vector<4xf32>
}

// With fused operations, close numbers need no f64: one test of a vector finds out whether there are others.
// FMA-LABEL: func.func @close
// FMA: %[[ISANY:.*]] = vector.reduction <or>
// FMA: scf.if %[[ISANY]]
// FMA: vector<4xf64>
// FMA: else
// FMA-NOT: f64
// FMA: return
func.func @close(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.sin %x : vector<4xf32>
  return %y : vector<4xf32>
}

// What zeros, subnormal and negative numbers need of a logarithm is skipped in vectors without them; loops of numbers
// have no branch.
// CHECK-LABEL: func.func @usual
// CHECK: %[[ISANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ISANY]]
// CHECK: arith.cmpf
// CHECK: else
// CHECK-NOT: arith.cmpf
// CHECK: return
// CHECK-LABEL: func.func @number
// CHECK-NOT: scf.if
// CHECK: return
func.func @usual(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.log %x : vector<4xf32>
  return %y : vector<4xf32>
}
func.func @number(%x: f32) -> f32 {
  %y = math.log %x : f32
  return %y : f32
}

// A multiply-add of a formula is two operations where the target does not fuse them.
// CHECK-LABEL: func.func @multiply_add
// CHECK-NOT: math.fma
// CHECK: arith.mulf
// CHECK-NEXT: arith.addf
// FMA-LABEL: func.func @multiply_add
// FMA: math.fma
func.func @multiply_add(%x: f64) -> f64 {
  %y = math.fma %x, %x, %x : f64
  return %y : f64
}

// A remainder is arithmetic of f64; of large quotients it is libm's, after one question to all lanes.
// CHECK-LABEL: func.func @remainder
// CHECK: math.trunc %{{.*}} : vector<4xf64>
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK-COUNT-4: call @perpend.remainder(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
// CHECK: return
func.func @remainder(%x: vector<4xf32>, %y: vector<4xf32>) -> vector<4xf32> {
  %z = arith.remf %x, %y : vector<4xf32>
  return %z : vector<4xf32>
}

// Functions of f64 are arithmetic of f64; far numbers are libm's.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: math.log1p
// CHECK-NOT: math.expm1
// CHECK-NOT: fastmath
// CHECK: call @perpend.far_sine_double(%{{.*}}, %{{.*}}) : (f64, f64) -> f64
// CHECK: return
func.func @wide(%x: f64) -> (f64, f64, f64) {
  %0 = math.log1p %x : f64
  %1 = math.expm1 %x : f64
  %2 = math.sin %x : f64
  return %0, %1, %2 : f64, f64, f64
}

// Left to libm, or to an instruction.
// CHECK-LABEL: func.func @left
// CHECK: math.powf %{{.*}} : f64
// CHECK: math.floor
func.func @left(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.powf %x, %x : f64
  %1 = math.floor %y : f32
  return %0, %1 : f64, f32
}

// What a machine has an instruction for is a function of numbers, or of vectors of so many lanes.
// LANES-LABEL: func.func @exp
// LANES-NOT: arith.shli
// What is 0 is not computed: the scale is one that no result of is too small.
// LANES: %[[ISZERO:.*]] = arith.cmpf olt, %arg0, %{{.*}} : f32
// LANES: arith.select %[[ISZERO]], %{{.*}}, %arg0 : f32
// LANES: %[[SCALED:.*]] = call @perpend.scale(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// LANES-NEXT: %[[Y:.*]] = arith.select %[[ISZERO]], %{{.*}}, %[[SCALED]] : f32
// LANES-NEXT: return %[[Y]]
// FMA-LABEL: func.func @exp
// FMA-COUNT-2: arith.shli
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// LANES-LABEL: func.func @exp_of_vector
// LANES: call @perpend.scale.4(%{{.*}}, %{{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// LANES: return
func.func @exp_of_vector(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.exp %x : vector<4xf32>
  return %y : vector<4xf32>
}
