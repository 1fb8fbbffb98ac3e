// A kernel runs in front of the first reader of its result, if what it reads lives until then anyway.
// RUN: perpend-opt --split-input-file --graph-place-states --graph-fuse-kernels --graph-schedule-updates --graph-schedule-calls %s | FileCheck %s
// RUN: same-values %s "graph-place-states,graph-fuse-kernels,graph-schedule-updates,graph-schedule-calls"

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

// -----

// %row goes over a part of what %old is computed from: the kernel can compute it there, since nothing reads the old value
// behind it.
// CHECK-LABEL: func.func @state
// CHECK: %[[OLD:.*]] = graph.call_kernel {{.*}}(%arg4, %arg1)
// CHECK: %[[ROW:.*]] = graph.call_kernel {{.*}}(%{{.*}}, %arg3)
// CHECK: %[[Y:.*]] = graph.call_kernel {{.*}}(%[[OLD]])
// CHECK: graph.update %arg4, %[[ROW]] at <[5]> axis 0 {graph.in_place}
func.func @state(%x: tensor<1x4xf32>, %w: tensor<4x16xf32>, %u: tensor<4x32xf32>, %v: tensor<32x4xf32>,
                 %ring: tensor<8x4xf32> {graph.state = "ring"})
    -> (tensor<8x8xf32>, tensor<8x4xf32> {graph.state = "ring"}) {
  %old = graph.contract %ring, %w batch [] x [] over [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %wide = graph.contract %x, %u batch [] x [] over [1] x [0] : (tensor<1x4xf32>, tensor<4x32xf32>) -> tensor<1x32xf32>
  %row = graph.contract %wide, %v batch [] x [] over [1] x [0] : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  %y = graph.contract %old, %old batch [] x [] over [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %new = graph.update %ring, %row at <["5"]> axis 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  return %y, %new : tensor<8x8xf32>, tensor<8x4xf32>
}

// -----

// Another state does not matter to what is computed from this one.
// CHECK-LABEL: func.func @other_state
// CHECK: %[[ROW:.*]] = graph.call_kernel {{.*}}(%{{.*}}, %arg3)
// CHECK: %[[OLD:.*]] = graph.call_kernel {{.*}}(%arg4, %arg1)
// CHECK-NEXT: graph.call_kernel {{.*}}(%[[OLD]])
// CHECK: graph.update %arg5, %[[ROW]] at <[5]> axis 0 {graph.in_place}
func.func @other_state(%x: tensor<1x4xf32>, %w: tensor<4x16xf32>, %u: tensor<4x32xf32>, %v: tensor<32x4xf32>,
                       %kept: tensor<8x4xf32> {graph.state = "kept"}, %ring: tensor<8x4xf32> {graph.state = "ring"})
    -> (tensor<8x8xf32>, tensor<8x4xf32> {graph.state = "kept"}, tensor<8x4xf32> {graph.state = "ring"}) {
  %old = graph.contract %kept, %w batch [] x [] over [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %wide = graph.contract %x, %u batch [] x [] over [1] x [0] : (tensor<1x4xf32>, tensor<4x32xf32>) -> tensor<1x32xf32>
  %row = graph.contract %wide, %v batch [] x [] over [1] x [0] : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  %y = graph.contract %old, %old batch [] x [] over [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %new = graph.update %ring, %row at <["5"]> axis 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  return %y, %kept, %new : tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// What %v would have to live longer for may be large.
// CHECK-LABEL: func.func @rows
// CHECK: %[[H:.*]] = graph.call_kernel {{.*}}(%arg0)
// CHECK-NEXT: %[[V:.*]] = graph.call_kernel {{.*}}(%[[H]])
// CHECK-NEXT: %[[Q:.*]] = graph.call_kernel {{.*}}(%arg1)
// CHECK-NEXT: graph.call_kernel {{.*}}(%[[V]], %[[Q]])
func.func @rows(%x: tensor<?x5xf32, #graph.shape<["n", 5]>>, %w: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %h = graph.map (%x) : (tensor<?x5xf32, #graph.shape<["n", 5]>>) -> tensor<?x5xf32, #graph.shape<["n", 5]>> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  %v = graph.contract %h, %h batch [] x [] over [0] x [0] : (tensor<?x5xf32, #graph.shape<["n", 5]>>, tensor<?x5xf32, #graph.shape<["n", 5]>>) -> tensor<5x5xf32>
  %q = graph.contract %w, %w batch [] x [] over [1] x [0] : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %t = graph.contract %v, %q batch [] x [] over [1] x [0] : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  return %t : tensor<5x5xf32>
}

// -----

// A check of the run stays between what is in front of it and behind it.
// CHECK-LABEL: func.func @required
// CHECK: %[[V:.*]] = graph.call_kernel {{.*}}(%arg0, %arg1)
// CHECK: graph.measure %arg2
// CHECK: graph.require
// CHECK: %[[Q:.*]] = graph.call_kernel {{.*}}(%arg1)
// CHECK: graph.call_kernel {{.*}}(%[[V]], %[[Q]])
func.func @required(%x: tensor<7x5xf32>, %w: tensor<5x5xf32>, %k: tensor<i64>) -> tensor<7x5xf32> {
  %v = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
  graph.measure %k as "k" : tensor<i64>
  graph.require <["10 - k"]> "a limit of at most 10"
  %q = graph.contract %w, %w batch [] x [] over [1] x [0] : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %t = graph.contract %v, %q batch [] x [] over [1] x [0] : (tensor<7x5xf32>, tensor<5x5xf32>) -> tensor<7x5xf32>
  return %t : tensor<7x5xf32>
}
