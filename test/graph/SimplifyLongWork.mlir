// What takes long to fold stays, with a warning: each run computes it.
// RUN: perpend-opt --graph-simplify --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[PRODUCT:.*]] = graph.contract
// CHECK: return %[[PRODUCT]]
func.func @main() -> tensor<1024x1024xf32> {
  %a = graph.constant dense<2.0> : tensor<1024x1024xf32> : tensor<1024x1024xf32>
  %b = graph.constant dense<3.0> : tensor<1024x1024xf32> : tensor<1024x1024xf32>
  // expected-warning @+1 {{graph.contract: each run computes it, although it depends on constants alone: to fold it takes more than 536870912 operations}}
  %product = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %product : tensor<1024x1024xf32>
}
