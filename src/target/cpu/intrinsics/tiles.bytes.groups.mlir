// Products of bytes with numbers in groups, in AMX tiles: registers of 16 rows of 64 bytes, one word per column. They
// compute what the intrinsics of vectors do that they name, with the same bits. The sums of a group are computed in a
// tile, stored, and scaled in vectors; unpacking is shared by all rows of a call. In tiles, a product takes as long
// for any group of up to 64 elements; so much of the cost does not depend on the depth.
#tiles = {rows = 16, columns = 16, configure = @amx.groups.configure, release = @amx.groups.release,
          zero = @amx.groups.zero, load = @amx.groups.load, store = @amx.groups.store, multiply = @amx.groups.multiply}
#steps = [@amx.groups.dot.16, @amx.groups.dot.8, @amx.groups.dot.4]
#features = ["amx-tile", "amx-int8", "avx512vl", "avx512vnni"]
#where_i2 = ["rows <= 128", "cols <= 64", "mod(cols, 16) <= 0", "1 <= depth", "depth <= 32"]
#cycles_i2 = "outer * ceildiv(cols, 16) * (20 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(4 * depth, 16) + ceildiv(4 * depth, 2)))"
#where_i4 = ["rows <= 128", "cols <= 64", "mod(cols, 16) <= 0", "1 <= depth", "depth <= 64"]
#cycles_i4 = "outer * ceildiv(cols, 16) * (10 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(2 * depth, 16) + ceildiv(2 * depth, 2)))"
#cycles_u4_shared = "shared * outer * ceildiv(cols, 16) * (10 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(2 * depth, 16) + ceildiv(2 * depth, 2)))"
#where_i8 = ["rows <= 128", "cols <= 64", "mod(cols, 16) <= 0", "1 <= depth", "depth <= 128"]
#cycles_i8 = "outer * ceildiv(cols, 16) * (4 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(depth, 16) + ceildiv(depth, 2)))"
#cycles_i8_shared = "shared * outer * ceildiv(cols, 16) * (4 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(depth, 16) + ceildiv(depth, 2)))"
#where_i6 = ["rows <= 128", "cols <= 64", "mod(cols, 16) <= 0", "1 <= depth", "depth <= 32"]
#cycles_i6 = "outer * ceildiv(cols, 16) * (24 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(4 * depth, 16) + ceildiv(4 * depth, 2)))"
#cycles_i6_shared = "shared * outer * ceildiv(cols, 16) * (24 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(4 * depth, 16) + ceildiv(4 * depth, 2)))"
#where_i5 = ["rows <= 128", "cols <= 64", "mod(cols, 16) <= 0", "1 <= depth", "depth <= 16"]
#cycles_i5 = "outer * ceildiv(cols, 16) * (48 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(8 * depth, 16) + ceildiv(8 * depth, 2)))"
#cycles_i5_shared = "shared * outer * ceildiv(cols, 16) * (48 * depth + ceildiv(rows, 16) * (40 + 20 * ceildiv(8 * depth, 16) + ceildiv(8 * depth, 2)))"

