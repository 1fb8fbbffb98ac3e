// A chain of rows with products as blocks: a unit is a block of rows, with its scores in scratch memory; products are
// computed by an intrinsic, on whole panels, what stands between them row by row.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | perpend-opt --tile-flatten-blocks --canonicalize --cse | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0 --symbol m=3
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1 --symbol m=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=37 --symbol m=41

#q = #graph.shape<["n", 8]>
#k = #graph.shape<["floordiv(m + 15, 16)", 8, 16]>
#v = #graph.shape<[2, "m", 16]>
#s = #graph.shape<["n", "m"]>
#r = #graph.shape<["n"]>
#y = #graph.shape<["n", 24]>
#symbols = #graph.shape<["n", "m"]>

func.func @main(%q: tensor<?x8xf32, #q> {graph.name = "q"}, %k: tensor<?x8x16xf32, #k> {graph.name = "k"}, %v: tensor<2x?x16xf32, #v> {graph.name = "v"}) -> tensor<?x24xf32, #y> {
  %0 = graph.call_kernel @attention(%q, %k, %v) {graph.symbols = #symbols} : (tensor<?x8xf32, #q>, tensor<?x8x16xf32, #k>, tensor<2x?x16xf32, #v>) -> tensor<?x24xf32, #y>
  return %0 : tensor<?x24xf32, #y>
}

// How long a unit takes depends on m.
// SCHEDULED-LABEL: func.func private @attention
// SCHEDULED-SAME: tile.schedule = {estimate, grain = 1 : i64}
// SCHEDULED-SAME: = split %ax0, [_, 30]"
// SCHEDULED-SAME: "compute_at %matmul_1_1, %[[UNIT:[a-z0-9_]*]]", {{.*}}"compute_at %map_1, %[[UNIT]]"
// SCHEDULED-SAME: "compute_at %map, %i0", {{.*}}"compute_at %reduce, %i0", {{.*}}"compute_at %matmul, %[[UNIT]]", "parallel %[[UNIT]]"
// SCHEDULED-SAME: "storage_align %matmul_2, 0, -2, 16, 0"
// SCHEDULED: tile.for %{{.*}} in floordiv(n + 29, 30) parallel {
// SCHEDULED: tile.for %{{.*}} in floordiv(m + 15, 16) {
// SCHEDULED-NEXT: tile.for %{{.*}} in 5 {
// SCHEDULED-NEXT: tile.block "matmul_o" {{.*}} attributes {tensorized = "f32.block"} {
// SCHEDULED: tile.for %i0 in 30 {
// A row of exponentials, and no more.
// SCHEDULED: tile.alloc "map" : !tile.buffer<[1, m] x f32, local>
// SCHEDULED: tile.block "map_1"
// SCHEDULED: tile.block "matmul_1_o"

// No scalar loop stands for a panel that is cut.
// FLAT-LABEL: func.func private @attention
// FLAT-SAME: tile.scratch = #graph.shape<["480*floordiv(m + 15, 16)", "30*m", "m"]>
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c6)
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c1)
// FLAT-NEXT: }
// FLAT-NEXT: }
// FLAT-NEXT: }
// FLAT-NEXT: }
// FLAT: arith.maximumf
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c6)
func.func private @attention(%q: tensor<?x8xf32, #q>, %k: tensor<?x8x16xf32, #k>, %v: tensor<2x?x16xf32, #v>) -> tensor<?x24xf32, #y> attributes {tile.kernel, graph.symbols = ["n", "m"]} {
  %0 = tile.matmul %q, %k : (tensor<?x8xf32, #q>, tensor<?x8x16xf32, #k>) -> tensor<?x?xf32, #s>
  %1 = graph.reduce max %0 dims [1] : tensor<?x?xf32, #s> -> tensor<?xf32, #r>
  %2 = graph.broadcast %1 dims [0] : tensor<?xf32, #r> -> tensor<?x?xf32, #s>
  %3 = graph.map (%0, %2) : (tensor<?x?xf32, #s>, tensor<?x?xf32, #s>) -> tensor<?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %d = arith.subf %x, %z : f32
    %e = math.exp %d : f32
    graph.yield %e : f32
  }
  %4 = graph.reduce sum %3 dims [1] : tensor<?x?xf32, #s> -> tensor<?xf32, #r>
  %5 = graph.broadcast %4 dims [0] : tensor<?xf32, #r> -> tensor<?x?xf32, #s>
  %6 = graph.map (%3, %5) : (tensor<?x?xf32, #s>, tensor<?x?xf32, #s>) -> tensor<?x?xf32, #s> {
  ^bb0(%x: f32, %z: f32):
    %p = arith.divf %x, %z : f32
    graph.yield %p : f32
  }
  %7 = tile.matmul %6, %v : (tensor<?x?xf32, #s>, tensor<2x?x16xf32, #v>) -> tensor<?x24xf32, #y>
  return %7 : tensor<?x24xf32, #y>
}

// Rows of eight bytes for an element: fewer of them fit into the cache.
// SCHEDULED-LABEL: func.func private @doubles
// SCHEDULED-SAME: = split %ax0, [_, 12]"
func.func private @doubles(%q: tensor<?x8xf32, #q>, %k: tensor<32x8x16xf32>, %v: tensor<2x512x16xf32>) -> tensor<?x24xf32, #y> attributes {tile.kernel, graph.symbols = ["n"]} {
  %0 = tile.matmul %q, %k : (tensor<?x8xf32, #q>, tensor<32x8x16xf32>) -> tensor<?x512xf32, #graph.shape<["n", 512]>>
  %1 = graph.map (%0) : (tensor<?x512xf32, #graph.shape<["n", 512]>>) -> tensor<?x512xf64, #graph.shape<["n", 512]>> {
  ^bb0(%x: f32):
    %d = arith.extf %x : f32 to f64
    %e = math.exp %d : f64
    graph.yield %e : f64
  }
  %2 = graph.reduce sum %1 dims [1] : tensor<?x512xf64, #graph.shape<["n", 512]>> -> tensor<?xf64, #r>
  %3 = graph.broadcast %2 dims [0] : tensor<?xf64, #r> -> tensor<?x512xf64, #graph.shape<["n", 512]>>
  %4 = graph.map (%1, %3) : (tensor<?x512xf64, #graph.shape<["n", 512]>>, tensor<?x512xf64, #graph.shape<["n", 512]>>) -> tensor<?x512xf32, #graph.shape<["n", 512]>> {
  ^bb0(%x: f64, %z: f64):
    %p = arith.divf %x, %z : f64
    %t = arith.truncf %p : f64 to f32
    graph.yield %t : f32
  }
  %5 = tile.matmul %4, %v : (tensor<?x512xf32, #graph.shape<["n", 512]>>, tensor<2x512x16xf32>) -> tensor<?x24xf32, #y>
  return %5 : tensor<?x24xf32, #y>
}
