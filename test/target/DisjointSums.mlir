// A product whose extents are powers of two, with a bias: LLVM writes the sums of its indices as `or`, and must still see
// that columns are neighbours.
// RUN: perpend inspect %s --stage asm --target znver5 | FileCheck %s

// CHECK-NOT: {{gather|scatter}}
// CHECK: vaddps {{.*}}%zmm
// CHECK-NOT: {{gather|scatter}}
func.func @main(%x: tensor<16384x32xf32> {graph.name = "x"}, %w: tensor<32x128xf32> {graph.name = "w"},
                %b: tensor<128xf32> {graph.name = "b"}) -> (tensor<16384x128xf32> {graph.name = "y"}) {
  %product = graph.contract %x, %w batch [] x [] over [1] x [0]
    : (tensor<16384x32xf32>, tensor<32x128xf32>) -> tensor<16384x128xf32>
  %bias = graph.broadcast %b dims [1] : tensor<128xf32> -> tensor<16384x128xf32>
  %y = graph.map (%product, %bias) : (tensor<16384x128xf32>, tensor<16384x128xf32>) -> tensor<16384x128xf32> {
  ^bb0(%p: f32, %q: f32):
    %sum = arith.addf %p, %q : f32
    graph.yield %sum : f32
  }
  return %y : tensor<16384x128xf32>
}
