// RUN: perpend-opt %s --cpu-expand-floats=target=x86-64 --canonicalize | FileCheck %s
// RUN: perpend-opt %s --cpu-expand-floats=target=x86-64-v3 --canonicalize | FileCheck %s --check-prefix=FMA
// RUN: perpend-opt %s --cpu-expand-floats=target=znver5 --canonicalize | FileCheck %s --check-prefix=LANES
// RUN: perpend-opt %s --cpu-expand-floats=target=wasm32 --canonicalize | FileCheck %s --check-prefix=NOHALF

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

// A running maximum of f32 stays one, since LLVM has no f16 for it; of an extended number and a constant it has.
// CHECK-LABEL: func.func @running
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: arith.select
// CHECK-LABEL: func.func @bounded
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: arith.select
func.func @running(%x: f16, %most: f32) -> f32 {
  %number = arith.extf %x : f16 to f32
  %larger = arith.maximumf %most, %number : f32
  return %larger : f32
}
func.func @bounded(%x: f16) -> f32 {
  %number = arith.extf %x : f16 to f32
  %zero = arith.constant 0.0 : f32
  %larger = arith.maximumf %number, %zero : f32
  return %larger : f32
}

// LLVM's maximum of 0 and NaN of f16 is 0 where the processor has no arithmetic on f16.
// CHECK-LABEL: func.func @extrema
// CHECK: %[[LARGER:.*]] = arith.maximumf %arg0, %arg1 : f16
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %arg0, %arg1 : f16
// CHECK: %[[SUM:.*]] = arith.addf %arg0, %arg1 : f16
// CHECK: arith.select %[[NAN]], %[[SUM]], %[[LARGER]] : f16
// CHECK: arith.minimumf %arg2, %arg3 : vector<4xf16>
// CHECK: arith.select %{{.*}} : vector<4xi1>, vector<4xf16>
// Where code has no values of f16, it is computed in f32, too.
// NOHALF-LABEL: func.func @extrema
// NOHALF-NOT: arith.{{(maximumf|minimumf|addf|cmpf|extf|truncf).*}}f16
// NOHALF: arith.maximumf %{{.*}}, %{{.*}} : f32
// NOHALF: arith.minimumf %{{.*}}, %{{.*}} : vector<4xf32>
func.func @extrema(%x: f16, %y: f16, %v: vector<4xf16>, %w: vector<4xf16>) -> (f16, vector<4xf16>) {
  %larger = arith.maximumf %x, %y : f16
  %smaller = arith.minimumf %v, %w : vector<4xf16>
  return %larger, %smaller : f16, vector<4xf16>
}

// x86-64-v3 converts to f16, x86-64 does not.
// CHECK-LABEL: func.func @half
// CHECK: arith.truncf %{{.*}} : f32 to f16
// FMA-LABEL: func.func @half
// FMA: %[[BITS:.*]] = call @perpend.round_to_f16(%{{.*}}) : (f32) -> i16
// FMA: arith.bitcast %[[BITS]] : i16 to f16
// NOHALF-LABEL: func.func @half
// NOHALF-NOT: arith.truncf
// NOHALF: arith.bitcast %{{.*}} : i16 to f16
func.func @half(%x: f32) -> f16 {
  %y = arith.truncf %x : f32 to f16
  return %y : f16
}

// A conversion whose subnormal results are 0 to who reads them, and one that is exact.
// LANES-LABEL: func.func @rounds
// LANES: %[[BITS:.*]] = call @perpend.round_to_bf16(%arg0) : (f32) -> i16
// LANES: arith.bitcast %[[BITS]] : i16 to bf16
// LANES-NOT: call
// LANES: arith.shrui
// LANES: return
// FMA-LABEL: func.func @rounds
// FMA-NOT: call
// FMA: return
func.func @rounds(%x: f32) -> (bf16, bf16) {
  %fast = arith.truncf %x {graph.flushes} : f32 to bf16
  %exact = arith.truncf %x : f32 to bf16
  return %fast, %exact : bf16, bf16
}
