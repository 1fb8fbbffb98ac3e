// Where rows lie is computed by the kernel that looks them up, if the target does that once for each row.
// RUN: perpend-opt --graph-fuse-kernels=looks-up-once=true %s | FileCheck %s --check-prefix=ONCE
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s --check-prefix=AGAIN

// RUN: same-values %s "graph-fuse-kernels{looks-up-once=true}"

// ONCE-LABEL: func.func @main
// ONCE: call_kernel
// ONCE-NOT: call_kernel
// ONCE: return
// AGAIN-LABEL: func.func @main
// AGAIN: call_kernel
// AGAIN: call_kernel
// AGAIN-NOT: call_kernel
// AGAIN: return
func.func @main(%table: tensor<9x4xf32>, %index: tensor<6xi64>) -> tensor<6x4xf32> {
  %inside = graph.map (%index) : (tensor<6xi64>) -> tensor<6xi64> {
  ^bb0(%i: i64):
    %zero = arith.constant 0 : i64
    %count = arith.constant 9 : i64
    %isNegative = arith.cmpi slt, %i, %zero : i64
    %fromEnd = arith.addi %i, %count : i64
    %chosen = arith.select %isNegative, %fromEnd, %i : i64
    graph.yield %chosen : i64
  }
  %rows = graph.gather %table[%inside] axis 0 : (tensor<9x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  return %rows : tensor<6x4xf32>
}
