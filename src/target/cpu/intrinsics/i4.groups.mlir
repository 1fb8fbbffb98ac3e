// A block of a product of f32 with 4-bit numbers, eight per word, low bits first. The depth is divided into groups; in
// a group, the numbers of a column share a scale, and a zero point in i4.zeros.groups and i4.floats.groups. Numbers are
// converted to f32 in registers.
func.func private @i4.groups(%a: !tile.buffer<[outer, rows, depth, 8] x f32>, %b: !tile.buffer<[outer, depth, cols] x i32>,
                             %s: !tile.buffer<[outer, cols] x f32>, %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * (rows + 2) * 8 * depth * ceildiv(cols, lanes), fmas)",
    emitter = "groups",
    steps = [@i4.numbers.16]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x f32>
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %bits = arith.constant 4 : i32
      %shift = arith.muli %place, %bits : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i4
      %y = arith.sitofp %number : i4 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

func.func private @i4.zeros.groups(%a: !tile.buffer<[outer, rows, depth, 8] x f32>,
                                   %b: !tile.buffer<[outer, depth, cols] x i32>, %s: !tile.buffer<[outer, cols] x f32>,
                                   %z: !tile.buffer<[outer, cols] x i8>, %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), fmas)",
    emitter = "groups",
    steps = [@i4.numbers.16]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x f32>
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %bits = arith.constant 4 : i32
      %shift = arith.muli %place, %bits : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i4
      %y = arith.sitofp %number : i4 to f32
      %byte = tile.load %z[%vo, %vj] : !tile.buffer<[outer, cols] x i8>
      %point = arith.sitofp %byte : i8 to f32
      %centred = arith.subf %y, %point : f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %centred, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

func.func private @i4.floats.groups(%a: !tile.buffer<[outer, rows, depth, 8] x f32>,
                                    %b: !tile.buffer<[outer, depth, cols] x i32>, %s: !tile.buffer<[outer, cols] x f32>,
                                    %z: !tile.buffer<[outer, cols] x f32>, %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), fmas)",
    emitter = "groups",
    steps = [@i4.numbers.16]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x f32>
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %bits = arith.constant 4 : i32
      %shift = arith.muli %place, %bits : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i4
      %y = arith.sitofp %number : i4 to f32
      %point = tile.load %z[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %centred = arith.subf %y, %point : f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %centred, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

// The number in the lowest bits of each word, by a table lookup.
func.func private @i4.numbers.16(%words: vector<16xi32>) -> vector<16xf32> attributes {tile.features = ["avx512f"]} {
  %table = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0]> : vector<16xf32>
  %numbers = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%table, %words) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
  return %numbers : vector<16xf32>
}

// The same with scales that are stored as f16.
func.func private @i4.half.groups() attributes {
  tile.intrinsic = {like = "i4.groups", stored = ["_", "_", f16, "_"], features = [["f16c"], ["avx512f"], ["neon"], ["zvfhmin"]]}}
func.func private @i4.zeros.half.groups() attributes {
  tile.intrinsic = {like = "i4.zeros.groups", stored = ["_", "_", f16, "_", "_"], features = [["f16c"], ["avx512f"], ["neon"], ["zvfhmin"]]}}
