// A comparison of what was f16 is one of f32 again, in vectors: LLVM narrows it, and the processor would compare number by
// number.
// RUN: perpend inspect %s --stage asm --target x86-64-v4 | FileCheck %s
// RUN: perpend inspect %s --stage asm --target sapphirerapids | FileCheck %s

// CHECK-NOT: vucomiss
// CHECK: vcmp{{[a-z]+}}ps {{.*}}%zmm
// CHECK-NOT: vucomiss
func.func @main(%x: tensor<512x1024xf16> {graph.name = "x"}) -> (tensor<512x1024xf16> {graph.name = "y"}) {
  %y = graph.map (%x) : (tensor<512x1024xf16>) -> tensor<512x1024xf16> {
  ^bb0(%narrow: f16):
    %number = arith.extf %narrow : f16 to f32
    %zero = arith.constant 0.0 : f32
    %largest = arith.maximumf %number, %zero : f32
    %rounded = arith.truncf %largest : f32 to f16
    graph.yield %rounded : f16
  }
  return %y : tensor<512x1024xf16>
}
