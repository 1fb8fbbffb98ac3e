// A kernel runs in front of the first reader of its result, if what it reads lives until then anyway.
// RUN: perpend-opt --split-input-file --graph-fuse-kernels --graph-delay-calls %s | FileCheck %s
// RUN: same-values %s "graph-fuse-kernels,graph-delay-calls"

// The last product reads %x, too, so %v need not lie beside %q and what is computed from it.
// CHECK-LABEL: func.func @delayed
// CHECK: %[[Q:.*]] = graph.call_kernel {{.*}}(%arg0, %arg1)
// CHECK-NEXT: %[[S:.*]] = graph.call_kernel {{.*}}(%[[Q]], %arg3)
// CHECK-NEXT: %[[V:.*]] = graph.call_kernel {{.*}}(%arg0, %arg2)
// CHECK-NEXT: graph.call_kernel {{.*}}%[[S]], %[[V]]
func.func @delayed(%x: tensor<7x5xf32>, %w: tensor<5x5xf32>, %u: tensor<5x5xf32>, %z: tensor<5x3xf32>) -> tensor<7x7xf32> {
  %v = graph.contract %x, %u batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
  %q = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
  %s = graph.contract %q, %z batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %t = graph.contract %s, %v batch [] x [] over [0] x [0] : (tensor<7x3xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  %y = graph.contract %x, %x batch [] x [] over [1] x [1] : (tensor<7x5xf32>, tensor<7x5xf32>) -> tensor<7x7xf32>
  %one = graph.reduce sum %t dims [0, 1] : tensor<3x5xf32> -> tensor<f32>
  %all = graph.broadcast %one dims [] : tensor<f32> -> tensor<7x7xf32>
  %r = graph.map (%y, %all) : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    graph.yield %c : f32
  }
  return %r : tensor<7x7xf32>
}

// -----

// What %h would have to live longer for is smaller than it.
// CHECK-LABEL: func.func @stays
// CHECK: %[[H:.*]] = graph.call_kernel {{.*}}(%arg0, %arg1)
// CHECK-NEXT: %[[V:.*]] = graph.call_kernel {{.*}}(%[[H]], %arg2)
// CHECK-NEXT: %[[Q:.*]] = graph.call_kernel {{.*}}(%arg0, %arg3)
// CHECK-NEXT: %[[S:.*]] = graph.call_kernel {{.*}}(%[[Q]], %arg2)
// CHECK-NEXT: graph.call_kernel
func.func @stays(%x: tensor<7x5xf32>, %w: tensor<5x5xf32>, %z: tensor<5x3xf32>, %u: tensor<5x5xf32>) -> tensor<3x3xf32> {
  %h = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
  %v = graph.contract %h, %z batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %q = graph.contract %x, %u batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
  %s = graph.contract %q, %z batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %t = graph.contract %s, %v batch [] x [] over [0] x [0] : (tensor<7x3xf32>, tensor<7x3xf32>) -> tensor<3x3xf32>
  return %t : tensor<3x3xf32>
}
