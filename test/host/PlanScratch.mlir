// Scratch memory: planned for the time of a call, with a part for each thread but no more than the kernel has units.
// RUN: perpend-opt --split-input-file --host-plan-memory %s | FileCheck %s

// Each part is 64 bytes for flags, then the buffers from multiples of 64 bytes on. Where threads decide there are no fixed
// offsets.
// CHECK: host.buffer bytes [40*n] parts [1] live [0, 1] :
// CHECK: %[[PARTS:.*]] = host.buffer bytes [64*floordiv(n + 15, 16) + 128] parts [n] live [1, 1] :
// CHECK: host.launch @plain
// CHECK: host.launch @rows({{.*}}) -> ({{.*}}) scratch %[[PARTS]]
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
// CHECK: %[[PARTS:.*]] = host.buffer bytes [320] parts [6] live [0, 0] :
// CHECK: scratch %[[PARTS]]
func.func @main(%a: tensor<6x60xf32>) -> tensor<6x60xf32> {
  %b = graph.call_kernel @rows(%a) : (tensor<6x60xf32>) -> tensor<6x60xf32>
  return %b : tensor<6x60xf32>
}
func.func private @rows(%a: memref<?xf32>, %b: memref<?xf32>, %s: memref<?xi64>, %t: memref<?xf32>, %l: index, %u: index) attributes {graph.symbols = [], tile.kernel, tile.extent = #graph.shape<[6]>, tile.scratch = #graph.shape<[60]>} {
  return
}

// -----

// One unit has one part, whatever the threads; it shares memory with what lives at another time.
// CHECK: host.buffer bytes [240] parts [1] live [0, 1] at 320
// CHECK: host.buffer bytes [320] parts [1] live [0, 0] at 0
// CHECK: host.buffer bytes [320] parts [1] live [1, 1] at 0
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
// The next value takes the memory that the parts had.
// CHECK: %[[PLANNED:.*]] = host.buffer bytes [64*max(0, floordiv(n + 7, 16) - 1)] parts [max(0, n - 40)]
// CHECK: %[[VALUE:.*]] = host.room 2
// CHECK: %[[ROOM:.*]] = host.room 3
// CHECK: %[[NEXT:.*]] = host.room 3
// CHECK: %[[A:.*]] = host.reserve %[[VALUE]]
// CHECK: host.launch @rows({{.*}}) -> (%[[A]]) scratch %[[ROOM]]
// The next value takes the memory that the parts had.
// CHECK: %[[Y:.*]] = host.reserve %[[NEXT]]
// CHECK: host.launch @plain(%[[A]]) -> (%[[Y]])
// CHECK: host.if
// CHECK: host.launch @rows({{.*}}) scratch %[[PLANNED]]
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
