// A loop that a sum does not go along begins it again in each iteration: it carries no sum in a register.
// RUN: perpend-opt --tile-flatten-blocks --canonicalize --cse %s | FileCheck %s
// RUN: perpend check %s --against interpreter

func.func @main(%x: tensor<4x5xf32> {graph.name = "x"}) -> tensor<4xf32> {
  %0 = graph.call_kernel @again(%x) : (tensor<4x5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @again(
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1 {
// CHECK-NEXT: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c5 step %c1 iter_args(
// CHECK: memref.store %[[SUM]]
func.func private @again(%x: !tile.buffer<[4, 5] x f32>, %y: !tile.buffer<[4] x f32>) attributes {tile.kernel} {
  tile.for %i in 4 parallel {
    tile.for %t in 2 {
      tile.for %k in 5 {
        tile.block "sum" spatial(%vi in 4 = %i) reduced(%vk in 5 = %k) {
          tile.init {
            %zero = arith.constant 0.0 : f32
            tile.store %zero, %y[%vi] : !tile.buffer<[4] x f32>
          }
          %s = tile.load %y[%vi] : !tile.buffer<[4] x f32>
          %v = tile.load %x[%vi, %vk] : !tile.buffer<[4, 5] x f32>
          %n = arith.addf %s, %v : f32
          tile.store %n, %y[%vi] : !tile.buffer<[4] x f32>
        }
      }
    }
  }
  return
}
