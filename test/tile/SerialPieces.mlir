// A loop whose code chooses by index is emitted in pieces without a choice, also where the bounds of the pieces depend on
// the unit or on symbols; three operands behind one another make three pieces. A choice that depends on another loop stays.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks --canonicalize --cse %s | FileCheck %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=19
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=70000

#n = #graph.shape<["n"]>
#all = #graph.shape<["2*n + 7"]>
func.func @main(%x: tensor<300007xi64> {graph.name = "x"}, %a: tensor<?xf32, #n> {graph.name = "a"}, %b: tensor<7xf32> {graph.name = "b"})
    -> (tensor<300007xi64>, tensor<?xf32, #all>) {
  %0 = graph.call_kernel @rolled(%x) : (tensor<300007xi64>) -> tensor<300007xi64>
  %1 = graph.call_kernel @joined(%a, %b) {graph.symbols = #n} : (tensor<?xf32, #n>, tensor<7xf32>) -> tensor<?xf32, #all>
  return %0, %1 : tensor<300007xi64>, tensor<?xf32, #all>
}

// CHECK-LABEL: func.func private @rolled
// CHECK: scf.for
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.if
// CHECK: return
func.func private @rolled(%x: tensor<300007xi64>) -> tensor<300007xi64> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.slice %x <[300000]> [1] : tensor<300007xi64> -> tensor<7xi64>
  %1 = graph.slice %x <[0]> [1] : tensor<300007xi64> -> tensor<300000xi64>
  %2 = graph.concat %0, %1 axis 0 : (tensor<7xi64>, tensor<300000xi64>) -> tensor<300007xi64>
  return %2 : tensor<300007xi64>
}

// CHECK-LABEL: func.func private @joined
// CHECK: scf.for
// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.if
// CHECK: return
func.func private @joined(%a: tensor<?xf32, #n>, %b: tensor<7xf32>) -> tensor<?xf32, #all> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.concat %a, %b, %a axis 0 : (tensor<?xf32, #n>, tensor<7xf32>, tensor<?xf32, #n>) -> tensor<?xf32, #all>
  return %0 : tensor<?xf32, #all>
}
