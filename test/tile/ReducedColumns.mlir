// Which loop is vectors: the columns, several vectors of them, where positions share no operand; the summed elements, where
// columns would be gathered; the columns again, where the summed elements would be gathered; none, where columns fill no
// vector.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=13
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1031

#nkm = #graph.shape<["n", 9, 96]>
#nm = #graph.shape<["n", 96]>
#nk = #graph.shape<["n", 5]>
#rows = #graph.shape<["n", 32]>
#n = #graph.shape<["n"]>
#bags = #graph.shape<["n", 20]>
#bagRows = #graph.shape<["n", 20, 32]>
func.func @main(%x: tensor<?x9x96xf32, #nkm> {graph.name = "x"}, %rows: tensor<7x32xf32> {graph.name = "rows"},
                %at: tensor<?xi64, #n> {graph.name = "at"}, %bags: tensor<?x20xi64, #bags> {graph.name = "bags"},
                %narrow: tensor<?x5xf32, #nk> {graph.name = "narrow"}) -> (tensor<?x96xf32, #nm>, tensor<?xf32, #n>, tensor<5xf32>, tensor<?x32xf32, #rows>) {
  %0 = graph.call_kernel @middle(%x) {graph.symbols = #n} : (tensor<?x9x96xf32, #nkm>) -> tensor<?x96xf32, #nm>
  %1 = graph.call_kernel @listed(%rows, %at) {graph.symbols = #n} : (tensor<7x32xf32>, tensor<?xi64, #n>) -> tensor<?xf32, #n>
  %2 = graph.call_kernel @odd(%narrow) {graph.symbols = #n} : (tensor<?x5xf32, #nk>) -> tensor<5xf32>
  %3 = graph.call_kernel @bags(%rows, %bags) {graph.symbols = #n} : (tensor<7x32xf32>, tensor<?x20xi64, #bags>) -> tensor<?x32xf32, #rows>
  return %0, %1, %2, %3 : tensor<?x96xf32, #nm>, tensor<?xf32, #n>, tensor<5xf32>, tensor<?x32xf32, #rows>
}

// Five columns, which no vector divides, are five sums in registers.
// CHECK-LABEL: func.func private @odd
// CHECK-SAME: by the rule reduction
// CHECK-SAME: split {{[^:]*}}5, 1]
// CHECK-SAME: unroll
func.func private @odd(%x: tensor<?x5xf32, #nk>) -> tensor<5xf32> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.reduce sum %x dims [0] : tensor<?x5xf32, #nk> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: func.func private @middle
// CHECK-SAME: by the rule reduction
// CHECK-SAME: vectorize
func.func private @middle(%x: tensor<?x9x96xf32, #nkm>) -> tensor<?x96xf32, #nm> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.reduce max %x dims [1] : tensor<?x9x96xf32, #nkm> -> tensor<?x96xf32, #nm>
  return %0 : tensor<?x96xf32, #nm>
}

// CHECK-LABEL: func.func private @listed
// CHECK-SAME: by the rule reduction
// CHECK-NOT: vectorize
func.func private @listed(%rows: tensor<7x32xf32>, %at: tensor<?xi64, #n>) -> tensor<?xf32, #n> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.gather %rows[%at] axis 0 : (tensor<7x32xf32>, tensor<?xi64, #n>) -> tensor<?x32xf32, #rows>
  %1 = graph.reduce sum %0 dims [1] : tensor<?x32xf32, #rows> -> tensor<?xf32, #n>
  return %1 : tensor<?xf32, #n>
}

// CHECK-LABEL: func.func private @bags
// CHECK-SAME: by the rule reduction
// CHECK-SAME: vectorize
func.func private @bags(%rows: tensor<7x32xf32>, %bags: tensor<?x20xi64, #bags>) -> tensor<?x32xf32, #rows> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.gather %rows[%bags] axis 0 : (tensor<7x32xf32>, tensor<?x20xi64, #bags>) -> tensor<?x20x32xf32, #bagRows>
  %1 = graph.reduce sum %0 dims [1] : tensor<?x20x32xf32, #bagRows> -> tensor<?x32xf32, #rows>
  return %1 : tensor<?x32xf32, #rows>
}
