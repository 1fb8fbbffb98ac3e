// Like i4.groups, for bytes.
func.func private @i8.groups(%a: !tile.buffer<[outer, rows, depth] x f32>, %b: !tile.buffer<[outer, depth, cols] x i8>,
                             %s: !tile.buffer<[outer, cols] x f32>, %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * (rows + 2) * depth * ceildiv(cols, lanes), fmas)",
    emitter = "groups"
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vi, %vk] : !tile.buffer<[outer, rows, depth] x f32>
      %number = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i8>
      %y = arith.sitofp %number : i8 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } }
  return
}

func.func private @i8.zeros.groups(%a: !tile.buffer<[outer, rows, depth] x f32>,
                                   %b: !tile.buffer<[outer, depth, cols] x i8>, %s: !tile.buffer<[outer, cols] x f32>,
                                   %z: !tile.buffer<[outer, cols] x i8>, %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * (rows + 3) * depth * ceildiv(cols, lanes), fmas)",
    emitter = "groups"
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vi, %vk] : !tile.buffer<[outer, rows, depth] x f32>
      %number = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i8>
      %y = arith.sitofp %number : i8 to f32
      %byte = tile.load %z[%vo, %vj] : !tile.buffer<[outer, cols] x i8>
      %point = arith.sitofp %byte : i8 to f32
      %centred = arith.subf %y, %point : f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %centred, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } }
  return
}

func.func private @i8.floats.groups(%a: !tile.buffer<[outer, rows, depth] x f32>,
                                    %b: !tile.buffer<[outer, depth, cols] x i8>, %s: !tile.buffer<[outer, cols] x f32>,
                                    %z: !tile.buffer<[outer, cols] x f32>, %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * (rows + 3) * depth * ceildiv(cols, lanes), fmas)",
    emitter = "groups"
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vi, %vk] : !tile.buffer<[outer, rows, depth] x f32>
      %number = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i8>
      %y = arith.sitofp %number : i8 to f32
      %point = tile.load %z[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %centred = arith.subf %y, %point : f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %centred, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } }
  return
}

// The same with scales that are stored as f16.
func.func private @i8.half.groups() attributes {
  tile.intrinsic = {like = "i8.groups", stored = ["_", "_", f16, "_"], features = [["f16c"], ["avx512f"], ["neon"], ["zvfhmin"]]}}
func.func private @i8.zeros.half.groups() attributes {
  tile.intrinsic = {like = "i8.zeros.groups", stored = ["_", "_", f16, "_", "_"], features = [["f16c"], ["avx512f"], ["neon"], ["zvfhmin"]]}}
