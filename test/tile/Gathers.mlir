// Elements at indices that were loaded, along the last dimension: vectors of indices, and gathers. The same with checks of
// accesses, and with elements that processors do not gather.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v4 --tile-flatten-blocks --canonicalize --cse %s | FileCheck %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0
// RUN: %if avx512 %{ perpend check %s --against interpreter --target x86-64-v4 --symbol n=7 %}
// RUN: perpend check %s --against interpreter --target x86-64 --symbol n=16
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=37 --checked

#x = #graph.shape<["n", 9]>
#y = #graph.shape<["n", 40]>
#n = #graph.shape<["n"]>

func.func @main(%x: tensor<?x9xf32, #x> {graph.name = "x"}, %h: tensor<?x9xf16, #x> {graph.name = "h"}, %i: tensor<40xi32> {graph.name = "i"}, %w: tensor<40xf32> {graph.name = "w"})
    -> (tensor<?x40xf32, #y>, tensor<?x40xf16, #y>) {
  %0 = graph.call_kernel @weighted(%x, %i, %w) {graph.symbols = #n} : (tensor<?x9xf32, #x>, tensor<40xi32>, tensor<40xf32>) -> tensor<?x40xf32, #y>
  %1 = graph.call_kernel @halves(%h, %i) {graph.symbols = #n} : (tensor<?x9xf16, #x>, tensor<40xi32>) -> tensor<?x40xf16, #y>
  return %0, %1 : tensor<?x40xf32, #y>, tensor<?x40xf16, #y>
}

// CHECK-LABEL: func.func private @weighted
// CHECK: %[[I:.*]] = vector.load %arg1[%{{.*}}] : memref<?xi32>, vector<16xi32>
// CHECK: arith.index_cast %[[I]] : vector<16xi32> to vector<16xindex>
// CHECK: vector.gather %arg0[%{{.*}}] [%{{.*}}], {{.*}} into vector<16xf32>
// CHECK: arith.mulf %{{.*}} : vector<16xf32>
// CHECK: vector.store
func.func private @weighted(%x: tensor<?x9xf32, #x>, %i: tensor<40xi32>, %w: tensor<40xf32>) -> tensor<?x40xf32, #y> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %g = graph.gather %x[%i] axis 1 : (tensor<?x9xf32, #x>, tensor<40xi32>) -> tensor<?x40xf32, #y>
  %b = graph.broadcast %w dims [1] : tensor<40xf32> -> tensor<?x40xf32, #y>
  %m = graph.map (%g, %b) : (tensor<?x40xf32, #y>, tensor<?x40xf32, #y>) -> tensor<?x40xf32, #y> {
  ^bb0(%p: f32, %s: f32):
    %u = arith.mulf %p, %s : f32
    graph.yield %u : f32
  }
  return %m : tensor<?x40xf32, #y>
}

func.func private @halves(%h: tensor<?x9xf16, #x>, %i: tensor<40xi32>) -> tensor<?x40xf16, #y> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %g = graph.gather %h[%i] axis 1 : (tensor<?x9xf16, #x>, tensor<40xi32>) -> tensor<?x40xf16, #y>
  return %g : tensor<?x40xf16, #y>
}
