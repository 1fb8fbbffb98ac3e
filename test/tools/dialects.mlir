// perpend-opt knows upstream's dialects and passes beside Perpend's.
// RUN: perpend-opt --canonicalize %s | FileCheck %s
// RUN: perpend-opt --help | FileCheck --check-prefix=HELP %s

// HELP-DAG: --graph-fuse-kernels
// HELP-DAG: --host-plan-memory
// HELP-DAG: --cpu-lower-main
// HELP-DAG: --convert-linalg-to-loops
// HELP-DAG: --perpend-fuse

// CHECK-LABEL: func.func @upstream
func.func @upstream(%input: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: linalg.matmul
  %product = linalg.matmul ins(%input, %input : tensor<4x4xf32>, tensor<4x4xf32>) outs(%filled : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %product : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @symbolic
// CHECK-SAME: tensor<?x4xf32, #graph.shape<["n", 4]>>
func.func @symbolic(%input: tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["n", 4]>> {
  return %input : tensor<?x4xf32, #graph.shape<["n", 4]>>
}
