// Kernels with several results: one nest of loops stores an element of each.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks --tile-flatten-blocks --canonicalize --cse %s | FileCheck %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks --tile-flatten-blocks --host-plan-memory %s | FileCheck --check-prefix=PLAN %s
// The interpreter on operators, and the compiled kernels with loops by each kind of schedule:
// RUN: perpend check %s --against interpreter --symbol n=0
// RUN: perpend check %s --against interpreter --symbol n=1
// RUN: perpend check %s --against interpreter --symbol n=7
// RUN: perpend check %s --against interpreter --symbol n=64

#x = #graph.shape<["n", 7]>
#c = #graph.shape<["n", 16]>
#n = #graph.shape<["n"]>
#m = #graph.shape<["m"]>
#y = #graph.shape<["m", 7]>

// Both results of @parts are read by others; one of those of @product is a result of main.
// PLAN-LABEL: host.entry @main
// PLAN: host.launch @parts(%arg0) -> (%[[LEFT:.*]], %[[RIGHT:.*]]) symbols
// PLAN: host.launch @product(%[[LEFT]], %{{.*}}) -> (%arg1, %arg2) symbols
// PLAN: host.launch @sums(%[[RIGHT]]) -> (%arg3, %arg4) symbols
func.func @main(%a: tensor<?x7xf32, #x> {graph.name = "a"})
    -> (tensor<?x16xf32, #c>, tensor<?x16xf32, #c>, tensor<7xf32>, tensor<7xf32>) {
  %w = graph.constant dense<0.5> : tensor<1x7x16xf32> : tensor<1x7x16xf32>
  %0:2 = graph.call_kernel @parts(%a) {graph.symbols = #n} : (tensor<?x7xf32, #x>) -> (tensor<?x7xf32, #x>, tensor<?x7xf32, #x>)
  %1:2 = graph.call_kernel @product(%0#0, %w) {graph.symbols = #n} : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> (tensor<?x16xf32, #c>, tensor<?x16xf32, #c>)
  %2:2 = graph.call_kernel @sums(%0#1) {graph.symbols = #n} : (tensor<?x7xf32, #x>) -> (tensor<7xf32>, tensor<7xf32>)
  return %1#0, %1#1, %2#0, %2#1 : tensor<?x16xf32, #c>, tensor<?x16xf32, #c>, tensor<7xf32>, tensor<7xf32>
}

// CHECK-LABEL: func.func private @parts
// CHECK-SAME: (%[[IN:.*]]: memref<?xf32>, %[[FIRST:.*]]: memref<?xf32>, %[[SECOND:.*]]: memref<?xf32>, %{{.*}}: memref<?xi64>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-SAME: graph.symbols = ["m"]
// CHECK-SAME: "%t0_m = merge %t0, %t0_1"
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[FIRST]][%[[I:.*]]]
// CHECK-NOT: scf.for
// CHECK: vector.store %{{.*}}, %[[SECOND]][%[[I]]]
func.func private @parts(%a: tensor<?x7xf32, #y>) -> (tensor<?x7xf32, #y>, tensor<?x7xf32, #y>) attributes {graph.symbols = ["m"], tile.kernel} {
  %0 = graph.map (%a) : (tensor<?x7xf32, #y>) -> tensor<?x7xf32, #y> {
  ^bb0(%x: f32):
    %z = math.tanh %x : f32
    graph.yield %z : f32
  }
  %1 = graph.map (%0, %a) : (tensor<?x7xf32, #y>, tensor<?x7xf32, #y>) -> tensor<?x7xf32, #y> {
  ^bb0(%x: f32, %z: f32):
    %s = arith.subf %x, %z : f32
    graph.yield %s : f32
  }
  return %0, %1 : tensor<?x7xf32, #y>, tensor<?x7xf32, #y>
}

// A product with several results is computed for each.
// CHECK-LABEL: func.func private @product
// CHECK-COUNT-2: memref.store
func.func private @product(%a: tensor<?x7xf32, #x>, %w: tensor<1x7x16xf32>) -> (tensor<?x16xf32, #c>, tensor<?x16xf32, #c>) attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = tile.matmul %a, %w : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> tensor<?x16xf32, #c>
  %1 = graph.map (%0) : (tensor<?x16xf32, #c>) -> tensor<?x16xf32, #c> {
  ^bb0(%x: f32):
    %y = arith.mulf %x, %x : f32
    graph.yield %y : f32
  }
  return %0, %1 : tensor<?x16xf32, #c>, tensor<?x16xf32, #c>
}

// CHECK-LABEL: func.func private @sums
func.func private @sums(%a: tensor<?x7xf32, #x>) -> (tensor<7xf32>, tensor<7xf32>) attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = graph.reduce sum %a dims [0] : tensor<?x7xf32, #x> -> tensor<7xf32>
  %1 = graph.map (%0) : (tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    graph.yield %y : f32
  }
  return %1, %0 : tensor<7xf32>, tensor<7xf32>
}
