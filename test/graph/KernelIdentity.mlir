// Kernels are told apart by what they do: names of symbols and values do not count, types, attributes and constants do.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck %s
// The names are the same in every run, on every machine.
// RUN: perpend-opt --graph-fuse-kernels %s | FileCheck --check-prefix=NAMES %s

#n = #graph.shape<["n"]>
#m = #graph.shape<["m"]>

// CHECK: %[[A:.*]] = graph.call_kernel @[[EXP:exp_[0-9a-f]+]](%arg0) {{.*}}graph.symbols = #[[N:.*]]}
// CHECK: graph.call_kernel @[[EXP]](%arg1) {{.*}}graph.symbols = #[[M:.*]]}
// CHECK: graph.call_kernel @[[HALF:mul_[0-9a-f]+]](%{{.*}}) {{.*}}graph.symbols = #[[M]]}
// CHECK: graph.call_kernel @[[THIRD:mul_[0-9a-f]+]](%{{.*}}) {{.*}}graph.symbols = #[[M]]}
// CHECK: graph.call_kernel @transpose_{{[0-9a-f]+}}(
// CHECK-COUNT-4: func.func private
// CHECK-NOT: func.func private

// NAMES: @exp_330f(
// NAMES: @mul_c08f(
// NAMES: @mul_7408(
// NAMES: @transpose_f471(
func.func @main(%a: tensor<?xf32, #n>, %b: tensor<?xf32, #m>, %t: tensor<2x3xf32>)
    -> (tensor<?xf32, #n>, tensor<?xf32, #m>, tensor<?xf32, #m>, tensor<?xf32, #m>, tensor<3x2xf32>) {
  %0 = graph.map (%a) : (tensor<?xf32, #n>) -> tensor<?xf32, #n> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    graph.yield %y : f32
  }
  %1 = graph.map (%b) : (tensor<?xf32, #m>) -> tensor<?xf32, #m> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    graph.yield %y : f32
  }
  %2 = graph.map (%b) : (tensor<?xf32, #m>) -> tensor<?xf32, #m> {
  ^bb0(%x: f32):
    %c = arith.constant 0.5 : f32
    %y = arith.mulf %x, %c : f32
    graph.yield %y : f32
  }
  %3 = graph.map (%b) : (tensor<?xf32, #m>) -> tensor<?xf32, #m> {
  ^bb0(%x: f32):
    %c = arith.constant 0.25 : f32
    %y = arith.mulf %x, %c : f32
    graph.yield %y : f32
  }
  %4 = graph.transpose %t [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return %0, %1, %2, %3, %4 : tensor<?xf32, #n>, tensor<?xf32, #m>, tensor<?xf32, #m>, tensor<?xf32, #m>, tensor<3x2xf32>
}
