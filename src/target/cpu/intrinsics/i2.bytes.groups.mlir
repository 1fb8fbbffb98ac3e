// Like i4.bytes.groups, for 2-bit numbers, sixteen per word: numbers 0 to 3 are the lowest quarters of the word's bytes.
func.func private @i2.bytes.groups(%a: !tile.buffer<[outer, rows, depth, 16] x ui8>,
                                   %b: !tile.buffer<[outer, depth, cols] x i32>,
                                   %s: !tile.buffer<[outer, cols] x f32>,
                                   %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "16", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 16 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i2.dot.16, @i2.dot.8, @i2.dot.4, @i2.dot.usdot.8, @i2.dot.usdot,
             @i2.dot.sdot.8, @i2.dot.sdot, @i2.dot.pairs.8, @i2.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 16 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 16 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 16] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %x = arith.subf %float, %half : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 2 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i2
      %y = arith.sitofp %number : i2 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

func.func private @i2.bytes.zeros.groups(%a: !tile.buffer<[outer, rows, depth, 16] x ui8>,
                                         %b: !tile.buffer<[outer, depth, cols] x i32>,
                                         %s: !tile.buffer<[outer, cols] x f32>,
                                         %z: !tile.buffer<[outer, cols] x i8>,
                                         %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "16", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 16 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i2.dot.16, @i2.dot.8, @i2.dot.4, @i2.dot.usdot.8, @i2.dot.usdot,
             @i2.dot.sdot.8, @i2.dot.sdot, @i2.dot.pairs.8, @i2.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 16 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 16 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 16] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %x = arith.subf %float, %half : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %bits = arith.constant 2 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i2
      %y = arith.sitofp %number : i2 to f32
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
func.func private @i2.bytes.scales.groups(%a: !tile.buffer<[outer, rows, depth, 16] x ui8>,
                                          %b: !tile.buffer<[outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[outer, cols] x f32>,
                                          %r: !tile.buffer<[outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "16", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 16 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i2.dot.16, @i2.dot.8, @i2.dot.4, @i2.dot.usdot.8, @i2.dot.usdot,
             @i2.dot.sdot.8, @i2.dot.sdot, @i2.dot.pairs.8, @i2.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 16 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 16 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 16] x ui8>
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
      %bits = arith.constant 2 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i2
      %y = arith.sitofp %number : i2 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

func.func private @i2.bytes.zeros.scales.groups(%a: !tile.buffer<[outer, rows, depth, 16] x ui8>,
                                                %b: !tile.buffer<[outer, depth, cols] x i32>,
                                                %s: !tile.buffer<[outer, cols] x f32>,
                                                %z: !tile.buffer<[outer, cols] x i8>,
                                                %r: !tile.buffer<[outer, rows] x f32>,
                                                %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "16", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 16 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i2.dot.16, @i2.dot.8, @i2.dot.4, @i2.dot.usdot.8, @i2.dot.usdot,
             @i2.dot.sdot.8, @i2.dot.sdot, @i2.dot.pairs.8, @i2.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 16 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 16 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 16] x ui8>
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
      %bits = arith.constant 2 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %bits : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i2
      %y = arith.sitofp %number : i2 to f32
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

func.func private @i2.dot.16(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<64xi8> to vector<16xi32>
  %y = vector.bitcast %b : vector<64xi8> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i2.dot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<32xi8> to vector<8xi32>
  %y = vector.bitcast %b : vector<32xi8> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i2.dot.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi8> to vector<4xi32>
  %y = vector.bitcast %b : vector<16xi8> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i2.dot.usdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i2.dot.usdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Both operands are signed bytes.
func.func private @i2.dot.sdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i2.dot.sdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["dotprod"], tile.signed} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%sums, %b, %a)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Sums of 16 bits hold the products of several words, so that one addition to sums of 32 bits serves them all.
func.func private @i2.dot.pairs.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<16xi16>) -> vector<16xi16>
    attributes {tile.features = ["avx2"], tile.fold = @i2.fold.8} {
  %pairs = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%a, %b) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
  %next = arith.addi %sums, %pairs : vector<16xi16>
  return %next : vector<16xi16>
}

func.func private @i2.fold.8(%pairs: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32> {
  %ones = arith.constant dense<1> : vector<16xi16>
  %fours = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%pairs, %ones) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %next = arith.addi %sums, %fours : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i2.dot.pairs.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<8xi16>) -> vector<8xi16>
    attributes {tile.features = ["avx2"], tile.fold = @i2.fold.4} {
  %pairs = llvm.call_intrinsic "llvm.x86.ssse3.pmadd.ub.sw.128"(%a, %b) : (vector<16xi8>, vector<16xi8>) -> vector<8xi16>
  %next = arith.addi %sums, %pairs : vector<8xi16>
  return %next : vector<8xi16>
}

func.func private @i2.fold.4(%pairs: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32> {
  %ones = arith.constant dense<1> : vector<8xi16>
  %fours = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%pairs, %ones) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %fours : vector<4xi32>
  return %next : vector<4xi32>
}
