// From kernels of operators to loops, buffers and the functions of the module, one pass after another.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v4 %s | FileCheck --check-prefix=SCHEDULE %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck --check-prefix=SMALL %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --canonicalize %s | FileCheck --check-prefix=LOOPS %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory %s | FileCheck --check-prefix=PLAN %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --host-plan-memory --tile-lower-intrinsics --cpu-lower-main %s \
// RUN:   | FileCheck --check-prefix=MAIN %s

#x = #graph.shape<["n", 7]>
#c = #graph.shape<["n", 16]>
#n = #graph.shape<["n"]>

// The second product may not overwrite what it reads: two buffers.
// PLAN: host.segment @w0 at 0
// PLAN-LABEL: host.entry @main
// PLAN: host.buffer bytes [28*n] parts [1] live [0, 1] :
// PLAN: host.buffer bytes [28*n] parts [1] live [1, 2] :
// PLAN: host.constant @w0
// PLAN: host.launch @sign(%arg0) -> (%[[FIRST:.*]]) symbols
// PLAN: host.launch @sign(%[[FIRST]]) -> (%[[SECOND:.*]]) symbols
// PLAN: host.launch @product(%[[SECOND]], %{{.*}}) -> (%arg1) symbols

// MAIN-NOT: @main
// MAIN: func.func private @registers_f32.block_
// MAIN-NOT: @main(
// MAIN: func.func @perpend_bind
// MAIN: func.func @perpend_sizes
// MAIN: func.func @sign_entry
// MAIN: func.func @product_entry
// MAIN: func.func @perpend_run
func.func @main(%a: tensor<?x7xf32, #x> {graph.name = "a"}) -> (tensor<?x16xf32, #c> {graph.name = "y"}) {
  %w = graph.constant dense<2.0> : tensor<1x7x16xf32> : tensor<1x7x16xf32>
  %0 = graph.call_kernel @sign(%a) {graph.symbols = #n} : (tensor<?x7xf32, #x>) -> tensor<?x7xf32, #x>
  %1 = graph.call_kernel @sign(%0) {graph.symbols = #n} : (tensor<?x7xf32, #x>) -> tensor<?x7xf32, #x>
  %2 = graph.call_kernel @product(%1, %w) {graph.symbols = #n} : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> tensor<?x16xf32, #c>
  return %2 : tensor<?x16xf32, #c>
}

// SCHEDULE: @sign({{.*}} tile.schedule = {grain = {{[0-9]+}} : i64}
// LOOPS-LABEL: func.func private @sign
// LOOPS-SAME: (%[[IN:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<?xf32>, %{{.*}}: memref<?xi64>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// LOOPS-SAME: tile.extent = #graph.shape<["floordiv(7*n + 63, 64)"]>
// LOOPS: %[[WHOLE:.*]] = arith.minsi %[[END]],
// LOOPS: scf.for %{{.*}} = %[[BEGIN]] to %[[WHOLE]]
// LOOPS: %[[X:.*]] = vector.load %[[IN]][
// LOOPS-NEXT: %[[Y:.*]] = arith.negf %[[X]]
// LOOPS: vector.store %[[Y]], %[[OUT]][
func.func private @sign(%a: tensor<?x7xf32, #x>) -> tensor<?x7xf32, #x> attributes {graph.symbols = ["n"], tile.kernel} {
  %s = graph.map (%a) : (tensor<?x7xf32, #x>) -> tensor<?x7xf32, #x> {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    graph.yield %y : f32
  }
  return %s : tensor<?x7xf32, #x>
}

// One vector of sixteen columns leaves room for many rows; two vectors of eight take six.
// SCHEDULE: @product({{.*}} tile.schedule = {grain = {{[0-9]+}} : i64}, {{.*}} "%i0_0, %i0_1, %i0_2 = split %i0, [_, 2, 24]", "%i1_0, %i1_1 = split %i1, [_, 16]"
// SMALL: @product({{.*}} tile.schedule = {grain = {{[0-9]+}} : i64}, {{.*}} "%i0_0, %i0_1, %i0_2 = split %i0, [_, 6, 6]", "%i1_0, %i1_1 = split %i1, [_, 16]"
// The epilogue is done on the block while it is in the cache.
// LOOPS-LABEL: func.func private @product
// LOOPS: %[[BLOCK:.*]] = memref.alloca
// LOOPS: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c24)
// LOOPS: memref.load %[[BLOCK]]
// LOOPS: math.exp
// LOOPS: memref.store
func.func private @product(%a: tensor<?x7xf32, #x>, %w: tensor<1x7x16xf32>) -> tensor<?x16xf32, #c> attributes {graph.symbols = ["n"], tile.kernel} {
  %c = tile.matmul %a, %w : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> tensor<?x16xf32, #c>
  %e = graph.map (%c) : (tensor<?x16xf32, #c>) -> tensor<?x16xf32, #c> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    graph.yield %y : f32
  }
  return %e : tensor<?x16xf32, #c>
}
