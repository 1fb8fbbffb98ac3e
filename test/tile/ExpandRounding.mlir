// RUN: perpend-opt --tile-expand-rounding %s | FileCheck %s
// RUN: same-values %s tile-expand-rounding

// In the range first, then rounded by an addition: ties, zeros of both signs, what is beyond, and what is no number.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: roundeven
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -1.190000e+02 : f32
// CHECK-DAG: %[[MOST:.*]] = arith.constant 1.360000e+02 : f32
// CHECK-DAG: %[[SHIFT:.*]] = arith.constant 0x4B400000 : f32
// CHECK-DAG: %[[SURPLUS:.*]] = arith.constant 1262485385 : i32
// CHECK: arith.cmpf olt, %[[LEAST]], %[[X:.*]] : f32
// CHECK: %[[INSIDE:.*]] = arith.minimumf %{{.*}}, %[[MOST]] fastmath<nnan> : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[INSIDE]], %[[SHIFT]] : f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK: arith.subi %[[BITS]], %[[SURPLUS]] : i32
// CHECK-NOT: fptosi
func.func @bytes(%x: tensor<24xf32>) -> (tensor<24xui8>, tensor<24xui8>) {
  %numbers = graph.constant dense<[0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 118.5, -118.5, -119.5, -119.51, 135.49,
    135.5, 136.5, 1.0e9, -1.0e9, 4.2e6, 1.0e38, -1.0e38, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0e-40]> : tensor<24xf32> : tensor<24xf32>
  %known = graph.map (%numbers) : (tensor<24xf32>) -> tensor<24xui8> {
  ^bb0(%a: f32):
    %zero = arith.constant 119.0 : f32
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %rounded = math.roundeven %a : f32
    %shifted = arith.addf %rounded, %zero : f32
    %isMore = arith.cmpf olt, %low, %shifted : f32
    %atLeast = arith.select %isMore, %shifted, %low : f32
    %inside = arith.minimumf %atLeast, %high fastmath<nnan> : f32
    %number = arith.fptosi %inside : f32 to i32
    %r = arith.trunci %number : i32 to i8
    graph.yield %r : i8
  }
  %unknown = graph.map (%x) : (tensor<24xf32>) -> tensor<24xui8> {
  ^bb0(%a: f32):
    %scale = arith.constant 33.3 : f32
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %scaled = arith.mulf %a, %scale : f32
    %rounded = math.roundeven %scaled : f32
    %isMore = arith.cmpf olt, %low, %rounded : f32
    %atLeast = arith.select %isMore, %rounded, %low : f32
    %inside = arith.minimumf %atLeast, %high fastmath<nnan> : f32
    %number = arith.fptosi %inside : f32 to i32
    %r = arith.trunci %number : i32 to i8
    graph.yield %r : i8
  }
  return %known, %unknown : tensor<24xui8>, tensor<24xui8>
}

// What goes on as a number is one already, and its zero point is not added.
// CHECK-LABEL: func.func @again
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[SHIFT:.*]] : f32
// CHECK-NOT: bitcast
// CHECK: %[[NUMBER:.*]] = arith.subf %[[SUM]], %[[SHIFT]] : f32
// CHECK-NEXT: arith.mulf %[[NUMBER]], %{{.*}} : f32
// Of fewer bits than the range has, the rest is lost.
// CHECK-LABEL: func.func @cut
// CHECK: arith.trunci
// CHECK: arith.uitofp
func.func @again(%x: tensor<24xf32>) -> tensor<24xf32> {
  %numbers = graph.constant dense<[0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 118.5, -118.5, -119.5, -119.51, 135.49,
    135.5, 136.5, 1.0e9, -1.0e9, 4.2e6, 1.0e38, -1.0e38, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0e-40]> : tensor<24xf32> : tensor<24xf32>
  %r = graph.map (%numbers, %x) : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xf32> {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 119.0 : f32
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %scale = arith.constant 0.3 : f32
    %rounded = math.roundeven %a : f32
    %shifted = arith.addf %rounded, %zero : f32
    %isMore = arith.cmpf olt, %low, %shifted : f32
    %atLeast = arith.select %isMore, %shifted, %low : f32
    %inside = arith.minimumf %atLeast, %high fastmath<nnan> : f32
    %number = arith.fptosi %inside : f32 to i32
    %byte = arith.trunci %number : i32 to i8
    %real = arith.uitofp %byte : i8 to f32
    %centred = arith.subf %real, %zero : f32
    %scaled = arith.mulf %centred, %scale : f32
    %sum = arith.addf %scaled, %b : f32
    graph.yield %sum : f32
  }
  return %r : tensor<24xf32>
}

func.func @cut(%x: tensor<7xf32>) -> tensor<7xf32> {
  %numbers = graph.constant dense<[0.0, 1.0, 255.0, 256.0, 257.5, 300.0, 511.0]> : tensor<7xf32> : tensor<7xf32>
  %r = graph.map (%numbers, %x) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%a: f32, %b: f32):
    %low = arith.constant 0.0 : f32
    %high = arith.constant 511.0 : f32
    %rounded = math.roundeven %a : f32
    %isMore = arith.cmpf olt, %low, %rounded : f32
    %atLeast = arith.select %isMore, %rounded, %low : f32
    %inside = arith.minimumf %atLeast, %high fastmath<nnan> : f32
    %number = arith.fptosi %inside : f32 to i32
    %byte = arith.trunci %number : i32 to i8
    %real = arith.uitofp %byte : i8 to f32
    %sum = arith.addf %real, %b : f32
    graph.yield %sum : f32
  }
  return %r : tensor<7xf32>
}

// A range that is no integer's, and one whose integers do not lie in the low bits.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: math.roundeven
func.func @others(%x: tensor<5xf32>) -> (tensor<5xi32>, tensor<5xi32>) {
  %half = graph.map (%x) : (tensor<5xf32>) -> tensor<5xi32> {
  ^bb0(%a: f32):
    %low = arith.constant 0.5 : f32
    %high = arith.constant 255.0 : f32
    %rounded = math.roundeven %a : f32
    %isMore = arith.cmpf olt, %low, %rounded : f32
    %atLeast = arith.select %isMore, %rounded, %low : f32
    %inside = arith.minimumf %atLeast, %high fastmath<nnan> : f32
    %r = arith.fptosi %inside : f32 to i32
    graph.yield %r : i32
  }
  %large = graph.map (%x) : (tensor<5xf32>) -> tensor<5xi32> {
  ^bb0(%a: f32):
    %low = arith.constant 0.0 : f32
    %high = arith.constant 8388608.0 : f32
    %rounded = math.roundeven %a : f32
    %isMore = arith.cmpf olt, %low, %rounded : f32
    %atLeast = arith.select %isMore, %rounded, %low : f32
    %inside = arith.minimumf %atLeast, %high fastmath<nnan> : f32
    %r = arith.fptosi %inside : f32 to i32
    graph.yield %r : i32
  }
  return %half, %large : tensor<5xi32>, tensor<5xi32>
}
