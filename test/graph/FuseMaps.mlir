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
