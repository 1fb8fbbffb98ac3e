// What lies across is transposed in registers; padding is filled before; where tiles do not divide, the rest follows; an
// index that is computed in the block keeps a kernel out.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=37

#x = #graph.shape<["n", 24]>
#t = #graph.shape<[24, "n"]>
#s = #graph.shape<["n"]>

func.func @main(%x: tensor<?x24xf32, #x> {graph.name = "x"}, %r: tensor<12x5x14xf32> {graph.name = "r"}, %i: tensor<2x9x13xf32> {graph.name = "i"}, %b: tensor<11x16xi8> {graph.name = "b"}, %p: tensor<16x24xi32> {graph.name = "p"}, %q: tensor<24x16xi32> {graph.name = "q"}, %c: tensor<1x14x14x24xf32> {graph.name = "c"}, %k: tensor<37x3x24xf32> {graph.name = "k"}) -> (tensor<24x?xf32, #t>, tensor<2x15x9xf32>, tensor<16x11xi8>, tensor<24x16xi32>, tensor<24x?xf32, #t>, tensor<7x16x12xf32>, tensor<1x24x14x14xf32>, tensor<3x5x24x8xf32>, tensor<24x16xi32>) {
  %0 = graph.call_kernel @across(%x) {graph.symbols = #s} : (tensor<?x24xf32, #x>) -> tensor<24x?xf32, #t>
  %1 = graph.call_kernel @padded(%i) : (tensor<2x9x13xf32>) -> tensor<2x15x9xf32>
  %2 = graph.call_kernel @bytes(%b) : (tensor<11x16xi8>) -> tensor<16x11xi8>
  %3 = graph.call_kernel @quotients(%p, %q) : (tensor<16x24xi32>, tensor<24x16xi32>) -> tensor<24x16xi32>
  %4 = graph.call_kernel @tangents(%x) {graph.symbols = #s} : (tensor<?x24xf32, #x>) -> tensor<24x?xf32, #t>
  %5 = graph.call_kernel @padded_rows(%r) : (tensor<12x5x14xf32>) -> tensor<7x16x12xf32>
  %6 = graph.call_kernel @planes(%c) : (tensor<1x14x14x24xf32>) -> tensor<1x24x14x14xf32>
  %7 = graph.call_kernel @panels(%k) : (tensor<37x3x24xf32>) -> tensor<3x5x24x8xf32>
  %8 = graph.call_kernel @turned(%p) : (tensor<16x24xi32>) -> tensor<24x16xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<24x?xf32, #t>, tensor<2x15x9xf32>, tensor<16x11xi8>, tensor<24x16xi32>, tensor<24x?xf32, #t>, tensor<7x16x12xf32>, tensor<1x24x14x14xf32>, tensor<3x5x24x8xf32>, tensor<24x16xi32>
}

// SCHEDULED-LABEL: func.func private @across
// SCHEDULED-SAME: "unroll %i0_1", "vectorize %i1_1"
// FLAT-LABEL: func.func private @across
// FLAT-COUNT-8: vector.load
// FLAT-COUNT-24: vector.shuffle
// FLAT: math.exp %{{.*}} : vector<8xf32>
// FLAT: vector.store
// FLAT: memref.load
// FLAT: math.exp %{{.*}} : f32
// FLAT-NOT: memref.load
func.func private @across(%x: tensor<?x24xf32, #x>) -> tensor<24x?xf32, #t> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<?x24xf32, #x> -> tensor<24x?xf32, #t>
  %1 = graph.map (%0) : (tensor<24x?xf32, #t>) -> tensor<24x?xf32, #t> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  return %1 : tensor<24x?xf32, #t>
}

// SCHEDULED-LABEL: func.func private @padded
// SCHEDULED-SAME: "%transpose_pad = decompose_padding %transpose, %i1"
// FLAT-LABEL: func.func private @padded
// FLAT: vector.store %cst
// FLAT: vector.shuffle
func.func private @padded(%x: tensor<2x9x13xf32>) -> tensor<2x15x9xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.pad %x <[0, 0, 1]> 2.5 : f32 : tensor<2x9x13xf32> -> tensor<2x9x15xf32>
  %1 = graph.transpose %0 [0, 2, 1] : tensor<2x9x15xf32> -> tensor<2x15x9xf32>
  return %1 : tensor<2x15x9xf32>
}

// What a whole row asks for, once: it needs no code of its own for the other rows.
// FLAT-LABEL: func.func private @padded_rows
// FLAT: scf.for %{{.*}} = %arg3 to %arg4
// FLAT: scf.if
// FLAT-COUNT-24: vector.shuffle
// FLAT-NOT: vector.shuffle
func.func private @padded_rows(%x: tensor<12x5x14xf32>) -> tensor<7x16x12xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.pad %x <[0, 1, 1]> 0.0 : f32 : tensor<12x5x14xf32> -> tensor<12x7x16xf32>
  %1 = graph.transpose %0 [1, 2, 0] : tensor<12x7x16xf32> -> tensor<7x16x12xf32>
  return %1 : tensor<7x16x12xf32>
}

// FLAT-LABEL: func.func private @bytes
// FLAT: vector.load {{.*}} vector<8xi8>
func.func private @bytes(%x: tensor<11x16xi8>) -> tensor<16x11xi8> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<11x16xi8> -> tensor<16x11xi8>
  return %0 : tensor<16x11xi8>
}

