// A block of a product of bytes with 6-bit numbers, as K blocks of GGUF have them: the lower 4 bits in words of 8 numbers,
// the upper 2 in words of 16. Bytes are numbers plus 128. The depth is divided into groups; in a group, the numbers of
// a column share a scale, which is a whole one times one that several groups share. Each row has a scale for a group.
func.func private @i6.bytes.shared.groups(%a: !tile.buffer<[shared, outer, rows, depth, 2, 8] x ui8>,
                                          %b: !tile.buffer<[shared, outer, depth, 2, cols] x i32>,
                                          %u: !tile.buffer<[shared, outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[shared, outer, cols] x i8>,
                                          %d: !tile.buffer<[shared, cols] x f16>,
                                          %r: !tile.buffer<[shared, outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["outer * depth * 16", "depth * 16", "_", "16", "8", "1"],
               ["outer * depth * 2 * cols", "depth * 2 * cols", "2 * cols", "cols", "1"],
               ["outer * depth * cols", "depth * cols", "cols", "1"],
               ["outer * cols", "cols", "1"], ["cols", "1"], ["outer", "1", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(shared * outer * (rows + 4) * 16 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i6.dot.16, @i6.dot.8, @i6.dot.4, @i6.dot.usdot.8, @i6.dot.usdot,
             @i6.dot.sdot.8, @i6.dot.sdot, @i6.dot.pairs.8, @i6.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %p in shared { tile.for %o in outer {
  tile.for %k in depth { tile.for %w in 2 { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vp in shared = %p, %vo in outer = %o, %vk in depth = %k, %vw in 2 = %w, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vp, %vo, %vi, %vk, %vw, %vg] : !tile.buffer<[shared, outer, rows, depth, 2, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vp, %vo, %vi] : !tile.buffer<[shared, outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vp, %vo, %vk, %vw, %vj] : !tile.buffer<[shared, outer, depth, 2, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %four : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %lowest = arith.shrui %word, %shift : i32
      %mask = arith.constant 15 : i32
      %lower = arith.andi %lowest, %mask : i32
      %upper_word = tile.load %u[%vp, %vo, %vk, %vj] : !tile.buffer<[shared, outer, depth, cols] x i32>
      %in_unit = arith.index_cast %vw : index to i32
      %two = arith.constant 2 : i32
      %first_plane = arith.muli %in_unit, %two : i32
      %upper_plane = arith.addi %first_plane, %plane : i32
      %of_upper_plane = arith.muli %upper_plane, %two : i32
      %upper_shift = arith.addi %of_byte, %of_upper_plane : i32
      %upper_bits = arith.shrui %upper_word, %upper_shift : i32
      %upper = arith.shli %upper_bits, %four : i32
      %both = arith.ori %lower, %upper : i32
      %number = arith.trunci %both : i32 to i6
      %y = arith.sitofp %number : i6 to f32
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
  } } } } } } }
  return
}

// Numbers from 0 to 31, whose fifth bits are in words of 32.
func.func private @u5.bytes.shared.groups(%a: !tile.buffer<[shared, outer, rows, depth, 4, 8] x ui8>,
                                          %b: !tile.buffer<[shared, outer, depth, 4, cols] x i32>,
                                          %u: !tile.buffer<[shared, outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[shared, outer, cols] x i8>,
                                          %d: !tile.buffer<[shared, cols] x f16>,
                                          %r: !tile.buffer<[shared, outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["outer * depth * 32", "depth * 32", "_", "32", "8", "1"],
               ["outer * depth * 4 * cols", "depth * 4 * cols", "4 * cols", "cols", "1"],
               ["outer * depth * cols", "depth * cols", "cols", "1"],
               ["outer * cols", "cols", "1"], ["cols", "1"], ["outer", "1", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(shared * outer * (rows + 4) * 32 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i6.dot.16, @i6.dot.8, @i6.dot.4, @i6.dot.usdot.8, @i6.dot.usdot,
             @i6.dot.sdot.8, @i6.dot.sdot, @i6.dot.pairs.8, @i6.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %p in shared { tile.for %o in outer {
  tile.for %k in depth { tile.for %w in 4 { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vp in shared = %p, %vo in outer = %o, %vk in depth = %k, %vw in 4 = %w, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vp, %vo, %vi, %vk, %vw, %vg] : !tile.buffer<[shared, outer, rows, depth, 4, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vp, %vo, %vi] : !tile.buffer<[shared, outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vp, %vo, %vk, %vw, %vj] : !tile.buffer<[shared, outer, depth, 4, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %four : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %lowest = arith.shrui %word, %shift : i32
      %mask = arith.constant 15 : i32
      %lower = arith.andi %lowest, %mask : i32
      %upper_word = tile.load %u[%vp, %vo, %vk, %vj] : !tile.buffer<[shared, outer, depth, cols] x i32>
      %in_unit = arith.index_cast %vw : index to i32
      %two = arith.constant 2 : i32
      %first_plane = arith.muli %in_unit, %two : i32
      %upper_plane = arith.addi %first_plane, %plane : i32
      %upper_shift = arith.addi %of_byte, %upper_plane : i32
      %upper_bits = arith.shrui %upper_word, %upper_shift : i32
      %upper = arith.shli %upper_bits, %four : i32
      %both = arith.ori %lower, %upper : i32
      %number = arith.trunci %both : i32 to i5
      %y = arith.uitofp %number : i5 to f32
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
  } } } } } } }
  return
}

// The same with a scale of its own for each group and column.
func.func private @i6.bytes.scales.groups(%a: !tile.buffer<[outer, rows, depth, 2, 8] x ui8>,
                                          %b: !tile.buffer<[outer, depth, 2, cols] x i32>,
                                          %u: !tile.buffer<[outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[outer, cols] x f32>,
                                          %r: !tile.buffer<[outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "16", "8", "1"], ["_", "2 * cols", "cols", "1"], ["_", "cols", "1"],
               ["cols", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 4) * 16 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i6.dot.16, @i6.dot.8, @i6.dot.4, @i6.dot.usdot.8, @i6.dot.usdot,
             @i6.dot.sdot.8, @i6.dot.sdot, @i6.dot.pairs.8, @i6.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer {
  tile.for %k in depth { tile.for %w in 2 { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vk in depth = %k, %vw in 2 = %w, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vw, %vg] : !tile.buffer<[outer, rows, depth, 2, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vo, %vi] : !tile.buffer<[outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vo, %vk, %vw, %vj] : !tile.buffer<[outer, depth, 2, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %four : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %lowest = arith.shrui %word, %shift : i32
      %mask = arith.constant 15 : i32
      %lower = arith.andi %lowest, %mask : i32
      %upper_word = tile.load %u[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %in_unit = arith.index_cast %vw : index to i32
      %two = arith.constant 2 : i32
      %first_plane = arith.muli %in_unit, %two : i32
      %upper_plane = arith.addi %first_plane, %plane : i32
      %of_upper_plane = arith.muli %upper_plane, %two : i32
      %upper_shift = arith.addi %of_byte, %of_upper_plane : i32
      %upper_bits = arith.shrui %upper_word, %upper_shift : i32
      %upper = arith.shli %upper_bits, %four : i32
      %both = arith.ori %lower, %upper : i32
      %number = arith.trunci %both : i32 to i6
      %y = arith.sitofp %number : i6 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } } }
  return
}

// Signed numbers of 5 bits.
func.func private @i5.bytes.scales.groups(%a: !tile.buffer<[outer, rows, depth, 4, 8] x ui8>,
                                          %b: !tile.buffer<[outer, depth, 4, cols] x i32>,
                                          %u: !tile.buffer<[outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[outer, cols] x f32>,
                                          %r: !tile.buffer<[outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "32", "8", "1"], ["_", "4 * cols", "cols", "1"], ["_", "cols", "1"],
               ["cols", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 4) * 32 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i6.dot.16, @i6.dot.8, @i6.dot.4, @i6.dot.usdot.8, @i6.dot.usdot,
             @i6.dot.sdot.8, @i6.dot.sdot, @i6.dot.pairs.8, @i6.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer {
  tile.for %k in depth { tile.for %w in 4 { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vk in depth = %k, %vw in 4 = %w, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vw, %vg] : !tile.buffer<[outer, rows, depth, 4, 8] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vo, %vi] : !tile.buffer<[outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vo, %vk, %vw, %vj] : !tile.buffer<[outer, depth, 4, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %four = arith.constant 4 : i32
      %byte = arith.remui %place, %four : i32
      %plane = arith.divui %place, %four : i32
      %eight = arith.constant 8 : i32
      %of_byte = arith.muli %byte, %eight : i32
      %of_plane = arith.muli %plane, %four : i32
      %shift = arith.addi %of_byte, %of_plane : i32
      %lowest = arith.shrui %word, %shift : i32
      %mask = arith.constant 15 : i32
      %lower = arith.andi %lowest, %mask : i32
      %upper_word = tile.load %u[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %in_unit = arith.index_cast %vw : index to i32
      %two = arith.constant 2 : i32
      %first_plane = arith.muli %in_unit, %two : i32
      %upper_plane = arith.addi %first_plane, %plane : i32
      %upper_shift = arith.addi %of_byte, %upper_plane : i32
      %upper_bits = arith.shrui %upper_word, %upper_shift : i32
      %upper = arith.shli %upper_bits, %four : i32
      %both = arith.ori %lower, %upper : i32
      %number = arith.trunci %both : i32 to i5
      %y = arith.sitofp %number : i5 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } } }
  return
}

func.func private @i6.dot.16(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<64xi8> to vector<16xi32>
  %y = vector.bitcast %b : vector<64xi8> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i6.dot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<32xi8> to vector<8xi32>
  %y = vector.bitcast %b : vector<32xi8> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i6.dot.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi8> to vector<4xi32>
  %y = vector.bitcast %b : vector<16xi8> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i6.dot.usdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i6.dot.usdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Both operands are signed bytes.
func.func private @i6.dot.sdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i6.dot.sdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["dotprod"], tile.signed} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%sums, %b, %a)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Sums of two products fit 16 bits, those of the four sets of a unit do not: so each set is added to 32 bits at once.
func.func private @i6.dot.pairs.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["avx2"]} {
  %ones = arith.constant dense<1> : vector<16xi16>
  %pairs = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%a, %b) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
  %fours = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%pairs, %ones) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %next = arith.addi %sums, %fours : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i6.dot.pairs.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["avx2"]} {
  %ones = arith.constant dense<1> : vector<8xi16>
  %pairs = llvm.call_intrinsic "llvm.x86.ssse3.pmadd.ub.sw.128"(%a, %b) : (vector<16xi8>, vector<16xi8>) -> vector<8xi16>
  %fours = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%pairs, %ones) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %fours : vector<4xi32>
  return %next : vector<4xi32>
}

