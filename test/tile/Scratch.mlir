// Local buffers lie on the stack as long as they fit there together (64 KiB); those that do not, and those of a size that
// symbols give, are scratch memory of the kernel.
// RUN: perpend-opt --tile-flatten-blocks --canonicalize --cse %s | FileCheck %s
// RUN: same-values %s 'builtin.module(tile-flatten-blocks)'

#x = #graph.shape<["n", "m"]>
func.func @main(%x: tensor<?x?xf32, #x> {graph.name = "x"}) -> tensor<?x?xf32, #x> {
  %0 = graph.call_kernel @twice(%x) {graph.symbols = #x} : (tensor<?x?xf32, #x>) -> tensor<?x?xf32, #x>
  return %0 : tensor<?x?xf32, #x>
}

// CHECK-LABEL: func.func private @twice(
// CHECK-SAME: %[[SYMBOLS:arg2]]: memref<?xi64>, %[[ROW:arg3]]: memref<?xf32>, %[[LONG:arg4]]: memref<?xi8>, %[[BEGIN:arg5]]: index, %[[END:arg6]]: index)
// CHECK-SAME: tile.scratch = #graph.shape<["m", 65537]>
// CHECK: %[[SHORT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[ROW]]
// CHECK: memref.store %{{.*}}, %[[SHORT]]
// CHECK: memref.store %{{.*}}, %[[LONG]]
func.func private @twice(%x: !tile.buffer<[n, m] x f32>, %y: !tile.buffer<[n, m] x f32>) attributes {tile.kernel, graph.symbols = ["n", "m"]} {
  tile.for %i in n parallel {
    %row = tile.alloc "row" : !tile.buffer<[m] x f32, local>
    %short = tile.alloc "short" : !tile.buffer<[8] x f32, local>
    %long = tile.alloc "long" : !tile.buffer<[65537] x i8, local>
    tile.for %j in m {
      tile.block "copy" spatial(%vi in n = %i, %vj in m = %j) {
        %v = tile.load %x[%vi, %vj] : !tile.buffer<[n, m] x f32>
        tile.store %v, %row[%vj] : !tile.buffer<[m] x f32, local>
      }
    }
    tile.for %j in 8 {
      tile.block "short" spatial(%vj in 8 = %j) {
        %v = arith.constant 2.0 : f32
        tile.store %v, %short[%vj] : !tile.buffer<[8] x f32, local>
      }
    }
    tile.for %j in 65537 {
      tile.block "long" spatial(%vj in 65537 = %j) {
        %v = arith.constant 3 : i8
        tile.store %v, %long[%vj] : !tile.buffer<[65537] x i8, local>
      }
    }
    tile.for %j in m {
      tile.block "out" spatial(%vi in n = %i, %vj in m = %j) {
        %v = tile.load %row[m - 1 - 1 * %vj] : !tile.buffer<[m] x f32, local>
        %s = tile.load %short[mod(%vj, 8)] : !tile.buffer<[8] x f32, local>
        %l = tile.load %long[-1 * mod(%vj, 65537) + 65536] : !tile.buffer<[65537] x i8, local>
        %lf = arith.sitofp %l : i8 to f32
        %p = arith.mulf %v, %s : f32
        %q = arith.addf %p, %lf : f32
        tile.store %q, %y[%vi, %vj] : !tile.buffer<[n, m] x f32>
      }
    }
  }
  return
}
