// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: same-values %s graph-fuse-kernels

// Of one row, each element of the right operand is read once: what widens it is in the product's kernel, as a transpose is.
// The row is read by each column, and of two operands the one that is read across is moved first.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = graph.call_kernel @{{.*}}(%arg0)
// CHECK: graph.call_kernel @[[ROW:.*]](%[[X]], %arg1)
// CHECK: %[[SUM:.*]] = graph.call_kernel @{{.*}}(%arg2, %arg3)
// CHECK: graph.call_kernel @{{.*}}(%[[X]], %[[SUM]])
// CHECK: func.func private @[[ROW]]
// CHECK: arith.sitofp
// CHECK: graph.contract
func.func @main(%x: tensor<1x64xf32>, %k: tensor<64x50xi8>, %a: tensor<50x64xf32>, %b: tensor<64x50xf32>) -> (tensor<1x50xf32>, tensor<1x50xf32>) {
  %s = graph.map (%x) : (tensor<1x64xf32>) -> tensor<1x64xf32> {
  ^bb0(%e: f32):
    %y = math.exp %e : f32
    graph.yield %y : f32
  }
  %u = graph.transpose %k [1, 0] : tensor<64x50xi8> -> tensor<50x64xi8>
  %w = graph.map (%u) : (tensor<50x64xi8>) -> tensor<50x64xf32> {
  ^bb0(%e: i8):
    %y = arith.sitofp %e : i8 to f32
    graph.yield %y : f32
  }
  %c = graph.contract %s, %w batch [] x [] over [1] x [1] : (tensor<1x64xf32>, tensor<50x64xf32>) -> tensor<1x50xf32>
  %t = graph.transpose %b [1, 0] : tensor<64x50xf32> -> tensor<50x64xf32>
  %m = graph.map (%a, %t) : (tensor<50x64xf32>, tensor<50x64xf32>) -> tensor<50x64xf32> {
  ^bb0(%e: f32, %f: f32):
    %y = arith.addf %e, %f : f32
    graph.yield %y : f32
  }
  %d = graph.contract %s, %m batch [] x [] over [1] x [1] : (tensor<1x64xf32>, tensor<50x64xf32>) -> tensor<1x50xf32>
  return %c, %d : tensor<1x50xf32>, tensor<1x50xf32>
}
