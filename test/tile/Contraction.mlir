// Products and convolutions as blocks: in registers by an intrinsic, what follows on the block that is there.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck --check-prefix=SCHEDULED %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | perpend-opt --tile-flatten-blocks --canonicalize --cse | FileCheck --check-prefix=FLAT %s
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=0
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=1
// RUN: perpend check %s --against interpreter --target x86-64-v3 --symbol n=13

#x = #graph.shape<["n", 40]>
#y = #graph.shape<["n", 37]>
#z = #graph.shape<["n", 9]>
#s = #graph.shape<["n"]>

func.func @main(%x: tensor<?x40xf32, #x> {graph.name = "x"}, %w: tensor<3x40x16xf32> {graph.name = "w"}, %b: tensor<37xf32> {graph.name = "b"},
                %i: tensor<1x9x15x8xi16> {graph.name = "i"}, %f: tensor<1x1x3x3x4x16x2xi16> {graph.name = "f"},
                %v: tensor<1x40x16xf32> {graph.name = "v"}, %c: tensor<1x9x18x8xf32> {graph.name = "c"}, %u: tensor<1x1x3x3x8x1xf32> {graph.name = "u"},
                %g: tensor<1x6x7x6xf32> {graph.name = "g"}, %h: tensor<2x2x3x3x3x16xf32> {graph.name = "h"},
                %t: tensor<1x9x4x8xf32> {graph.name = "t"}, %d: tensor<1x1x3x3x8x16xf32> {graph.name = "d"})
    -> (tensor<?x37xf32, #y>, tensor<1x7x13x16xi32>, tensor<?x9xf32, #z>, tensor<1x7x16x1xf32>, tensor<1x4x5x2x20xf32>, tensor<1x7x2x16xf32>) {
  %0 = graph.call_kernel @product(%x, %w, %b) {graph.symbols = #s} : (tensor<?x40xf32, #x>, tensor<3x40x16xf32>, tensor<37xf32>) -> tensor<?x37xf32, #y>
  %1 = graph.call_kernel @pairs(%i, %f) : (tensor<1x9x15x8xi16>, tensor<1x1x3x3x4x16x2xi16>) -> tensor<1x7x13x16xi32>
  %2 = graph.call_kernel @narrow(%x, %v) {graph.symbols = #s} : (tensor<?x40xf32, #x>, tensor<1x40x16xf32>) -> tensor<?x9xf32, #z>
  %3 = graph.call_kernel @column(%c, %u) : (tensor<1x9x18x8xf32>, tensor<1x1x3x3x8x1xf32>) -> tensor<1x7x16x1xf32>
  %4 = graph.call_kernel @groups(%g, %h) : (tensor<1x6x7x6xf32>, tensor<2x2x3x3x3x16xf32>) -> tensor<1x4x5x2x20xf32>
  %5 = graph.call_kernel @tower(%t, %d) : (tensor<1x9x4x8xf32>, tensor<1x1x3x3x8x16xf32>) -> tensor<1x7x2x16xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x37xf32, #y>, tensor<1x7x13x16xi32>, tensor<?x9xf32, #z>, tensor<1x7x16x1xf32>, tensor<1x4x5x2x20xf32>, tensor<1x7x2x16xf32>
}

// SCHEDULED-LABEL: func.func private @product
// SCHEDULED-SAME: "compute_at %matmul, %i0_1"
// SCHEDULED-SAME: "tensorize %{{.*}}, \22f32.block\22"
// SCHEDULED: tile.for %[[U:.*]] in {{.*}} parallel attributes {prefetch = 1 : i64} {
// SCHEDULED: tile.block "matmul_o" {{.*}} attributes {tensorized = "f32.block"} {
// SCHEDULED: tile.for %{{.*}} in 6 {
// SCHEDULED: tile.for %{{.*}} in 16 {
// SCHEDULED: tile.for %k0 in 40 {
// SCHEDULED: tile.block "matmul"
// SCHEDULED: tile.block "map"

// A block of all rows, or four of those that are left, then single ones; the columns that a panel has too many stay in the scratch block.
// FLAT-LABEL: func.func private @product
// FLAT: memref.alloca() {{.*}} : memref<96xf32>
// While six blocks of rows are multiplied by a panel, each asks for a part of the next: of 40 * 16 elements, 107.
// FLAT: %[[PART:.*]] = arith.muli %{{.*}}, %c107
// FLAT: %[[AHEAD:.*]] = arith.addi %[[PART]], %{{.*}}
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c6) ahead(%[[AHEAD]] in 6)
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c4)
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c1)
// FLAT-NOT: {{tile.call_intrinsic|arith.mulf}}
func.func private @product(%x: tensor<?x40xf32, #x>, %w: tensor<3x40x16xf32>, %b: tensor<37xf32>) -> tensor<?x37xf32, #y> attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = tile.matmul %x, %w : (tensor<?x40xf32, #x>, tensor<3x40x16xf32>) -> tensor<?x37xf32, #y>
  %1 = graph.broadcast %b dims [1] : tensor<37xf32> -> tensor<?x37xf32, #y>
  %2 = graph.map (%0, %1) : (tensor<?x37xf32, #y>, tensor<?x37xf32, #y>) -> tensor<?x37xf32, #y> {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    graph.yield %r : f32
  }
  return %2 : tensor<?x37xf32, #y>
}

