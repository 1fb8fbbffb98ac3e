// Rows that come from memory are asked for one row before they are read and written; those that a cache holds are not.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,l3=64K %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,l3=64K --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=FLAT %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,l3=1M %s | FileCheck --check-prefix=CACHED %s
// RUN: perpend check %s --against interpreter --target x86-64-v3,l3=64K
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,l2=4K --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=PRODUCT %s
// RUN: perpend check %s --against interpreter --target x86-64-v3,l2=4K

func.func @main(%x: tensor<20x300xf32> {graph.name = "x"}, %a: tensor<64x40xf32> {graph.name = "a"}, %w: tensor<2x40x16xf32> {graph.name = "w"})
    -> (tensor<20x300xf32>, tensor<64x32xf32>) {
  %0 = graph.call_kernel @normalised(%x) : (tensor<20x300xf32>) -> tensor<20x300xf32>
  %1 = graph.call_kernel @product(%a, %w) : (tensor<64x40xf32>, tensor<2x40x16xf32>) -> tensor<64x32xf32>
  return %0, %1 : tensor<20x300xf32>, tensor<64x32xf32>
}

// SCHEDULED: "annotate %fused_i0, \22prefetch\22, 1 : i64"
// SCHEDULED: tile.for %fused_i0 in 20 parallel attributes {prefetch = 1 : i64} {
// CACHED: @normalised
// CACHED-NOT: prefetch
// CACHED: @gathered

// FLAT: scf.for %[[ROW:.*]] = %arg3 to %arg4
// FLAT: %[[NEXT:.*]] = arith.addi %{{.*}}, %c300
// FLAT: scf.for %[[I:.*]] = %c0 to %c300 step %c16 {
// FLAT: %[[AT:.*]] = arith.addi %{{.*}}, %[[I]]
// FLAT: memref.prefetch %arg0[%[[AT]]], read, locality<3>, data
// FLAT: scf.for
// FLAT: memref.prefetch %arg1[{{.*}}], write, locality<3>, data
func.func private @normalised(%x: tensor<20x300xf32>) -> tensor<20x300xf32> attributes {tile.kernel} {
  %0 = graph.reduce sum %x dims [1] : tensor<20x300xf32> -> tensor<20xf32>
  %1 = graph.broadcast %0 dims [0] : tensor<20xf32> -> tensor<20x300xf32>
  %2 = graph.map (%x, %1) : (tensor<20x300xf32>, tensor<20x300xf32>) -> tensor<20x300xf32> {
  ^bb0(%p: f32, %q: f32):
    %r = arith.divf %p, %q : f32
    graph.yield %r : f32
  }
  return %2 : tensor<20x300xf32>
}

// A row that is looked up is not known before: only what is written is asked for.
// GATHERED: memref.prefetch %arg2
// GATHERED-NOT: memref.prefetch
// RUN: perpend-opt --tile-flatten-blocks %s | FileCheck --check-prefix=GATHERED %s
func.func private @gathered(%x: !tile.buffer<[20, 300] x f32>, %s: !tile.buffer<[1] x i64>, %y: !tile.buffer<[10, 300] x f32>)
    attributes {tile.kernel, tile.schedule = {grain = 25 : i64}, tile.scheduled} {
  tile.for %f in 10 parallel attributes {prefetch = 1 : i64} {
    tile.for %i in 300 {
      tile.block "map" spatial(%vi in 10 = %f, %vj in 300 = %i) {
        %n = tile.load %s[0] : !tile.buffer<[1] x i64>
        %m = arith.index_cast %n : i64 to index
        %1 = tile.load %x[%vi + %m, %vj] : !tile.buffer<[20, 300] x f32>
        tile.store %1, %y[%vi, %vj] : !tile.buffer<[10, 300] x f32>
      }
    }
  }
  return
}

// A block of a result that no cache holds is a part of each row: before a row of it is written, that of the next block is
// asked for.
// PRODUCT-LABEL: func.func private @product
// PRODUCT: tile.call_intrinsic "f32.block" {{.*}} ahead(
// PRODUCT: memref.prefetch %arg2[{{.*}}], write, locality<3>, data
// PRODUCT: memref.store {{.*}} %arg2
// CACHED-LABEL: func.func private @product
// CACHED-COUNT-1: prefetch =
// CACHED-NOT: prefetch =
func.func private @product(%a: tensor<64x40xf32>, %w: tensor<2x40x16xf32>) -> tensor<64x32xf32> attributes {tile.kernel} {
  %0 = tile.matmul %a, %w : (tensor<64x40xf32>, tensor<2x40x16xf32>) -> tensor<64x32xf32>
  %1 = graph.map (%0) : (tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%p: f32):
    %r = arith.negf %p : f32
    graph.yield %r : f32
  }
  return %1 : tensor<64x32xf32>
}