// Rows that are read backwards are whole vectors, too.
// FLAT-LABEL: func.func private @turned
// FLAT-COUNT-8: vector.load
// FLAT-COUNT-24: vector.shuffle
// FLAT-NOT: memref.load
// FLAT: return
func.func private @turned(%x: tensor<16x24xi32>) -> tensor<24x16xi32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<16x24xi32> -> tensor<24x16xi32>
  %1 = graph.slice %0 <[23, 0]> [-1, 1] : tensor<24x16xi32> -> tensor<24x16xi32>
  return %1 : tensor<24x16xi32>
}

// Divisors that are 0 end nothing: quotients of vectors are defined as those of numbers.
// FLAT-LABEL: func.func private @quotients
// FLAT: arith.divsi %{{.*}}, %{{.*}} : vector<8xi32>
func.func private @quotients(%p: tensor<16x24xi32>, %q: tensor<24x16xi32>) -> tensor<24x16xi32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %p [1, 0] : tensor<16x24xi32> -> tensor<24x16xi32>
  %1 = graph.map (%0, %q) : (tensor<24x16xi32>, tensor<24x16xi32>) -> tensor<24x16xi32> {
  ^bb0(%a: i32, %b: i32):
    %z = arith.divsi %a, %b : i32
    graph.yield %z : i32
  }
  return %1 : tensor<24x16xi32>
}

// A function of libm takes numbers: `check` compiles and runs it.
// FLAT-LABEL: func.func private @tangents
// FLAT: math.tan %{{.*}} : vector<8xf32>
func.func private @tangents(%x: tensor<?x24xf32, #x>) -> tensor<24x?xf32, #t> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<?x24xf32, #x> -> tensor<24x?xf32, #t>
  %1 = graph.map (%0) : (tensor<24x?xf32, #t>) -> tensor<24x?xf32, #t> {
  ^bb0(%a: f32):
    %e = math.tan %a : f32
    graph.yield %e : f32
  }
  return %1 : tensor<24x?xf32, #t>
}

// Rows and columns of a plane that stay together are one dimension: less is left behind whole tiles.
// SCHEDULED-LABEL: func.func private @planes
// SCHEDULED-SAME: "transform_block_layout %transpose, (i0, i1, i2, i3) -> (i1, 14*i2 + i3)"
func.func private @planes(%x: tensor<1x14x14x24xf32>) -> tensor<1x24x14x14xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [0, 3, 1, 2] : tensor<1x14x14x24xf32> -> tensor<1x24x14x14xf32>
  return %0 : tensor<1x24x14x14xf32>
}

// Panels of which the last is cut: those before it are transposed in registers, whatever they are a dimension of.
// SCHEDULED-LABEL: func.func private @panels
// SCHEDULED-SAME: = loop_partition %i1, [4, _]"
// SCHEDULED-SAME: "unroll
// FLAT-LABEL: func.func private @panels
// FLAT-NOT: scf.if
// FLAT-COUNT-24: vector.shuffle
// FLAT-NOT: vector.shuffle
// FLAT: scf.if
func.func private @panels(%x: tensor<37x3x24xf32>) -> tensor<3x5x24x8xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 2, 0] : tensor<37x3x24xf32> -> tensor<3x24x37xf32>
  %1 = graph.pad %0 <[0, 0, 0]> 0.0 : f32 : tensor<3x24x37xf32> -> tensor<3x24x40xf32>
  %2 = graph.reshape %1 : tensor<3x24x40xf32> -> tensor<3x24x5x8xf32>
  %3 = graph.transpose %2 [0, 2, 1, 3] : tensor<3x24x5x8xf32> -> tensor<3x5x24x8xf32>
  return %3 : tensor<3x5x24x8xf32>
}
