// Products in AMX tiles: registers of 16 rows of 64 bytes, one word per column. Like bf16.block and i8.block, with
// panels of one or two tiles; the depth, in words, is a multiple of a tile's. Any number of rows. If the rows of an
// image fit one tile, a block has two lines, one below the other. A tile takes 16 cycles for any words.
func.func private @amx.bf16.block(%a: !tile.buffer<[outer, inner, lines, rows, depth, 2] x bf16>,
                              %b: !tile.buffer<[outer, inner, depth, cols, 2] x bf16>,
                              %c: !tile.buffer<[lines, rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "_", "2", "1"], ["_", "_", "2 * cols", "2", "1"], ["_", "_", "1"]],
    unit = "tiles",
    where = ["rows <= 256", "lines <= 2", "(lines - 1) * rows <= 16", "cols <= 32", "mod(cols, 16) <= 0",
             "mod(depth, 16) <= 0"],
    features = ["amx-tile", "amx-bf16"],
    cycles = "16 * outer * inner * lines * ceildiv(rows, 16) * ceildiv(cols, 16) * ceildiv(depth, 16)",
    emitter = "tiles",
    tiles = {rows = 16, columns = 16, configure = @amx.configure, release = @amx.release, zero = @amx.zero,
             load = @amx.load, store = @amx.store, multiply = @amx.bf16.multiply}
  }} {
  tile.for %l in lines { tile.for %i in rows { tile.for %j in cols {
  tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 2 {
    tile.block "sum" spatial(%vl in lines = %l, %vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 2 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vl, %vi, %vj] : !tile.buffer<[lines, rows, cols] x f32>
      }
      %sum = tile.load %c[%vl, %vi, %vj] : !tile.buffer<[lines, rows, cols] x f32>
      %x = tile.load %a[%vo, %vw, %vl, %vi, %vk, %vg] : !tile.buffer<[outer, inner, lines, rows, depth, 2] x bf16>
      %left = arith.extf %x : bf16 to f32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 2] x bf16>
      %right = arith.extf %y : bf16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vl, %vi, %vj] : !tile.buffer<[lines, rows, cols] x f32>
    }
  } } } } } } }
  return
}

func.func private @amx.i8.block(%a: !tile.buffer<[outer, inner, lines, rows, depth, 4] x ui8>,
                              %b: !tile.buffer<[outer, inner, depth, cols, 4] x i8>,
                              %c: !tile.buffer<[lines, rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "_", "4", "1"], ["_", "_", "4 * cols", "4", "1"], ["_", "_", "1"]],
    unit = "tiles",
    where = ["rows <= 256", "lines <= 2", "(lines - 1) * rows <= 16", "cols <= 32", "mod(cols, 16) <= 0",
             "mod(depth, 16) <= 0"],
    features = ["amx-tile", "amx-int8"],
    cycles = "16 * outer * inner * lines * ceildiv(rows, 16) * ceildiv(cols, 16) * ceildiv(depth, 16)",
    emitter = "tiles",
    tiles = {rows = 16, columns = 16, configure = @amx.configure, release = @amx.release, zero = @amx.zero,
             load = @amx.load, store = @amx.store, multiply = @amx.i8.multiply}
  }} {
  tile.for %l in lines { tile.for %i in rows { tile.for %j in cols {
  tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vl in lines = %l, %vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vl, %vi, %vj] : !tile.buffer<[lines, rows, cols] x i32>
      }
      %sum = tile.load %c[%vl, %vi, %vj] : !tile.buffer<[lines, rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vl, %vi, %vk, %vg] : !tile.buffer<[outer, inner, lines, rows, depth, 4] x ui8>
      %left = arith.extui %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 4] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vl, %vi, %vj] : !tile.buffer<[lines, rows, cols] x i32>
    }
  } } } } } } }
  return
}

// The configuration of the eight tiles: the palette, bytes per row (from offset 16, two bytes each), and rows (from
// offset 48).
func.func private @amx.configure(%upper: i8, %lower: i8) {
  %first = arith.constant 0 : index
  %others = arith.constant dense<[
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0
  ]> : vector<64xi8>
  %t0 = vector.insert %upper, %others[48] : i8 into vector<64xi8>
  %t1 = vector.insert %upper, %t0[49] : i8 into vector<64xi8>
  %t2 = vector.insert %lower, %t1[50] : i8 into vector<64xi8>
  %t3 = vector.insert %lower, %t2[51] : i8 into vector<64xi8>
  %t4 = vector.insert %upper, %t3[52] : i8 into vector<64xi8>
  %t5 = vector.insert %lower, %t4[53] : i8 into vector<64xi8>
  %table = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
  vector.store %t5, %table[%first] : memref<64xi8>, vector<64xi8>
  %index = memref.extract_aligned_pointer_as_index %table : memref<64xi8> -> index
  %number = arith.index_cast %index : index to i64
  %address = llvm.inttoptr %number : i64 to !llvm.ptr
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%address) : (!llvm.ptr) -> ()
  return
}

func.func private @amx.release() {
  llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
  return
}

func.func private @amx.zero(%tile: i8) {
  llvm.call_intrinsic "llvm.x86.tilezero"(%tile) : (i8) -> ()
  return
}

func.func private @amx.load(%tile: i8, %address: !llvm.ptr, %stride: i64) {
  llvm.call_intrinsic "llvm.x86.tileloadd64"(%tile, %address, %stride) : (i8, !llvm.ptr, i64) -> ()
  return
}

func.func private @amx.store(%tile: i8, %address: !llvm.ptr, %stride: i64) {
  llvm.call_intrinsic "llvm.x86.tilestored64"(%tile, %address, %stride) : (i8, !llvm.ptr, i64) -> ()
  return
}

// Some of LLVM's processor models (znver5) rename registers after allocation, but tiles have different shapes.
func.func private @amx.bf16.multiply(%sums: i8, %left: i8, %right: i8)
    attributes {passthrough = [["tune-cpu", "sapphirerapids"]]} {
  llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%sums, %left, %right) : (i8, i8, i8) -> ()
  return
}

func.func private @amx.i8.multiply(%sums: i8, %left: i8, %right: i8)
    attributes {passthrough = [["tune-cpu", "sapphirerapids"]]} {
  llvm.call_intrinsic "llvm.x86.tdpbusd"(%sums, %left, %right) : (i8, i8, i8) -> ()
  return
}
