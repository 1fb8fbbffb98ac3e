// Values that are computed element by element: vectors of the last dimension, which is all of them where no operand tells
// the dimensions apart; pieces, where the code would choose; several results in one nest.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks --canonicalize --cse %s | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0 --symbol m=3
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1 --symbol m=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=37 --symbol m=13

#x = #graph.shape<["n", "m", 5]>
#l = #graph.shape<["n", 40]>
#s = #graph.shape<["n", "m"]>
#n = #graph.shape<["n"]>

func.func @main(%x: tensor<?x?x5xf32, #x> {graph.name = "x"}, %l: tensor<?x40xf32, #l> {graph.name = "l"}, %b: tensor<40xf32> {graph.name = "b"}, %c: tensor<20x30x3xf32> {graph.name = "c"}, %i: tensor<20x15x8xf16> {graph.name = "i"})
    -> (tensor<?x?x5xf32, #x>, tensor<?x40xf32, #l>, tensor<?x40xf32, #l>, tensor<20x30x3xf32>, tensor<20x15x8xf32>, tensor<20x17x3xf32>) {
  %0 = graph.call_kernel @flat(%x) {graph.symbols = #s} : (tensor<?x?x5xf32, #x>) -> tensor<?x?x5xf32, #x>
  %1:2 = graph.call_kernel @results(%l, %b) {graph.symbols = #n} : (tensor<?x40xf32, #l>, tensor<40xf32>) -> (tensor<?x40xf32, #l>, tensor<?x40xf32, #l>)
  %2 = graph.call_kernel @colours(%c) : (tensor<20x30x3xf32>) -> tensor<20x30x3xf32>
  %3 = graph.call_kernel @concat(%i) : (tensor<20x15x8xf16>) -> tensor<20x15x8xf32>
  %4 = graph.call_kernel @padded(%c) : (tensor<20x30x3xf32>) -> tensor<20x17x3xf32>
  return %0, %1#0, %1#1, %2, %3, %4 : tensor<?x?x5xf32, #x>, tensor<?x40xf32, #l>, tensor<?x40xf32, #l>, tensor<20x30x3xf32>, tensor<20x15x8xf32>, tensor<20x17x3xf32>
}

// SCHEDULED-LABEL: func.func private @flat
// SCHEDULED-SAME: "transform_block_layout %map, (i0, i1, i2) -> (5*i0*m + 5*i1 + i2)"
// SCHEDULED-SAME: "%t0_0, %t0_1, %t0_2 = split %t0, [_, 4, 8]", "unroll %t0_1", "vectorize %t0_2", "parallel %t0_0"
// No division finds the elements again.
// FLAT-LABEL: func.func private @flat
// FLAT: scf.for
// FLAT-NOT: arith.div
// FLAT-COUNT-4: vector.store
func.func private @flat(%x: tensor<?x?x5xf32, #x>) -> tensor<?x?x5xf32, #x> attributes {graph.symbols = ["n", "m"], tile.kernel, tile.schedule = {}} {
  %0 = graph.map (%x) : (tensor<?x?x5xf32, #x>) -> tensor<?x?x5xf32, #x> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  return %0 : tensor<?x?x5xf32, #x>
}

// SCHEDULED-LABEL: func.func private @results
// SCHEDULED-SAME: "%i0_m = merge %i0, %i0_1", "%i1_m = merge %i1, %i1_1"
// SCHEDULED-SAME: "vectorize %i1_m_
// FLAT-LABEL: func.func private @results
// FLAT: vector.store %{{.*}}, %arg2
// FLAT: math.exp %{{.*}} : vector<8xf32>
// FLAT: vector.store %{{.*}}, %arg3
func.func private @results(%x: tensor<?x40xf32, #l>, %b: tensor<40xf32>) -> (tensor<?x40xf32, #l>, tensor<?x40xf32, #l>) attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.broadcast %b dims [1] : tensor<40xf32> -> tensor<?x40xf32, #l>
  %1 = graph.map (%x, %0) : (tensor<?x40xf32, #l>, tensor<?x40xf32, #l>) -> tensor<?x40xf32, #l> {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    graph.yield %s : f32
  }
  %2 = graph.map (%1) : (tensor<?x40xf32, #l>) -> tensor<?x40xf32, #l> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  return %1, %2 : tensor<?x40xf32, #l>, tensor<?x40xf32, #l>
}

// What reads backwards is left to LLVM; three colours are one iteration of the loop around.
// SCHEDULED-LABEL: func.func private @colours
// SCHEDULED-SAME: "unroll %i2", "%fused_i0 = fuse %i0", "parallel %fused_i0"
func.func private @colours(%x: tensor<20x30x3xf32>) -> tensor<20x30x3xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.slice %x <[0, 0, 2]> [1, 1, -1] : tensor<20x30x3xf32> -> tensor<20x30x3xf32>
  return %0 : tensor<20x30x3xf32>
}

// SCHEDULED-LABEL: func.func private @concat
// SCHEDULED-SAME: "%i2_p0, %i2_p1 = loop_partition %i2, [4, 4]"
// SCHEDULED-SAME: "vectorize %i2_p0",{{.*}} "vectorize %i2_p1"
// FLAT-LABEL: func.func private @concat
// FLAT-NOT: scf.if
// FLAT: vector.load %arg0{{.*}} vector<4xf16>
// FLAT: arith.extf %{{.*}} : vector<4xf16> to vector<4xf32>
// FLAT: arith.negf %{{.*}} : vector<4xf32>
func.func private @concat(%x: tensor<20x15x8xf16>) -> tensor<20x15x8xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.map (%x) : (tensor<20x15x8xf16>) -> tensor<20x15x8xf32> {
  ^bb0(%a: f16):
    %e = arith.extf %a : f16 to f32
    graph.yield %e : f32
  }
  %1 = graph.slice %0 <[0, 0, 4]> [1, 1, 1] : tensor<20x15x8xf32> -> tensor<20x15x4xf32>
  %2 = graph.slice %0 <[0, 0, 0]> [1, 1, 1] : tensor<20x15x8xf32> -> tensor<20x15x4xf32>
  %3 = graph.map (%2) : (tensor<20x15x4xf32>) -> tensor<20x15x4xf32> {
  ^bb0(%a: f32):
    %e = arith.negf %a : f32
    graph.yield %e : f32
  }
  %4 = graph.concat %1, %3 axis 2 : (tensor<20x15x4xf32>, tensor<20x15x4xf32>) -> tensor<20x15x8xf32>
  return %4 : tensor<20x15x8xf32>
}

// The pieces are of the loop around the short one.
// SCHEDULED-LABEL: func.func private @padded
// SCHEDULED-SAME: "unroll %i2", "%i1_p0, %i1_p1, %i1_p2 = loop_partition %i1, [1, 15, 1]"
// FLAT-LABEL: func.func private @padded
// FLAT-NOT: scf.if
// FLAT: return
func.func private @padded(%x: tensor<20x30x3xf32>) -> tensor<20x17x3xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.slice %x <[0, 0, 0]> [1, 2, 1] : tensor<20x30x3xf32> -> tensor<20x15x3xf32>
  %1 = graph.pad %0 <[0, 1, 0]> 2.5 : f32 : tensor<20x15x3xf32> -> tensor<20x17x3xf32>
  return %1 : tensor<20x17x3xf32>
}

// A long last dimension is divided where those before it are too few: here into eight parts for each of two rows.
// SCHEDULED-LABEL: func.func private @long_rows
// SCHEDULED-SAME: "%i1_0, %i1_1, %i1_2 = split %i1, [_, 1568, 8]", "vectorize %i1_2", "%fused_i0_i1_0 = fuse %i0, %i1_0"
func.func private @long_rows(%a: tensor<2x100000xf32>, %b: tensor<100000xf32>) -> tensor<2x100000xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.broadcast %b dims [1] : tensor<100000xf32> -> tensor<2x100000xf32>
  %1 = graph.map (%a, %0) : (tensor<2x100000xf32>, tensor<2x100000xf32>) -> tensor<2x100000xf32> {
  ^bb0(%x: f32, %y: f32):
    %2 = arith.addf %x, %y : f32
    graph.yield %2 : f32
  }
  return %1 : tensor<2x100000xf32>
}
// Of a symbolic extent, parts that take microseconds; a row of few elements is one unit.
// SCHEDULED-LABEL: func.func private @backwards
// SCHEDULED-SAME: "%i1_0, %i1_1 = split %i1, [_, 4096]", "%fused_i0_i1_0 = fuse %i0, %i1_0", "parallel %fused_i0_i1_0"
func.func private @backwards(%a: tensor<2x?xf32, #graph.shape<[2, "n"]>>) -> tensor<2x?xf32, #graph.shape<[2, "n"]>> attributes {graph.symbols = ["n"], tile.kernel, tile.schedule = {}} {
  %0 = graph.slice %a <[0, "n - 1"]> [1, -1] : tensor<2x?xf32, #graph.shape<[2, "n"]>> -> tensor<2x?xf32, #graph.shape<[2, "n"]>>
  return %0 : tensor<2x?xf32, #graph.shape<[2, "n"]>>
}
// SCHEDULED-LABEL: func.func private @few
// SCHEDULED-SAME: "parallel %fused_i0"
func.func private @few(%a: tensor<2x700xf32>) -> tensor<2x700xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.slice %a <[0, 699]> [1, -1] : tensor<2x700xf32> -> tensor<2x700xf32>
  return %0 : tensor<2x700xf32>
}
