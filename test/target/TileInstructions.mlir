// The loop of a product in tiles is four loads and four products, and nothing else that tiles can do.
// RUN: perpend compile %s -o %t.so --target sapphirerapids
// RUN: llvm-objdump --disassemble --no-show-raw-insn %t.so | FileCheck %s --implicit-check-not=ldtilecfg --implicit-check-not=tilerelease --implicit-check-not=tilezero

// CHECK-COUNT-4: tilezero
// CHECK: tileloadd
// CHECK-NOT: tdpbf16ps
// CHECK: tileloadd
// CHECK-NOT: tdpbf16ps
// CHECK: tileloadd
// CHECK-NOT: tdpbf16ps
// CHECK: tileloadd
// CHECK-COUNT-4: tdpbf16ps
// CHECK-NOT: tileloadd
// CHECK: j{{[a-z]+}}
// CHECK-NOT: tdpbf16ps
// CHECK-COUNT-4: tilestored
// CHECK: ldtilecfg
// CHECK: tilerelease

#x = #graph.shape<[512, "k"]>
#w = #graph.shape<["k", 512]>

func.func @main(%x: tensor<512x?xbf16, #x>, %w: tensor<?x512xbf16, #w>) -> tensor<512x512xf32> {
  %a = graph.map (%x) : (tensor<512x?xbf16, #x>) -> tensor<512x?xf32, #x> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %b = graph.map (%w) : (tensor<?x512xbf16, #w>) -> tensor<?x512xf32, #w> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<512x?xf32, #x>, tensor<?x512xf32, #w>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}
