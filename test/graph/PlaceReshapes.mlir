// RUN: perpend-opt --graph-place-reshapes %s | FileCheck %s
// RUN: same-values %s 'func.func(graph-place-reshapes)'
// RUN: perpend-opt --graph-place-reshapes --mlir-print-ir-after-all --mlir-print-ir-after-change %s 2>&1 >/dev/null | FileCheck %s --check-prefix=CHANGED

#x = #graph.shape<["n", 7]>
#c = #graph.shape<["n", 16]>
#r = #graph.shape<["n", 4, 4]>

// The elementwise operator works on rows by columns, its broadcast operand too; the reshape is last.
// CHECK-LABEL: func.func @bias
// CHECK: %[[C:.*]] = tile.matmul %arg0, %arg1
// CHECK: %[[B:.*]] = graph.broadcast %{{.*}} dims [0] : {{.*}} -> tensor<?x16xf32
// CHECK: %[[M:.*]] = graph.map (%[[C]], %[[B]])
// CHECK: %[[R:.*]] = graph.reshape %[[M]]
// CHECK: return %[[R]]
func.func @bias(%a: tensor<?x7xf32, #x>, %w: tensor<1x7x16xf32>, %b: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?x4x4xf32, #r> {
  %c = tile.matmul %a, %w : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> tensor<?x16xf32, #c>
  %d = graph.reshape %c : tensor<?x16xf32, #c> -> tensor<?x4x4xf32, #r>
  %e = graph.broadcast %b dims [0] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?x4x4xf32, #r>
  %f = graph.map (%d, %e) : (tensor<?x4x4xf32, #r>, tensor<?x4x4xf32, #r>) -> tensor<?x4x4xf32, #r> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    graph.yield %s : f32
  }
  return %f : tensor<?x4x4xf32, #r>
}

// A reshape of something else stays.
// CHECK-LABEL: func.func @no_reduction
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0
// CHECK-NEXT: graph.map (%[[R]])
func.func @no_reduction(%a: tensor<?x16xf32, #c>) -> tensor<?x4x4xf32, #r> {
  %d = graph.reshape %a : tensor<?x16xf32, #c> -> tensor<?x4x4xf32, #r>
  %e = graph.map (%d) : (tensor<?x4x4xf32, #r>) -> tensor<?x4x4xf32, #r> {
  ^bb0(%x: f32):
    %s = arith.negf %x : f32
    graph.yield %s : f32
  }
  return %e : tensor<?x4x4xf32, #r>
}

// What is broadcast along a dimension that the reshape divides is divided as well.
// CHECK-LABEL: func.func @groups
// CHECK: %[[C:.*]] = tile.conv
// CHECK: %[[D:.*]] = graph.reshape %arg2 : tensor<6xf32> -> tensor<2x3xf32>
// CHECK: %[[B:.*]] = graph.broadcast %[[D]] dims [3, 4] : tensor<2x3xf32> -> tensor<1x4x5x2x3xf32>
// CHECK: graph.map (%[[C]], %[[B]])
func.func @groups(%a: tensor<1x6x7x4xf32>, %w: tensor<2x1x3x3x2x4xf32>, %b: tensor<6xf32>) -> tensor<1x4x5x6xf32> {
  %c = tile.conv %a, %w strides [1, 1] dilations [1, 1] : (tensor<1x6x7x4xf32>, tensor<2x1x3x3x2x4xf32>) -> tensor<1x4x5x2x3xf32>
  %d = graph.reshape %c : tensor<1x4x5x2x3xf32> -> tensor<1x4x5x6xf32>
  %e = graph.broadcast %b dims [3] : tensor<6xf32> -> tensor<1x4x5x6xf32>
  %f = graph.map (%d, %e) : (tensor<1x4x5x6xf32>, tensor<1x4x5x6xf32>) -> tensor<1x4x5x6xf32> {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    graph.yield %s : f32
  }
  return %f : tensor<1x4x5x6xf32>
}

// Of two contractions of different shapes that are both stored, neither pulls the sum: the other one would pull it back.
// CHECK-LABEL: func.func @to_and_fro
// CHECK: %[[R:.*]] = graph.reshape %{{.*}} : tensor<20x6xi8> -> tensor<1x4x5x6xi8>
// CHECK-NEXT: %[[S:.*]] = graph.map (%[[R]], %{{.*}})
// CHECK: return %[[S]]
// CHANGED: func.func @groups
// CHANGED-NOT: func.func @to_and_fro
func.func @to_and_fro(%a: tensor<20x8xi8>, %w: tensor<1x2x6x4xi8>, %x: tensor<1x6x7x4xi8>, %v: tensor<1x1x3x3x1x6x4xi8>) -> tensor<1x4x5x6xf32> {
  %c = tile.matmul %a, %w : (tensor<20x8xi8>, tensor<1x2x6x4xi8>) -> tensor<20x6xi32>
  %d = tile.conv %x, %v strides [1, 1] dilations [1, 1] : (tensor<1x6x7x4xi8>, tensor<1x1x3x3x1x6x4xi8>) -> tensor<1x4x5x6xi32>
  %e = graph.map (%c) : (tensor<20x6xi32>) -> tensor<20x6xi8> {
  ^bb0(%p: i32):
    %q = arith.trunci %p : i32 to i8
    graph.yield %q : i8
  }
  %f = graph.map (%d) : (tensor<1x4x5x6xi32>) -> tensor<1x4x5x6xi8> {
  ^bb0(%p: i32):
    %q = arith.trunci %p : i32 to i8
    graph.yield %q : i8
  }
  %r = graph.reshape %e : tensor<20x6xi8> -> tensor<1x4x5x6xi8>
  %s = graph.map (%r, %f) : (tensor<1x4x5x6xi8>, tensor<1x4x5x6xi8>) -> tensor<1x4x5x6xf32> {
  ^bb0(%p: i8, %q: i8):
    %g = arith.sitofp %p : i8 to f32
    %h = arith.sitofp %q : i8 to f32
    %t = arith.addf %g, %h : f32
    graph.yield %t : f32
  }
  return %s : tensor<1x4x5x6xf32>
}
