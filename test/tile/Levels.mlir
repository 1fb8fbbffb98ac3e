// A loop that is bound to a level is run by it, or is an error: never a loop that runs in order.
// RUN: perpend-opt %s --split-input-file --verify-diagnostics --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks=target=x86-64-v3 | FileCheck %s

// CHECK-LABEL: func.func private @units
// CHECK-SAME: tile.extent = #graph.shape<[4]>
func.func private @units(%x: !tile.buffer<[4, 8] x f32>, %y: !tile.buffer<[4, 8] x f32>) attributes {
    tile.kernel, graph.symbols = [], tile.trace = ["%b = get_block \22copy\22", "%i, %j = get_loops %b", "bind %i, \22thread\22"]} {
  tile.for %i in 4 { tile.for %j in 8 {
    tile.block "copy" spatial(%vi in 4 = %i, %vj in 8 = %j) {
      %v = tile.load %x[%vi, %vj] : !tile.buffer<[4, 8] x f32>
      tile.store %v, %y[%vi, %vj] : !tile.buffer<[4, 8] x f32>
    }
  } }
  return
}

// -----

// expected-error @+1 {{kernel 'inner': the loop 'j' is bound to 'thread', but is not the kernel's only outermost loop}}
func.func private @inner(%x: !tile.buffer<[4, 8] x f32>, %y: !tile.buffer<[4, 8] x f32>) attributes {
    tile.kernel, graph.symbols = [], tile.trace = ["%b = get_block \22copy\22", "%i, %j = get_loops %b", "bind %j, \22thread\22"]} {
  tile.for %i in 4 { tile.for %j in 8 {
    tile.block "copy" spatial(%vi in 4 = %i, %vj in 8 = %j) {
      %v = tile.load %x[%vi, %vj] : !tile.buffer<[4, 8] x f32>
      tile.store %v, %y[%vi, %vj] : !tile.buffer<[4, 8] x f32>
    }
  } }
  return
}

// -----

// A module may come with bound loops of another machine, already scheduled.
// expected-error @+1 {{kernel 'elsewhere': the loop 'i' is bound to 'lane', but the target runs units of kernels at 'thread' only}}
func.func private @elsewhere(%x: !tile.buffer<[4, 8] x f32>, %y: !tile.buffer<[4, 8] x f32>) attributes {
    tile.kernel, graph.symbols = [], tile.scheduled} {
  tile.for %i in 4 parallel attributes {level = "lane"} { tile.for %j in 8 {
    tile.block "copy" spatial(%vi in 4 = %i, %vj in 8 = %j) {
      %v = tile.load %x[%vi, %vj] : !tile.buffer<[4, 8] x f32>
      tile.store %v, %y[%vi, %vj] : !tile.buffer<[4, 8] x f32>
    }
  } }
  return
}

// -----

// A record of the database is left out then, and the rule schedules.
// CHECK-LABEL: func.func private @recorded
// CHECK-SAME: tile.extent = #graph.shape<[1]>
// expected-warning @+1 {{kernel 'recorded': its record in the database is not used: the loop 'j' is bound to 'thread', but is not the kernel's only outermost loop}}
func.func private @recorded(%x: !tile.buffer<[4, 8] x f32>, %y: !tile.buffer<[4, 8] x f32>) attributes {
    tile.kernel, graph.symbols = [], tile.record, tile.trace = ["%b = get_block \22copy\22", "%i, %j = get_loops %b", "bind %j, \22thread\22"]} {
  tile.for %i in 4 { tile.for %j in 8 {
    tile.block "copy" spatial(%vi in 4 = %i, %vj in 8 = %j) {
      %v = tile.load %x[%vi, %vj] : !tile.buffer<[4, 8] x f32>
      tile.store %v, %y[%vi, %vj] : !tile.buffer<[4, 8] x f32>
    }
  } }
  return
}
