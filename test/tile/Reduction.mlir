// Reductions of any length: vectors of sums where neighbours of the result are neighbours in what is read, else one element
// after another; long sums of numbers that are rounded are sums of sums.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v4 %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v4 --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --symbol n=0 --symbol m=5
// RUN: perpend check %s --against interpreter --symbol n=3 --symbol m=0
// RUN: perpend check %s --against interpreter --symbol n=1 --symbol m=1
// RUN: perpend check %s --against interpreter --symbol n=700 --symbol m=300
// RUN: perpend check %s --against interpreter --symbol n=9000 --symbol m=33

#nm = #graph.shape<["n", "m"]>
#m = #graph.shape<["m"]>
#n24 = #graph.shape<["n", 24]>
#n = #graph.shape<["n"]>
#image = #graph.shape<[1, "n", "m", 24]>
#nk = #graph.shape<["n", 20]>
func.func @main(%pixels: tensor<1x40x36x48xf32> {graph.name = "pixels"}, %table: tensor<?x?xf32, #nm> {graph.name = "table"},
                %rows: tensor<?x24xf32, #n24> {graph.name = "rows"}, %bits: tensor<?x20xi1, #nk> {graph.name = "bits"},
                %image: tensor<1x?x?x24xf32, #image> {graph.name = "image"})
    -> (tensor<1x48xf32>, tensor<?xf32, #m>, tensor<f32>, tensor<24xf32>, tensor<?xi1, #n>, tensor<1x24xf32>) {
  %0 = graph.call_kernel @mean(%pixels) : (tensor<1x40x36x48xf32>) -> tensor<1x48xf32>
  %1 = graph.call_kernel @columns(%table) {graph.symbols = #nm} : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #m>
  %2 = graph.call_kernel @all(%table) {graph.symbols = #nm} : (tensor<?x?xf32, #nm>) -> tensor<f32>
  %3 = graph.call_kernel @largest(%rows) {graph.symbols = #n} : (tensor<?x24xf32, #n24>) -> tensor<24xf32>
  %4 = graph.call_kernel @any(%bits) {graph.symbols = #n} : (tensor<?x20xi1, #nk>) -> tensor<?xi1, #n>
  %5 = graph.call_kernel @image(%image) {graph.symbols = #nm} : (tensor<1x?x?x24xf32, #image>) -> tensor<1x24xf32>
  return %0, %1, %2, %3, %4, %5
    : tensor<1x48xf32>, tensor<?xf32, #m>, tensor<f32>, tensor<24xf32>, tensor<?xi1, #n>, tensor<1x24xf32>
}

// A part is the rows of one line of pixels: three vectors of sums in registers.
// SCHEDULED: @mean({{.*}} "%reduce_rf = rfactor %fused_k0, 0"{{.*}}"compute_at %reduce_rf, %f"
// FLAT-LABEL: func.func private @mean
// FLAT: scf.for %{{.*}} = %c0 to %c40
// FLAT: scf.for %{{.*}} = %c0 to %c36
// FLAT-COUNT-3: arith.addf %{{.*}} : vector<16xf32>
func.func private @mean(%a: tensor<1x40x36x48xf32>) -> tensor<1x48xf32> attributes {tile.kernel} {
  %0 = graph.reduce sum %a dims [1, 2] : tensor<1x40x36x48xf32> -> tensor<1x48xf32>
  %1 = graph.map (%0) : (tensor<1x48xf32>) -> tensor<1x48xf32> {
  ^bb0(%x: f32):
    %c = arith.constant 1440.0 : f32
    %y = arith.divf %x, %c : f32
    graph.yield %y : f32
  }
  return %1 : tensor<1x48xf32>
}

// SCHEDULED: @columns({{.*}} "%k0_0, %k0_1 = split %k0, [_, 512]"{{.*}} "%reduce_rf = rfactor
func.func private @columns(%a: tensor<?x?xf32, #nm>) -> tensor<?xf32, #m> attributes {graph.symbols = ["n", "m"], tile.kernel} {
  %0 = graph.reduce sum %a dims [0] : tensor<?x?xf32, #nm> -> tensor<?xf32, #m>
  return %0 : tensor<?xf32, #m>
}

// The loop inside of a part carries its sum.
// SCHEDULED: @all({{.*}} "transform_block_layout %reduce, (i0, i1) -> (i0*m + i1)"{{.*}} "%t0_0, %t0_1 = split %t0, [_, 8192]"
// FLAT-LABEL: func.func private @all
// FLAT: scf.for {{.*}} iter_args(%{{.*}}) -> (f32)
func.func private @all(%a: tensor<?x?xf32, #nm>) -> tensor<f32> attributes {graph.symbols = ["n", "m"], tile.kernel} {
  %0 = graph.reduce sum %a dims [0, 1] : tensor<?x?xf32, #nm> -> tensor<f32>
  return %0 : tensor<f32>
}

// What does not round is in one part.
// SCHEDULED: @largest(
// SCHEDULED-NOT: rfactor
// SCHEDULED: @any(
func.func private @largest(%a: tensor<?x24xf32, #n24>) -> tensor<24xf32> attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = graph.reduce max %a dims [0] : tensor<?x24xf32, #n24> -> tensor<24xf32>
  return %0 : tensor<24xf32>
}

func.func private @any(%a: tensor<?x20xi1, #nk>) -> tensor<?xi1, #n> attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = graph.reduce max %a dims [1] : tensor<?x20xi1, #nk> -> tensor<?xi1, #n>
  return %0 : tensor<?xi1, #n>
}

// No columns.
// Lines of pixels whose number nobody knows are one loop, though there is but one image.
// SCHEDULED: @image({{.*}} "%reduce_rf = rfactor %{{.*}}, 0"{{.*}}"compute_at %reduce_rf, %f"
// FLAT-LABEL: func.func private @image
// FLAT: arith.addf %{{.*}} : vector<8xf32>
func.func private @image(%a: tensor<1x?x?x24xf32, #image>) -> tensor<1x24xf32> attributes {graph.symbols = ["n", "m"], tile.kernel} {
  %0 = graph.reduce sum %a dims [1, 2] : tensor<1x?x?x24xf32, #image> -> tensor<1x24xf32>
  %1 = graph.map (%0) : (tensor<1x24xf32>) -> tensor<1x24xf32> {
  ^bb0(%x: f32):
    %c = arith.constant 0.5 : f32
    %y = arith.mulf %x, %c : f32
    graph.yield %y : f32
  }
  return %1 : tensor<1x24xf32>
}

// SCHEDULED-LABEL: func.func private @no_columns
func.func private @no_columns(%a: tensor<50x0xf32>) -> tensor<0xf32> attributes {tile.kernel} {
  %0 = graph.reduce sum %a dims [0] : tensor<50x0xf32> -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// A sum along memory of at least two vectors is left to a loop of them; a shorter one, and one with a condition for each
// element, is written out.
// SCHEDULED: @vectors({{.*}}tile.trace = ["%reduce = get_block \22reduce\22"
// SCHEDULED-NOT: unroll
// SCHEDULED: @shorter({{.*}}"unroll %
// SCHEDULED: @edges({{.*}}"unroll %
func.func private @vectors(%a: tensor<50x33xf32>) -> tensor<50xf32> attributes {tile.kernel} {
  %0 = graph.reduce sum %a dims [1] : tensor<50x33xf32> -> tensor<50xf32>
  return %0 : tensor<50xf32>
}
func.func private @shorter(%a: tensor<50x31xf32>) -> tensor<50xf32> attributes {tile.kernel} {
  %0 = graph.reduce sum %a dims [1] : tensor<50x31xf32> -> tensor<50xf32>
  return %0 : tensor<50xf32>
}
func.func private @edges(%a: tensor<50x46xf32>) -> tensor<50xf32> attributes {tile.kernel} {
  %0 = graph.pad %a <[0, 1]> 0.0 : f32 : tensor<50x46xf32> -> tensor<50x48xf32>
  %1 = graph.reduce sum %0 dims [1] : tensor<50x48xf32> -> tensor<50xf32>
  return %1 : tensor<50xf32>
}