// Scales of columns that are stored as f16.
func.func private @i6.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}
func.func private @i5.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "i5.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}

// Many rows on machines that add products in fours: all rows of a call share the unpacking.
#rows_of_fours = ["rows <= 1040", "cols <= 64", "depth <= 16"]
#features_of_fours = [["avx512vl", "avx512vnni"]]
#steps_of_fours = [@i6.dot.16, @i6.dot.8, @i6.dot.4]
func.func private @fours.i6.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.shared.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = "ceildiv(shared * outer * (5 * rows + 30) * 16 * depth * ceildiv(cols, lanes), 12 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_fours}}
func.func private @fours.u5.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "u5.bytes.shared.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = "ceildiv(shared * outer * (5 * rows + 30) * 32 * depth * ceildiv(cols, lanes), 12 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_fours}}
func.func private @fours.i6.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.scales.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = "ceildiv(outer * (5 * rows + 30) * 16 * depth * ceildiv(cols, lanes), 12 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_fours}}
func.func private @fours.i5.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i5.bytes.scales.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = "ceildiv(outer * (5 * rows + 30) * 32 * depth * ceildiv(cols, lanes), 12 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_fours}}
func.func private @fours.i6.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "fours.i6.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}
func.func private @fours.i5.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "fours.i5.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}