// Written where it goes: no scratch block. Depth is that of a window's row.
// SCHEDULED-LABEL: func.func private @pairs
// SCHEDULED: attributes {tensorized = "i16.block"}
// FLAT-LABEL: func.func private @pairs
// FLAT-NOT: memref.alloca
// FLAT: tile.call_intrinsic "i16.block" {{.*}} extents(%c16, %c12, %c3, 
func.func private @pairs(%x: tensor<1x9x15x8xi16>, %w: tensor<1x1x3x3x4x16x2xi16>) -> tensor<1x7x13x16xi32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x15x8xi16>, tensor<1x1x3x3x4x16x2xi16>) -> tensor<1x7x13x16xi32>
  return %0 : tensor<1x7x13x16xi32>
}

// One word for each position of the window: depth is that of its row.
// SCHEDULED-LABEL: func.func private @words
// SCHEDULED: attributes {tensorized = "i16.block"}
// FLAT-LABEL: func.func private @words
// FLAT: tile.call_intrinsic "i16.block" {{.*}} extents(%c16, %c3, %c3, 
func.func private @words(%x: tensor<1x9x15x2xi16>, %w: tensor<1x1x3x3x1x16x2xi16>) -> tensor<1x7x13x16xi32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x15x2xi16>, tensor<1x1x3x3x1x16x2xi16>) -> tensor<1x7x13x16xi32>
  return %0 : tensor<1x7x13x16xi32>
}

// A panel wider than the product: its block has room for all columns.
// SCHEDULED-LABEL: func.func private @narrow
// SCHEDULED-SAME: "storage_align %{{.*}}, 0, 0, 16, 0"
// SCHEDULED: tile.alloc "matmul_out_local" {{.*}} : !tile.buffer<[6, 16] x f32, local>
// SCHEDULED: attributes {tensorized = "f32.block"}
// FLAT-LABEL: func.func private @narrow
// FLAT: memref.alloca() {{.*}} : memref<96xf32>
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c6)
// FLAT-NOT: arith.mulf

func.func private @narrow(%x: tensor<?x40xf32, #x>, %w: tensor<1x40x16xf32>) -> tensor<?x9xf32, #z> attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = tile.matmul %x, %w : (tensor<?x40xf32, #x>, tensor<1x40x16xf32>) -> tensor<?x9xf32, #z>
  return %0 : tensor<?x9xf32, #z>
}

// A single column, written where it goes.
// FLAT-LABEL: func.func private @column
// FLAT-NOT: memref.alloca
// FLAT: tile.call_intrinsic "f32.eights" {{.*}} extents(%c1, %{{.*}}, %c3, %c1, %c8)
// FLAT-NOT: arith.mulf
func.func private @column(%x: tensor<1x9x18x8xf32>, %w: tensor<1x1x3x3x8x1xf32>) -> tensor<1x7x16x1xf32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x18x8xf32>, tensor<1x1x3x3x8x1xf32>) -> tensor<1x7x16x1xf32>
  return %0 : tensor<1x7x16x1xf32>
}

// Groups whose columns do not fill panels: two panels of each, the second one cut.
// SCHEDULED-LABEL: func.func private @groups
// SCHEDULED: attributes {tensorized = "f32.block"}
// FLAT-LABEL: func.func private @groups
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c5)
// FLAT-NOT: {{tile.call_intrinsic|arith.mulf}}
func.func private @groups(%x: tensor<1x6x7x6xf32>, %w: tensor<2x2x3x3x3x16xf32>) -> tensor<1x4x5x2x20xf32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x6x7x6xf32>, tensor<2x2x3x3x3x16xf32>) -> tensor<1x4x5x2x20xf32>
  return %0 : tensor<1x4x5x2x20xf32>
}

// Of a narrow image, the rows of a block run along the height: 4 and 3 of 7, rather than 2 of 2.
// SCHEDULED-LABEL: func.func private @tower
// SCHEDULED-SAME: "{{%[a-z0-9_, %]*}} = split %i1, [_, 4]"
// FLAT-LABEL: func.func private @tower
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c3, %c1, %c4)
// FLAT: tile.call_intrinsic "f32.block" {{.*}} extents(%c16, %{{.*}}, %c3, %c1, %c3)
// FLAT-NOT: {{tile.call_intrinsic|arith.mulf}}
func.func private @tower(%x: tensor<1x9x4x8xf32>, %w: tensor<1x1x3x3x8x16xf32>) -> tensor<1x7x2x16xf32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x4x8xf32>, tensor<1x1x3x3x8x16xf32>) -> tensor<1x7x2x16xf32>
  return %0 : tensor<1x7x2x16xf32>
}

// No cache holds all of a tall one: the height gives the units.
// SCHEDULED-LABEL: func.func private @column_of_pixels
// SCHEDULED-SAME: "{{%[a-z0-9_, %]*}} = split %i1, [_, {{[0-9]+}}]", "{{%[a-z0-9_, %]*}} = split %i2, [_, 2]"
// SCHEDULED-SAME: "reorder %i1_0, %i3_0, %i1_1, %i2_0, %i2_1, %i3_1
// FLAT-LABEL: func.func private @column_of_pixels
func.func private @column_of_pixels(%x: tensor<1x4096x2x64xf32>, %w: tensor<1x1x1x1x64x16xf32>) -> tensor<1x4096x2x16xf32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x4096x2x64xf32>, tensor<1x1x1x1x64x16xf32>) -> tensor<1x4096x2x16xf32>
  return %0 : tensor<1x4096x2x16xf32>
}
