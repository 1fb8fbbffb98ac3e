// Kernels are told apart by what they do: names of symbols and values do not count, types, attributes and constants do.
// RUN: perpend-opt --split-input-file --graph-fuse-kernels %s | FileCheck %s
// The names are the same in every run, on every machine.
// RUN: perpend-opt --split-input-file --graph-fuse-kernels %s | FileCheck --check-prefix=NAMES %s

#n = #graph.shape<["n"]>
#m = #graph.shape<["m"]>

// CHECK: %[[A:.*]] = graph.call_kernel @[[EXP:exp_[0-9a-f]+]](%arg0) {{.*}}graph.symbols = #[[N:.*]]}
// CHECK: graph.call_kernel @[[EXP]](%arg1) {{.*}}graph.symbols = #[[M:.*]]}
// CHECK: graph.call_kernel @[[HALF:mul_[0-9a-f]+]](%{{.*}}) {{.*}}graph.symbols = #[[M]]}
// CHECK: graph.call_kernel @[[THIRD:mul_[0-9a-f]+]](%{{.*}}) {{.*}}graph.symbols = #[[M]]}
// CHECK: graph.call_kernel @transpose_{{[0-9a-f]+}}(
// CHECK-COUNT-4: func.func private
// CHECK-NOT: func.func private
// CHECK: {{^//}} {{-----$}}

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

// -----

// No name is taken twice, however much of the hash the module has names with.

// NAMES: graph.call_kernel @exp_330f93bb7ceebb84_3(
// NAMES: func.func private @exp_330f93bb7ceebb84_3(
#n = #graph.shape<["n"]>
func.func @main(%a: tensor<?xf32, #n>) -> tensor<?xf32, #n> {
  %0 = graph.map (%a) : (tensor<?xf32, #n>) -> tensor<?xf32, #n> {
  ^bb0(%x: f32):
    %y = math.exp %x : f32
    graph.yield %y : f32
  }
  return %0 : tensor<?xf32, #n>
}
func.func private @exp_330f()
func.func private @exp_330f93bb()
func.func private @exp_330f93bb7ceebb84()
func.func private @exp_330f93bb7ceebb84_2()
