// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// RUN: perpend-opt --graph-fuse-kernels=fuse=false %s | FileCheck --check-prefix=OFF %s
// RUN: same-values %s graph-fuse-kernels

#x = #graph.shape<["n", 7]>
#c = #graph.shape<["n", 16]>

// The operand of the product is stored, its epilogue is in the same kernel. The weights lie in memory although they are
// equal; the scale is an immediate.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = graph.constant {{.*}} : tensor<1x7x16xf32>
// CHECK: %[[S:.*]] = graph.call_kernel @[[SIGN:.*]](%arg0)
// CHECK: %[[R:.*]] = graph.call_kernel @[[PRODUCT:.*]](%[[S]], %[[W]])
// CHECK-NEXT: return %[[R]]
// CHECK: func.func private @[[SIGN]]({{.*}} attributes {graph.structure = "{{[0-9a-f]+}}", graph.symbols = ["n"], tile.kernel}
// CHECK: arith.negf
// CHECK: func.func private @[[PRODUCT]]({{.*}} attributes {graph.structure = "{{[0-9a-f]+}}", graph.symbols = ["n"], tile.kernel}
// CHECK-NOT: tensor<1x7x16xf32> : tensor<1x7x16xf32>
// CHECK: tile.matmul
// CHECK: arith.mulf

// OFF-COUNT-4: graph.call_kernel
// OFF: return
func.func @main(%a: tensor<?x7xf32, #x>) -> tensor<?x16xf32, #c> {
  %w = graph.constant dense<2.0> : tensor<1x7x16xf32> : tensor<1x7x16xf32>
  %k = graph.constant dense<3.0> : tensor<16xf32> : tensor<16xf32>
  %s = graph.map (%a) : (tensor<?x7xf32, #x>) -> tensor<?x7xf32, #x> {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    graph.yield %y : f32
  }
  %c = tile.matmul %s, %w : (tensor<?x7xf32, #x>, tensor<1x7x16xf32>) -> tensor<?x16xf32, #c>
  %b = graph.broadcast %k dims [1] : tensor<16xf32> -> tensor<?x16xf32, #c>
  %e = graph.map (%c, %b) : (tensor<?x16xf32, #c>, tensor<?x16xf32, #c>) -> tensor<?x16xf32, #c> {
  ^bb0(%x: f32, %z: f32):
    %y = arith.mulf %x, %z : f32
    graph.yield %y : f32
  }
  return %e : tensor<?x16xf32, #c>
}