func.func private @amx.i2.bytes.groups() attributes {
  tile.intrinsic = {like = "i2.bytes.groups", unit = "tiles", where = #where_i2, features = #features,
                    cycles = #cycles_i2, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i2.bytes.zeros.groups() attributes {
  tile.intrinsic = {like = "i2.bytes.zeros.groups", unit = "tiles", where = #where_i2, features = #features,
                    cycles = #cycles_i2, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i2.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i2.bytes.scales.groups", unit = "tiles", where = #where_i2, features = #features,
                    cycles = #cycles_i2, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i2.bytes.zeros.scales.groups() attributes {
  tile.intrinsic = {like = "i2.bytes.zeros.scales.groups", unit = "tiles", where = #where_i2, features = #features,
                    cycles = #cycles_i2, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i4.bytes.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.groups", unit = "tiles", where = #where_i4, features = #features,
                    cycles = #cycles_i4, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i4.bytes.zeros.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.groups", unit = "tiles", where = #where_i4, features = #features,
                    cycles = #cycles_i4, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i4.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.scales.groups", unit = "tiles", where = #where_i4, features = #features,
                    cycles = #cycles_i4, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i4.bytes.zeros.scales.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.scales.groups", unit = "tiles", where = #where_i4, features = #features,
                    cycles = #cycles_i4, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i8.bytes.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.groups", unit = "tiles", where = #where_i8, features = #features,
                    cycles = #cycles_i8, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i8.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.scales.groups", unit = "tiles", where = #where_i8, features = #features,
                    cycles = #cycles_i8, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}

// Scales of two levels.
func.func private @amx.u4.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "u4.bytes.shared.groups", unit = "tiles", where = #where_i4, features = #features,
                    cycles = #cycles_u4_shared, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i8.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.shared.groups", unit = "tiles", where = #where_i8, features = #features,
                    cycles = #cycles_i8_shared, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}

// Numbers of 5 and 6 bits.
func.func private @amx.i6.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.shared.groups", unit = "tiles", where = #where_i6, features = #features,
                    cycles = #cycles_i6_shared, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.u5.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "u5.bytes.shared.groups", unit = "tiles", where = #where_i5, features = #features,
                    cycles = #cycles_i5_shared, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i6.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.scales.groups", unit = "tiles", where = #where_i6, features = #features,
                    cycles = #cycles_i6, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}
func.func private @amx.i5.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i5.bytes.scales.groups", unit = "tiles", where = #where_i5, features = #features,
                    cycles = #cycles_i5, emitter = "byte-tiles", steps = #steps, tiles = #tiles}}

// The same with scales of columns that are stored as f16.
func.func private @amx.i4.bytes.half.groups() attributes {
  tile.intrinsic = {like = "amx.i4.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @amx.i4.bytes.zeros.half.groups() attributes {
  tile.intrinsic = {like = "amx.i4.bytes.zeros.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @amx.i4.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "amx.i4.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @amx.i4.bytes.zeros.scales.half.groups() attributes {
  tile.intrinsic = {like = "amx.i4.bytes.zeros.scales.groups", stored = ["_", "_", f16, "_", "_", "_"]}}
func.func private @amx.i8.bytes.half.groups() attributes {
  tile.intrinsic = {like = "amx.i8.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @amx.i8.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "amx.i8.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @amx.i6.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "amx.i6.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}
func.func private @amx.i5.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "amx.i5.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}

// The configuration of the eight tiles: the palette, bytes per row (from offset 16, two bytes each), and rows (from
// offset 48). Tiles 4 and 5 have so many words in each row, tiles 6 and 7 so many rows.
func.func private @amx.groups.configure(%rows: i8, %words: i8) {
  %first = arith.constant 0 : index
  %others = arith.constant dense<[
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
  ]> : vector<64xi8>
  %four = arith.constant 4 : i8
  %bytes = arith.muli %words, %four : i8
  %t0 = vector.insert %bytes, %others[24] : i8 into vector<64xi8>
  %t1 = vector.insert %bytes, %t0[26] : i8 into vector<64xi8>
  %t2 = vector.insert %rows, %t1[48] : i8 into vector<64xi8>
  %t3 = vector.insert %rows, %t2[49] : i8 into vector<64xi8>
  %t4 = vector.insert %rows, %t3[50] : i8 into vector<64xi8>
  %t5 = vector.insert %rows, %t4[51] : i8 into vector<64xi8>
  %t6 = vector.insert %rows, %t5[52] : i8 into vector<64xi8>
  %t7 = vector.insert %rows, %t6[53] : i8 into vector<64xi8>
  %t8 = vector.insert %words, %t7[54] : i8 into vector<64xi8>
  %t9 = vector.insert %words, %t8[55] : i8 into vector<64xi8>
  %table = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
  vector.store %t9, %table[%first] : memref<64xi8>, vector<64xi8>
  %index = memref.extract_aligned_pointer_as_index %table : memref<64xi8> -> index
  %number = arith.index_cast %index : index to i64
  %address = llvm.inttoptr %number : i64 to !llvm.ptr
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%address) : (!llvm.ptr) -> ()
  return
}

func.func private @amx.groups.release() {
  llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
  return
}

func.func private @amx.groups.zero(%tile: i8) {
  llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
  return
}

func.func private @amx.groups.load(%tile: i8, %address: !llvm.ptr, %stride: i64) {
  llvm.call_intrinsic "llvm.x86.tileloadd64"(%tile, %address, %stride) : (i8, !llvm.ptr, i64) -> ()
  return
}

func.func private @amx.groups.store(%tile: i8, %address: !llvm.ptr, %stride: i64) {
  llvm.call_intrinsic "llvm.x86.tilestored64"(%tile, %address, %stride) : (i8, !llvm.ptr, i64) -> ()
  return
}

// Some of LLVM's processor models (znver5) rename registers after allocation, but tiles have different shapes.
func.func private @amx.groups.multiply(%sums: i8, %left: i8, %right: i8)
    attributes {passthrough = [["tune-cpu", "sapphirerapids"]]} {
  llvm.call_intrinsic "llvm.x86.tdpbssd"(%sums, %left, %right) : (i8, i8, i8) -> ()
  return
}

// For few rows.
func.func private @amx.groups.dot.16(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<64xi8> to vector<16xi32>
  %y = vector.bitcast %b : vector<64xi8> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @amx.groups.dot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<32xi8> to vector<8xi32>
  %y = vector.bitcast %b : vector<32xi8> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @amx.groups.dot.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi8> to vector<4xi32>
  %y = vector.bitcast %b : vector<16xi8> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}
