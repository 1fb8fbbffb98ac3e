// Results whose elements depend on one another: what is pulled into their kernels, and what a unit of work is.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck --check-prefix=FUSE %s
// RUN: perpend-opt --graph-fuse-kernels --tile-build-blocks --tile-schedule-blocks=target=znver5 --tile-flatten-blocks --canonicalize %s | FileCheck --check-prefix=LOOPS %s

#x = #graph.shape<["n", 70]>
#r = #graph.shape<["n"]>

// The indices and the updates are computed in the kernel of the scatter, which is stored; its user is another kernel.
// Keys are compared many times, so they are stored.
// FUSE-LABEL: func.func @main
// FUSE: %[[S:.*]] = graph.call_kernel @[[SCATTER:.*]](%arg0, %arg1, %arg2)
// FUSE: %[[N:.*]] = graph.call_kernel @[[NEGATE:.*]](%[[S]])
// FUSE: %[[O:.*]] = graph.call_kernel @[[SORT:.*]](%[[N]])
// FUSE: return %[[O]]
// FUSE: func.func private @[[SCATTER]](
// FUSE-COUNT-2: graph.map
// FUSE: graph.scatter
// FUSE: func.func private @[[NEGATE]](
// FUSE: func.func private @[[SORT]](
// FUSE-NOT: graph.map
// FUSE: graph.sort

// Two chunks of the 70 lanes of a scatter; the rows of the sort are units.
// LOOPS: func.func private @{{.*}}scatter_{{.*}}({{.*}}tile.extent = #graph.shape<[2]>
// LOOPS: scf.if
// LOOPS: func.func private @sort_{{.*}}({{.*}}tile.extent = #graph.shape<["n"]>
func.func @main(%a: tensor<?x70xf32, #x>, %i: tensor<5x1xi64>, %u: tensor<5x70xf32>) -> tensor<?x70xi64, #x> {
  %j = graph.map (%i) : (tensor<5x1xi64>) -> tensor<5x1xi64> {
  ^bb0(%p: i64):
    %q = arith.addi %p, %p : i64
    graph.yield %q : i64
  }
  %v = graph.map (%u) : (tensor<5x70xf32>) -> tensor<5x70xf32> {
  ^bb0(%p: f32):
    %q = arith.negf %p : f32
    graph.yield %q : f32
  }
  %s = graph.scatter %a [%j] by max to %v : (tensor<?x70xf32, #x>, tensor<5x1xi64>, tensor<5x70xf32>) -> tensor<?x70xf32, #x>
  %n = graph.map (%s) : (tensor<?x70xf32, #x>) -> tensor<?x70xf32, #x> {
  ^bb0(%p: f32):
    %q = arith.negf %p : f32
    graph.yield %q : f32
  }
  %o = graph.sort descending %n dim 1 : tensor<?x70xf32, #x> -> tensor<?x70xi64, #x>
  return %o : tensor<?x70xi64, #x>
}
