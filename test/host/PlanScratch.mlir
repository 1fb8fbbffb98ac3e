// Scratch memory: planned for the time of a call, with a part for each thread but no more than the kernel has units.
// RUN: perpend-opt --split-input-file --host-plan-memory %s | FileCheck %s

// Each part is 64 bytes for flags, then the buffers from multiples of 64 bytes on. Where threads decide there are no fixed
// offsets.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tile.buffer_bytes = #graph.shape<["40*n", "64*floordiv(n + 15, 16) + 128"]>
// CHECK-SAME: tile.buffer_parts = #graph.shape<[1, "n"]>
// CHECK-SAME: tile.lifetimes = array<i64: 0, 1, 1, 1>
// CHECK-NOT: tile.offsets
// CHECK: graph.call_kernel @plain{{.*}} tile.buffers = array<i64: 0, 0, 3, 0>}
// CHECK: graph.call_kernel @rows{{.*}} tile.buffers = array<i64: 3, 0, 1, 0>, tile.scratch_place = array<i64: 3, 1>}
#n = #graph.shape<["n", 10]>
func.func @main(%a: tensor<?x10xf32, #n>) -> tensor<?x10xf32, #n> {
  %b = graph.call_kernel @plain(%a) {graph.symbols = #graph.shape<["n"]>} : (tensor<?x10xf32, #n>) -> tensor<?x10xf32, #n>
  %c = graph.call_kernel @rows(%b) {graph.symbols = #graph.shape<["n"]>} : (tensor<?x10xf32, #n>) -> tensor<?x10xf32, #n>
  return %c : tensor<?x10xf32, #n>
}
func.func private @plain(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %l: index, %u: index) attributes {graph.symbols = ["m"], tile.kernel, tile.extent = #graph.shape<["m"]>} {
  return
}
func.func private @rows(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %t: memref<?xf32>, %v: memref<?xi8>, %l: index, %u: index) attributes {graph.symbols = ["m"], tile.kernel, tile.extent = #graph.shape<["m"]>, tile.scratch = #graph.shape<["m", 3]>} {
  return
}

// -----

// Numbers, but several units.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tile.buffer_bytes = #graph.shape<[320]>
// CHECK-SAME: tile.buffer_parts = #graph.shape<[6]>
// CHECK-NOT: tile.offsets
// CHECK: tile.scratch_place = array<i64: 3, 0>
func.func @main(%a: tensor<6x60xf32>) -> tensor<6x60xf32> {
  %b = graph.call_kernel @rows(%a) : (tensor<6x60xf32>) -> tensor<6x60xf32>
  return %b : tensor<6x60xf32>
}
func.func private @rows(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %t: memref<?xf32>, %l: index, %u: index) attributes {graph.symbols = [], tile.kernel, tile.extent = #graph.shape<[6]>, tile.scratch = #graph.shape<[60]>} {
  return
}

// -----

// One unit has one part, whatever the threads; it shares memory with what lives at another time.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tile.arena_bytes = 576
// CHECK-SAME: tile.buffer_bytes = #graph.shape<[240, 320, 320]>
// CHECK-NOT: tile.buffer_parts
// CHECK-SAME: tile.lifetimes = array<i64: 0, 1, 0, 0, 1, 1>
// CHECK-SAME: tile.offsets = array<i64: 320, 0, 0>
func.func @main(%a: tensor<60xf32>) -> tensor<60xf32> {
  %b = graph.call_kernel @row(%a) : (tensor<60xf32>) -> tensor<60xf32>
  %c = graph.call_kernel @row(%b) : (tensor<60xf32>) -> tensor<60xf32>
  return %c : tensor<60xf32>
}
func.func private @row(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %t: memref<?xf32>, %l: index, %u: index) attributes {graph.symbols = [], tile.kernel, tile.extent = #graph.shape<[1]>, tile.scratch = #graph.shape<[60]>} {
  return
}

// -----

// Of a size that only a run finds; in a region that may not run, no extent counts as less than 0.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tile.buffer_bytes = #graph.shape<["64*max(0, floordiv(n + 7, 16) - 1)"]>
// CHECK-SAME: tile.buffer_parts = #graph.shape<["max(0, n - 40)"]>
// CHECK-SAME: tile.growing = 2
// CHECK: graph.call_kernel @rows{{.*}} tile.buffers = array<i64: 2, 0, 4, 2>, tile.scratch_place = array<i64: 4, 3>}
// The next value takes the memory that the parts had.
// CHECK: graph.call_kernel @plain{{.*}} tile.buffers = array<i64: 4, 2, 4, 3>}
// CHECK: graph.if
// CHECK: graph.call_kernel @rows{{.*}} tile.scratch_place = array<i64: 3, 0>}
#k = #graph.shape<["k"]>
#d = #graph.shape<["n - 40"]>
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<?xf32, #graph.shape<["n"]>>) -> (tensor<?xf32, #k>, tensor<?xf32, #d>) {
  %one = graph.constant dense<1.0> : tensor<1xf32> : tensor<1xf32>
  graph.measure %n as "k" : tensor<i64>
  %a = graph.call_kernel @rows(%one) {graph.symbols = #k} : (tensor<1xf32>) -> tensor<?xf32, #k>
  %y = graph.call_kernel @plain(%a) {graph.symbols = #k} : (tensor<?xf32, #k>) -> tensor<?xf32, #k>
  %z = graph.call_kernel @plain(%y) {graph.symbols = #k} : (tensor<?xf32, #k>) -> tensor<?xf32, #k>
  %r = graph.if %c symbols [] : tensor<i1> -> (tensor<?xf32, #d>) {
    %w = graph.call_kernel @rows(%one) {graph.symbols = #d} : (tensor<1xf32>) -> tensor<?xf32, #d>
    graph.yield %w : tensor<?xf32, #d>
  } else {
    %w = graph.call_kernel @plain(%one) {graph.symbols = #d} : (tensor<1xf32>) -> tensor<?xf32, #d>
    graph.yield %w : tensor<?xf32, #d>
  }
  return %z, %r : tensor<?xf32, #k>, tensor<?xf32, #d>
}
func.func private @plain(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %l: index, %u: index) attributes {graph.symbols = ["k"], tile.kernel, tile.extent = #graph.shape<["k"]>} {
  return
}
func.func private @rows(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %t: memref<?xf32>, %l: index, %u: index) attributes {graph.symbols = ["k"], tile.kernel, tile.extent = #graph.shape<["k"]>, tile.scratch = #graph.shape<["k"]>} {
  return
}
