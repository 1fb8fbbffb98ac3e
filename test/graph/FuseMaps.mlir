// RUN: perpend-opt --graph-fuse-maps %s | FileCheck %s
// RUN: same-values %s 'func.func(graph-fuse-maps)'

// x * sigmoid(x) reads x once.
// CHECK-LABEL: func.func @swish
// CHECK: %[[R:.*]] = graph.map (%arg0) :
// CHECK: math.exp
// CHECK: arith.mulf
// CHECK-NOT: graph.map
// CHECK: return %[[R]]
func.func @swish(%a: tensor<5xf32>) -> tensor<5xf32> {
  %s = graph.map (%a) : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32):
    %e = math.exp %x : f32
    graph.yield %e : f32
  }
  %r = graph.map (%a, %s) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    graph.yield %p : f32
  }
  return %r : tensor<5xf32>
}

// What others read as well is computed once.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: graph.map
// CHECK: return
func.func @shared(%a: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %s = graph.map (%a) : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32):
    %e = math.exp %x : f32
    graph.yield %e : f32
  }
  %r = graph.map (%s) : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32):
    %p = arith.negf %x : f32
    graph.yield %p : f32
  }
  return %r, %s : tensor<5xf32>, tensor<5xf32>
}

// Twice fifteen functions are more code than a kernel should have.
// CHECK-LABEL: func.func @many_functions
// CHECK-COUNT-2: graph.map
// CHECK: return
func.func @many_functions(%a: tensor<5xf32>) -> tensor<5xf32> {
  %b = graph.map (%a) : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %y = math.sin %s13 : f32
    graph.yield %y : f32
  }
  %c = graph.map (%b) : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32):
    %s0 = math.sin %x : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    %s10 = math.sin %s9 : f32
    %s11 = math.sin %s10 : f32
    %s12 = math.sin %s11 : f32
    %s13 = math.sin %s12 : f32
    %y = math.sin %s13 : f32
    graph.yield %y : f32
  }
  return %c : tensor<5xf32>
}