// Many rows on machines that add products in pairs: all rows of a call share the unpacking to numbers of 16 bits.
#rows_of_pairs = ["rows <= 1040", "cols <= 64", "depth <= 16"]
#features_of_pairs = [["avx2", "f16c"]]
#steps_of_pairs = [@i6.pairs.8, @i6.pairs.4, @i6.dot.pairs.8, @i6.dot.pairs.4]
func.func private @pairs.i6.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.shared.groups", unit = "byte-pairs", where = #rows_of_pairs, features = #features_of_pairs,
                    cycles = "ceildiv(shared * outer * (2 * rows + 14) * 16 * depth * ceildiv(cols, lanes), 6 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.u5.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "u5.bytes.shared.groups", unit = "byte-pairs", where = #rows_of_pairs, features = #features_of_pairs,
                    cycles = "ceildiv(shared * outer * (2 * rows + 14) * 32 * depth * ceildiv(cols, lanes), 6 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.i6.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i6.bytes.scales.groups", unit = "byte-pairs", where = #rows_of_pairs, features = #features_of_pairs,
                    cycles = "ceildiv(outer * (2 * rows + 14) * 16 * depth * ceildiv(cols, lanes), 6 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.i5.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i5.bytes.scales.groups", unit = "byte-pairs", where = #rows_of_pairs, features = #features_of_pairs,
                    cycles = "ceildiv(outer * (2 * rows + 14) * 32 * depth * ceildiv(cols, lanes), 6 * fmas)",
                    emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.i6.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i6.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}
func.func private @pairs.i5.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i5.bytes.scales.groups", stored = ["_", "_", "_", f16, "_", "_"]}}

func.func private @i6.pairs.8(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["avx2"]} {
  %both = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%a, %b) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %next = arith.addi %sums, %both : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i6.pairs.4(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["avx2"]} {
  %both = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%a, %b) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %both : vector<4xi32>
  return %next : vector<4xi32>
}
