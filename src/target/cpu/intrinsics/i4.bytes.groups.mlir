// Like i8.bytes.groups, for 4-bit numbers, eight per word: numbers 0 to 3 are the lower halves of the word's bytes, 4 to 7
// the upper ones. In a group, the numbers of a column share a scale, and a zero point in i4.bytes.zeros.groups.
func.func private @i4.bytes.groups(%a: !tile.buffer<[outer, rows, depth, 8] x ui8>,
                                   %b: !tile.buffer<[outer, depth, cols] x i32>,
                                   %s: !tile.buffer<[outer, cols] x f32>,
                                   %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4, @i4.dot.usdot.8, @i4.dot.usdot,
             @i4.dot.sdot.8, @i4.dot.sdot, @i4.dot.pairs.8, @i4.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %x = arith.subf %float, %half : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 4 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
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

func.func private @i4.bytes.zeros.groups(%a: !tile.buffer<[outer, rows, depth, 8] x ui8>,
                                         %b: !tile.buffer<[outer, depth, cols] x i32>,
                                         %s: !tile.buffer<[outer, cols] x f32>,
                                         %z: !tile.buffer<[outer, cols] x i8>,
                                         %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4, @i4.dot.usdot.8, @i4.dot.usdot,
             @i4.dot.sdot.8, @i4.dot.sdot, @i4.dot.pairs.8, @i4.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %x = arith.subf %float, %half : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 4 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i4
      %y = arith.sitofp %number : i4 to f32
      %zeros = tile.load %z[%vo, %vj] : !tile.buffer<[outer, cols] x i8>
      %point = arith.sitofp %zeros : i8 to f32
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

// The same, with a scale for each row and group.
func.func private @i4.bytes.scales.groups(%a: !tile.buffer<[outer, rows, depth, 8] x ui8>,
                                          %b: !tile.buffer<[outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[outer, cols] x f32>,
                                          %r: !tile.buffer<[outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4, @i4.dot.usdot.8, @i4.dot.usdot,
             @i4.dot.sdot.8, @i4.dot.sdot, @i4.dot.pairs.8, @i4.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vo, %vi] : !tile.buffer<[outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 4 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
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

func.func private @i4.bytes.zeros.scales.groups(%a: !tile.buffer<[outer, rows, depth, 8] x ui8>,
                                                %b: !tile.buffer<[outer, depth, cols] x i32>,
                                                %s: !tile.buffer<[outer, cols] x f32>,
                                                %z: !tile.buffer<[outer, cols] x i8>,
                                                %r: !tile.buffer<[outer, rows] x f32>,
                                                %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "8", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4, @i4.dot.usdot.8, @i4.dot.usdot,
             @i4.dot.sdot.8, @i4.dot.sdot, @i4.dot.pairs.8, @i4.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vo, %vi] : !tile.buffer<[outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 4 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i4
      %y = arith.sitofp %number : i4 to f32
      %zeros = tile.load %z[%vo, %vj] : !tile.buffer<[outer, cols] x i8>
      %point = arith.sitofp %zeros : i8 to f32
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

// Numbers from 0 to 15, and scales of two levels, as K blocks of GGUF have them.
func.func private @u4.bytes.shared.groups(%a: !tile.buffer<[shared, outer, rows, depth, 8] x ui8>,
                                          %b: !tile.buffer<[shared, outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[shared, outer, cols] x i8>,
                                          %d: !tile.buffer<[shared, cols] x f16>,
                                          %r: !tile.buffer<[shared, outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["outer * depth * 8", "depth * 8", "_", "8", "1"], ["outer * depth * cols", "depth * cols", "cols", "1"],
               ["outer * cols", "cols", "1"], ["cols", "1"], ["outer", "1", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(shared * outer * (rows + 3) * 8 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4, @i4.dot.usdot.8, @i4.dot.usdot,
             @i4.dot.sdot.8, @i4.dot.sdot, @i4.dot.pairs.8, @i4.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %p in shared { tile.for %o in outer { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vp in shared = %p, %vo in outer = %o, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vp, %vo, %vi, %vk, %vg] : !tile.buffer<[shared, outer, rows, depth, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vp, %vo, %vi] : !tile.buffer<[shared, outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vp, %vo, %vk, %vj] : !tile.buffer<[shared, outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 4 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i4
      %y = arith.uitofp %number : i4 to f32
      %small = tile.load %s[%vp, %vo, %vj] : !tile.buffer<[shared, outer, cols] x i8>
      %small_scale = arith.sitofp %small : i8 to f32
      %half_scale = tile.load %d[%vp, %vj] : !tile.buffer<[shared, cols] x f16>
      %shared_scale = arith.extf %half_scale : f16 to f32
      %scale = arith.mulf %small_scale, %shared_scale : f32
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } } }
  return
}

func.func private @i4.dot.16(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<64xi8> to vector<16xi32>
  %y = vector.bitcast %b : vector<64xi8> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i4.dot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<32xi8> to vector<8xi32>
  %y = vector.bitcast %b : vector<32xi8> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i4.dot.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi8> to vector<4xi32>
  %y = vector.bitcast %b : vector<16xi8> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i4.dot.usdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["sve256", "i8mm"]} {
  %none = llvm.mlir.poison : vector<[16]xi8>
  %empty = llvm.mlir.poison : vector<[4]xi32>
  %x = llvm.intr.vector.insert %a, %none[0] : vector<32xi8> into vector<[16]xi8>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<32xi8> into vector<[16]xi8>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xi32> into vector<[4]xi32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.usdot.nxv4i32"(%sum, %x, %y)
      : (vector<[4]xi32>, vector<[16]xi8>, vector<[16]xi8>) -> vector<[4]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xi32> from vector<[4]xi32>
  return %next : vector<8xi32>
}

func.func private @i4.dot.usdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Both operands are signed bytes.
func.func private @i4.dot.sdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["sve256"], tile.signed} {
  %none = llvm.mlir.poison : vector<[16]xi8>
  %empty = llvm.mlir.poison : vector<[4]xi32>
  %x = llvm.intr.vector.insert %a, %none[0] : vector<32xi8> into vector<[16]xi8>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<32xi8> into vector<[16]xi8>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xi32> into vector<[4]xi32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.sdot.nxv4i32"(%sum, %y, %x)
      : (vector<[4]xi32>, vector<[16]xi8>, vector<[16]xi8>) -> vector<[4]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xi32> from vector<[4]xi32>
  return %next : vector<8xi32>
}

func.func private @i4.dot.sdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["dotprod"], tile.signed} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%sums, %b, %a)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Sums of 16 bits hold the products of several words, so that one addition to sums of 32 bits serves them all.
func.func private @i4.dot.pairs.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<16xi16>) -> vector<16xi16>
    attributes {tile.features = ["avx2"], tile.fold = @i4.fold.8} {
  %pairs = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%a, %b) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
  %next = arith.addi %sums, %pairs : vector<16xi16>
  return %next : vector<16xi16>
}

func.func private @i4.fold.8(%pairs: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32> {
  %ones = arith.constant dense<1> : vector<16xi16>
  %fours = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%pairs, %ones) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %next = arith.addi %sums, %fours : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i4.dot.pairs.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<8xi16>) -> vector<8xi16>
    attributes {tile.features = ["avx2"], tile.fold = @i4.fold.4} {
  %pairs = llvm.call_intrinsic "llvm.x86.ssse3.pmadd.ub.sw.128"(%a, %b) : (vector<16xi8>, vector<16xi8>) -> vector<8xi16>
  %next = arith.addi %sums, %pairs : vector<8xi16>
  return %next : vector<8xi16>
}

func.func private @i4.fold.4(%pairs: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32> {
  %ones = arith.constant dense<1> : vector<8xi16>
  %fours = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%pairs, %ones) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %fours : vector<4xi32>
  return %next : vector<4xi32>
}

// The same with scales of columns that are stored as f16.
func.func private @i4.bytes.half.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @i4.bytes.zeros.half.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @i4.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @i4.bytes.zeros.scales.half.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.scales.groups", stored = ["_", "_", f16, "_", "_", "_"]}}

// Many rows on machines that add products in fours: all rows of a call share the unpacking.
#rows_of_fours = ["rows <= 1040", "cols <= 64", "2 <= depth", "depth <= 64"]
#features_of_fours = [["avx512vl", "avx512vnni"]]
#cycles_of_fours = "ceildiv(outer * (5 * rows + 30) * 8 * depth * ceildiv(cols, lanes), 12 * fmas)"
#cycles_of_shared_fours = "ceildiv(shared * outer * (5 * rows + 30) * 8 * depth * ceildiv(cols, lanes), 12 * fmas)"
func.func private @fours.i4.bytes.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_fours, emitter = "byte-panels", steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4]}}
func.func private @fours.i4.bytes.zeros.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_fours, emitter = "byte-panels", steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4]}}
func.func private @fours.i4.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.scales.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_fours, emitter = "byte-panels", steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4]}}
func.func private @fours.i4.bytes.zeros.scales.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.scales.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_fours, emitter = "byte-panels", steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4]}}
func.func private @fours.u4.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "u4.bytes.shared.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_shared_fours, emitter = "byte-panels", steps = [@i4.dot.16, @i4.dot.8, @i4.dot.4]}}
func.func private @fours.i4.bytes.half.groups() attributes {
  tile.intrinsic = {like = "fours.i4.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @fours.i4.bytes.zeros.half.groups() attributes {
  tile.intrinsic = {like = "fours.i4.bytes.zeros.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @fours.i4.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "fours.i4.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @fours.i4.bytes.zeros.scales.half.groups() attributes {
  tile.intrinsic = {like = "fours.i4.bytes.zeros.scales.groups", stored = ["_", "_", f16, "_", "_", "_"]}}

// Many rows on machines that add products of bytes in pairs: all rows of a call share the unpacking.
// A group of one large block is no row of groups of one word: sums of whole groups are exact.
#rows_of_pairs = ["rows <= 1040", "cols <= 64", "2 <= depth", "depth <= 64"]
#cycles_of_pairs = "ceildiv(outer * (2 * rows + 12) * 8 * depth * ceildiv(cols, lanes), 6 * fmas)"
#cycles_of_shared_pairs = "ceildiv(shared * outer * (2 * rows + 12) * 8 * depth * ceildiv(cols, lanes), 6 * fmas)"
func.func private @pairs.i4.bytes.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_pairs, emitter = "byte-panels", steps = [@i4.dot.pairs.8, @i4.dot.pairs.4]}}
func.func private @pairs.i4.bytes.zeros.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_pairs, emitter = "byte-panels", steps = [@i4.dot.pairs.8, @i4.dot.pairs.4]}}
func.func private @pairs.i4.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.scales.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_pairs, emitter = "byte-panels", steps = [@i4.dot.pairs.8, @i4.dot.pairs.4]}}
func.func private @pairs.i4.bytes.zeros.scales.groups() attributes {
  tile.intrinsic = {like = "i4.bytes.zeros.scales.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_pairs, emitter = "byte-panels", steps = [@i4.dot.pairs.8, @i4.dot.pairs.4]}}
func.func private @pairs.u4.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "u4.bytes.shared.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_shared_pairs, emitter = "byte-panels", steps = [@i4.dot.pairs.8, @i4.dot.pairs.4]}}
func.func private @pairs.i4.bytes.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i4.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @pairs.i4.bytes.zeros.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i4.bytes.zeros.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @pairs.i4.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i4.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}
func.func private @pairs.i4.bytes.zeros.scales.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i4.bytes.zeros.scales.groups", stored = ["_", "_", f16, "_", "_", "_"]}}
