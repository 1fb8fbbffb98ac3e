// Where a row of an image is less than a register of a matrix has, a block is two lines of it.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=sapphirerapids %s | FileCheck %s --check-prefix=SCHEDULED
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=sapphirerapids %s | perpend-opt --tile-flatten-blocks --canonicalize --cse | FileCheck %s --check-prefix=FLAT

// Of seven lines, three pairs and one. The window's row is one sum with the channels.
// SCHEDULED-LABEL: func.func private @pairs
// SCHEDULED-SAME: "%i1_0, %i1_1, %i1_2 = split %i1, [_, {{[0-9]+}}, 2]", "%i2_0, %i2_1 = split %i2, [_, 7]", "%i3_0, %i3_1 = split %i3, [_, 32]",
// SCHEDULED-SAME: "reorder %i1_0, %i3_0, %i1_1, %i2_0, %i1_2, %i2_1, %i3_1"
// SCHEDULED: tile.alloc "conv" : !tile.buffer<[1, 2, 7, 32] x f32, local>
// SCHEDULED-NEXT: tile.block "conv_o" {{.*}} attributes {tensorized = "amx.bf16.block"} {
// SCHEDULED-NEXT: tile.for %{{.*}} in 2 {
// SCHEDULED-NEXT: tile.for %{{.*}} in 7 {
// SCHEDULED-NEXT: tile.for %{{.*}} in 32 {
// SCHEDULED: tile.block "map"
// FLAT-LABEL: func.func private @pairs
// FLAT: %[[PAIR:.*]] = arith.cmpi sge, %{{.*}}, %c2
// FLAT: scf.if %[[PAIR]] {
// FLAT: tile.call_intrinsic "amx.bf16.block" {{.*}} extents(%c32, %c96, %c3, %c2, %c1, %c7)
// FLAT: } else {
// FLAT: tile.call_intrinsic "amx.bf16.block" {{.*}} extents(%c32, %c96, %c3, %c1, %c1, %c7)
// FLAT-NOT: {{tile.call_intrinsic|arith.mulf}}
func.func private @pairs(%x: tensor<1x9x9x64xbf16>, %w: tensor<1x2x3x3x32x32x2xbf16>) -> tensor<1x7x7x64xf32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x9x64xbf16>, tensor<1x2x3x3x32x32x2xbf16>) -> tensor<1x7x7x64xf32>
  %1 = graph.map (%0) : (tensor<1x7x7x64xf32>) -> tensor<1x7x7x64xf32> {
  ^bb0(%p: f32):
    %q = arith.negf %p : f32
    graph.yield %q : f32
  }
  return %1 : tensor<1x7x7x64xf32>
}

// A block of 17 rows has two registers of one line.
// SCHEDULED-LABEL: func.func private @wide
// SCHEDULED: attributes {tensorized = "amx.i8.block"}
// FLAT-LABEL: func.func private @wide
// FLAT: tile.call_intrinsic "amx.i8.block" {{.*}} extents(%c32, %c48, %c3, %c1, %c1, %c17)
func.func private @wide(%x: tensor<1x9x19x64xui8>, %w: tensor<1x1x3x3x16x32x4xi8>) -> tensor<1x7x17x32xi32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x19x64xui8>, tensor<1x1x3x3x16x32x4xi8>) -> tensor<1x7x17x32xi32>
  return %0 : tensor<1x7x17x32xi32>
}

// Two images of one line each are lines, too.
// SCHEDULED-LABEL: func.func private @images
// FLAT-LABEL: func.func private @images
// FLAT: tile.call_intrinsic "amx.i8.block" {{.*}} extents(%c32, %c48, %c3, %c2, %c1, %c14)
func.func private @images(%x: tensor<2x3x16x64xui8>, %w: tensor<1x1x3x3x16x32x4xi8>) -> tensor<2x1x14x32xi32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<2x3x16x64xui8>, tensor<1x1x3x3x16x32x4xi8>) -> tensor<2x1x14x32xi32>
  return %0 : tensor<2x1x14x32xi32>
}

// A sum that is not one of whole registers is for vectors, of one line.
// SCHEDULED-LABEL: func.func private @groups
// SCHEDULED: attributes {tensorized = "bf16.block"}
// FLAT-LABEL: func.func private @groups
// FLAT: tile.call_intrinsic "bf16.block" {{.*}} extents(%c16, %c12, %c3, %c3, %c7)
func.func private @groups(%x: tensor<1x9x9x48xbf16>, %w: tensor<2x1x3x3x12x16x2xbf16>) -> tensor<1x7x7x2x16xf32> attributes {tile.kernel} {
  %0 = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x9x9x48xbf16>, tensor<2x1x3x3x12x16x2xbf16>) -> tensor<1x7x7x2x16xf32>
  return %0 : tensor<1x7x7x2x16xf32>
}
