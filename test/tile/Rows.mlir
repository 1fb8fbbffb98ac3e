// A chain of rows as blocks: one nest for each value that is kept, then all of them in one loop over rows, then loops on
// memory with the sums in registers.
// RUN: perpend-opt --tile-build-blocks %s | FileCheck --check-prefix=BUILT %s
// RUN: perpend-opt --tile-build-blocks %s | perpend-opt | FileCheck --check-prefix=BUILT %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --symbol n=0 --symbol m=5
// RUN: perpend check %s --against interpreter --symbol n=1 --symbol m=1
// RUN: perpend check %s --against interpreter --symbol n=11 --symbol m=3

#x = #graph.shape<["n", "m", 7]>
#r = #graph.shape<["n", "m"]>
#s = #graph.shape<["n", "m"]>

func.func @main(%x: tensor<?x?x7xf32, #x> {graph.name = "x"}) -> tensor<?x?x7xf32, #x> {
  %0 = graph.call_kernel @softmax(%x) {graph.symbols = #s} : (tensor<?x?x7xf32, #x>) -> tensor<?x?x7xf32, #x>
  return %0 : tensor<?x?x7xf32, #x>
}

// BUILT-LABEL: func.func private @softmax
// BUILT-SAME: (%arg0: !tile.buffer<[n, m, 7] x f32>, %arg1: !tile.buffer<[n, m, 7] x f32>)
// BUILT: %[[MAX:.*]] = tile.alloc "reduce" : !tile.buffer<[n, m] x f32, local>
// BUILT-NEXT: tile.for %i0 in n {
// BUILT-NEXT: tile.for %i1 in m {
// BUILT-NEXT: tile.for %k0 in 7 {
// BUILT-NEXT: tile.block "reduce" spatial(%vi0 in n = %i0, %vi1 in m = %i1) reduced(%vk0 in 7 = %k0) {
// BUILT-NEXT: tile.init {
// BUILT: tile.store %{{.*}}, %[[MAX]][%vi0, %vi1]
// BUILT: tile.load %arg0[%vi0, %vi1, %vk0]
// BUILT: tile.block "map"
// BUILT: tile.block "reduce_1"
// BUILT: tile.block "map_1"

// SCHEDULED: tile.trace = ["%reduce = get_block \22reduce\22", {{.*}}"%i0, %i1, %i2 = get_loops %map_1", "%fused_i0_i1 = fuse %i0, %i1", {{.*}}"compute_at %reduce, %fused_i0_i1", "parallel %fused_i0_i1"]
// SCHEDULED-NEXT: tile.for %fused_i0_i1 in m*n parallel {
// SCHEDULED-NEXT: tile.alloc "reduce" : !tile.buffer<[1, 1] x f32, local>
// SCHEDULED-NEXT: tile.alloc "map" : !tile.buffer<[1, 1, 7] x f32, local>
// SCHEDULED-NEXT: tile.alloc "reduce_1" : !tile.buffer<[1, 1] x f32, local>
// SCHEDULED-NEXT: tile.for %k0 in 7 {
// SCHEDULED-NEXT: tile.block "reduce" spatial(%vi0 in n = floordiv(%fused_i0_i1, max(m, 1)), %vi1 in m = mod(%fused_i0_i1, max(m, 1))) reduced(%vk0 in 7 = %k0) {

// FLAT-LABEL: func.func private @softmax
// FLAT-SAME: tile.extent = #graph.shape<["m*n"]>
// FLAT: scf.for
// FLAT: %[[SUM:.*]] = scf.for {{.*}} iter_args
// FLAT-NOT: tile.
func.func private @softmax(%x: tensor<?x?x7xf32, #x>) -> tensor<?x?x7xf32, #x> attributes {tile.kernel, graph.symbols = ["n", "m"]} {
  %0 = graph.reduce max %x dims [2] : tensor<?x?x7xf32, #x> -> tensor<?x?xf32, #r>
  %1 = graph.broadcast %0 dims [0, 1] : tensor<?x?xf32, #r> -> tensor<?x?x7xf32, #x>
  %2 = graph.map (%x, %1) : (tensor<?x?x7xf32, #x>, tensor<?x?x7xf32, #x>) -> tensor<?x?x7xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %a, %b : f32
    %e = math.exp %s : f32
    graph.yield %e : f32
  }
  %3 = graph.reduce sum %2 dims [2] : tensor<?x?x7xf32, #x> -> tensor<?x?xf32, #r>
  %4 = graph.broadcast %3 dims [0, 1] : tensor<?x?xf32, #r> -> tensor<?x?x7xf32, #x>
  %5 = graph.map (%2, %4) : (tensor<?x?x7xf32, #x>, tensor<?x?x7xf32, #x>) -> tensor<?x?x7xf32, #x> {
  ^bb0(%a: f32, %b: f32):
    %q = arith.divf %a, %b : f32
    graph.yield %q : f32
  }
  return %5 : tensor<?x?x7xf32, #x>
}
