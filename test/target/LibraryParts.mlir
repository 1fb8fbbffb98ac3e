// A call of the library names the part for its type and its target, so that the artifact has no code of others.
// RUN: perpend compile %s --stop-after lower --target x86-64-v4 | FileCheck %s --check-prefix=WIDE
// RUN: perpend compile %s --stop-after lower --target x86-64-v3 | FileCheck %s --check-prefix=ANY
// RUN: perpend compile %s --stop-after lower --target aarch64 | FileCheck %s --check-prefix=ANY

// WIDE-DAG: llvm.func hidden @perpend_fourier_transform_floats_avx512(
// WIDE-DAG: llvm.func hidden @perpend_fourier_transform_doubles_avx512(
// ANY-NOT: avx512
// ANY-DAG: llvm.func hidden @perpend_fourier_transform_floats(
// ANY-DAG: llvm.func hidden @perpend_fourier_transform_doubles(
func.func @main(%x: tensor<2x8x1x1xf32> {graph.name = "x"}, %y: tensor<2x8x1x1xf64> {graph.name = "y"})
    -> (tensor<2x5x1x2xf32> {graph.name = "a"}, tensor<2x5x1x2xf64> {graph.name = "b"}) {
  %n = graph.constant dense<8> : tensor<1xi64> : tensor<1xi64>
  %a = graph.call_library "fourier.transform"(%x, %n) {} symbols [] : (tensor<2x8x1x1xf32>, tensor<1xi64>) -> tensor<2x5x1x2xf32>
  %b = graph.call_library "fourier.transform"(%y, %n) {} symbols [] : (tensor<2x8x1x1xf64>, tensor<1xi64>) -> tensor<2x5x1x2xf64>
  return %a, %b : tensor<2x5x1x2xf32>, tensor<2x5x1x2xf64>
}
