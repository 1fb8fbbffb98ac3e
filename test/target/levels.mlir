// At level 0 LLVM's passes are left out: its loops stay as they were emitted. From level 1 on they work on vectors,
// also where no schedule says so.
// RUN: perpend compile %s -O0 --target x86-64-v3 -o %t.O0.so
// RUN: llvm-objdump --disassemble %t.O0.so | FileCheck --check-prefix=NONE --implicit-check-not=vaddps %s
// RUN: perpend compile %s -O1 --target x86-64-v3 -o %t.O1.so
// RUN: llvm-objdump --disassemble %t.O1.so | FileCheck --check-prefix=SOME %s

// NONE: vaddss
// SOME: vaddps
func.func @main(%input: tensor<7xf32> {graph.name = "x"}) -> (tensor<7xf32> {graph.name = "y"}) {
  %result = graph.map (%input) : (tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%value: f32):
    %sum = arith.addf %value, %value : f32
    graph.yield %sum : f32
  }
  return %result : tensor<7xf32>
}
