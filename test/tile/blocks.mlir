// The text of loops around blocks on buffers, as it is printed and read again.
// RUN: perpend-opt %s | perpend-opt | FileCheck %s

// Scopes, extents with a minus, no dimensions.
// CHECK-LABEL: func.func private @buffers(
// CHECK-SAME: !tile.buffer<[h, 2*n - 1, 64] x f32>
// CHECK-SAME: !tile.buffer<[] x i8, accumulator>
// CHECK-SAME: !tile.buffer<[-1*m + n] x ui8>
func.func private @buffers(!tile.buffer<[h, n * 2 - 1, 64] x f32, global>, !tile.buffer<[] x i8, accumulator>,
                           !tile.buffer<[n - 1 * m] x ui8>)

// Every kind of loop and iterator, conditions, annotations, an init; expressions over variables and symbols.
// CHECK-LABEL: func.func private @sums
func.func private @sums(%a: !tile.buffer<[n, m] x f32>, %r: !tile.buffer<[n] x f32>) attributes {graph.symbols = ["n", "m"], tile.kernel} {
  // CHECK: tile.for %i_0 in floordiv(n + 7, 8) parallel attributes {grain = 3 : i64} {
  tile.for %i_0 in ceildiv(n, 8) parallel attributes {grain = 3} {
    // CHECK: %[[S:.*]] = tile.alloc "s" : !tile.buffer<[8] x f32, local>
    %s = tile.alloc "s" : !tile.buffer<[8] x f32, local>
    // CHECK: tile.for %k in m attributes {note = "in order"} {
    tile.for %k in m attributes {note = "in order"} {
      // CHECK: tile.for %i_1 in min(-8*%i_0 + n, 8) unrolled {
      tile.for %i_1 in min(8, n - 8 * %i_0) unrolled {
        // CHECK: tile.block "sum" spatial(%vi in n = 8*%i_0 + %i_1) reduced(%vk in m = %k) where(8*%i_0 + %i_1 < n) attributes {note = "kept"} {
        tile.block "sum" spatial(%vi in n = %i_0 * 8 + %i_1) reduced(%vk in m = %k) where(%i_0 * 8 + %i_1 < n) attributes {note = "kept"} {
          // CHECK: tile.init {
          tile.init {
            %zero = arith.constant 0.0 : f32
            // CHECK: tile.store %{{.*}}, %[[S]][mod(%vi, 8)] : !tile.buffer<[8] x f32, local>
            tile.store %zero, %s[mod(%vi, 8)] : !tile.buffer<[8] x f32, local>
          }
          // CHECK: tile.load %[[S]][mod(%vi, 8)]
          %old = tile.load %s[mod(%vi, 8)] : !tile.buffer<[8] x f32, local>
          // CHECK: tile.load %{{.*}}[%vi, -1*%vk + m - 1] : !tile.buffer<[n, m] x f32>
          %x = tile.load %a[%vi, m - 1 - 1 * %vk] : !tile.buffer<[n, m] x f32>
          %new = arith.addf %old, %x : f32
          tile.store %new, %s[mod(%vi, 8)] : !tile.buffer<[8] x f32, local>
        }
      }
    }
    // CHECK: tile.for %j in 8 vectorized {
    tile.for %j in 8 vectorized {
      // CHECK: tile.block "out" opaque(%vj in n = 8*%i_0 + %j) where(8*%i_0 + %j < n, %j < 8) {
      tile.block "out" opaque(%vj in n = %i_0 * 8 + %j) where(%i_0 * 8 + %j < n, %j < 8) {
        // CHECK: tile.index floordiv(%vj, 2)
        %half = tile.index floordiv(%vj, 2)
        %x = tile.load %s[mod(%vj, 8)] : !tile.buffer<[8] x f32, local>
        tile.store %x, %r[%vj] : !tile.buffer<[n] x f32>
      }
    }
  }
  return
}
