// A block of a product of bytes with 8-bit numbers, four per word. The bytes are numbers plus 128. The depth is divided
// into groups; in a group, the numbers of a column share a scale. The products of a group are summed as integers.
func.func private @i8.bytes.groups(%a: !tile.buffer<[outer, rows, depth, 4] x ui8>,
                                   %b: !tile.buffer<[outer, depth, cols] x i32>,
                                   %s: !tile.buffer<[outer, cols] x f32>,
                                   %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "4", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 4 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i8.dot.16, @i8.dot.8, @i8.dot.4, @i8.dot.usdot.8, @i8.dot.usdot,
             @i8.dot.sdot.8, @i8.dot.sdot, @i8.dot.pairs.8, @i8.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 4] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %x = arith.subf %float, %half : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %bits = arith.constant 8 : i32
      %shift = arith.muli %place, %bits : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i8
      %y = arith.sitofp %number : i8 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

// The same, with a scale for each row and group.
func.func private @i8.bytes.scales.groups(%a: !tile.buffer<[outer, rows, depth, 4] x ui8>,
                                          %b: !tile.buffer<[outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[outer, cols] x f32>,
                                          %r: !tile.buffer<[outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "4", "1"], ["_", "cols", "1"], ["_", "1"], ["_", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(outer * (rows + 3) * 4 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i8.dot.16, @i8.dot.8, @i8.dot.4, @i8.dot.usdot.8, @i8.dot.usdot,
             @i8.dot.sdot.8, @i8.dot.sdot, @i8.dot.pairs.8, @i8.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j) reduced(%vo in outer = %o, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vo, %vi, %vk, %vg] : !tile.buffer<[outer, rows, depth, 4] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vo, %vi] : !tile.buffer<[outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vo, %vk, %vj] : !tile.buffer<[outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %bits = arith.constant 8 : i32
      %shift = arith.muli %place, %bits : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i8
      %y = arith.sitofp %number : i8 to f32
      %scale = tile.load %s[%vo, %vj] : !tile.buffer<[outer, cols] x f32>
      %right = arith.mulf %y, %scale : f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

// Scales of two levels, as K blocks of GGUF have them.
func.func private @i8.bytes.shared.groups(%a: !tile.buffer<[shared, outer, rows, depth, 4] x ui8>,
                                          %b: !tile.buffer<[shared, outer, depth, cols] x i32>,
                                          %s: !tile.buffer<[shared, outer, cols] x i8>,
                                          %d: !tile.buffer<[shared, cols] x f16>,
                                          %r: !tile.buffer<[shared, outer, rows] x f32>,
                                          %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["outer * depth * 4", "depth * 4", "_", "4", "1"], ["outer * depth * cols", "depth * cols", "cols", "1"],
               ["outer * cols", "cols", "1"], ["cols", "1"], ["outer", "1", "_"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"], ["dotprod"], ["avx2", "f16c"]],
    cycles = "ceildiv(shared * outer * (rows + 3) * 4 * depth * ceildiv(cols, lanes), 2 * fmas)",
    emitter = "bytes",
    steps = [@i8.dot.16, @i8.dot.8, @i8.dot.4, @i8.dot.usdot.8, @i8.dot.usdot,
             @i8.dot.sdot.8, @i8.dot.sdot, @i8.dot.pairs.8, @i8.dot.pairs.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %p in shared { tile.for %o in outer { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vp in shared = %p, %vo in outer = %o, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %stored = tile.load %a[%vp, %vo, %vi, %vk, %vg] : !tile.buffer<[shared, outer, rows, depth, 4] x ui8>
      %float = arith.uitofp %stored : i8 to f32
      %half = arith.constant 128.0 : f32
      %difference = arith.subf %float, %half : f32
      %of_row = tile.load %r[%vp, %vo, %vi] : !tile.buffer<[shared, outer, rows] x f32>
      %x = arith.mulf %difference, %of_row : f32
      %word = tile.load %b[%vp, %vo, %vk, %vj] : !tile.buffer<[shared, outer, depth, cols] x i32>
      %place = arith.index_cast %vg : index to i32
      %bits = arith.constant 8 : i32
      %shift = arith.muli %place, %bits : i32
      %shifted = arith.shrui %word, %shift : i32
      %number = arith.trunci %shifted : i32 to i8
      %y = arith.sitofp %number : i8 to f32
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

func.func private @i8.dot.16(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<64xi8> to vector<16xi32>
  %y = vector.bitcast %b : vector<64xi8> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i8.dot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<32xi8> to vector<8xi32>
  %y = vector.bitcast %b : vector<32xi8> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i8.dot.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi8> to vector<4xi32>
  %y = vector.bitcast %b : vector<16xi8> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i8.dot.usdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i8.dot.usdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Both operands are signed bytes.
func.func private @i8.dot.sdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i8.dot.sdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["dotprod"], tile.signed} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%sums, %b, %a)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Sums of two products do not fit 16 bits, so bytes of even and of odd places are multiplied as numbers of 16 bits.
func.func private @i8.dot.pairs.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["avx2"]} {
  %eight = arith.constant dense<8> : vector<16xi16>
  %low = arith.constant dense<255> : vector<16xi16>
  %x = vector.bitcast %a : vector<32xi8> to vector<16xi16>
  %y = vector.bitcast %b : vector<32xi8> to vector<16xi16>
  %x_even = arith.andi %x, %low : vector<16xi16>
  %x_odd = arith.shrui %x, %eight : vector<16xi16>
  %y_high = arith.shli %y, %eight : vector<16xi16>
  %y_even = arith.shrsi %y_high, %eight : vector<16xi16>
  %y_odd = arith.shrsi %y, %eight : vector<16xi16>
  %evens = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%x_even, %y_even) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %odds = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%x_odd, %y_odd) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %both = arith.addi %evens, %odds : vector<8xi32>
  %next = arith.addi %sums, %both : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i8.dot.pairs.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["avx2"]} {
  %eight = arith.constant dense<8> : vector<8xi16>
  %low = arith.constant dense<255> : vector<8xi16>
  %x = vector.bitcast %a : vector<16xi8> to vector<8xi16>
  %y = vector.bitcast %b : vector<16xi8> to vector<8xi16>
  %x_even = arith.andi %x, %low : vector<8xi16>
  %x_odd = arith.shrui %x, %eight : vector<8xi16>
  %y_high = arith.shli %y, %eight : vector<8xi16>
  %y_even = arith.shrsi %y_high, %eight : vector<8xi16>
  %y_odd = arith.shrsi %y, %eight : vector<8xi16>
  %evens = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%x_even, %y_even) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %odds = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%x_odd, %y_odd) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %both = arith.addi %evens, %odds : vector<4xi32>
  %next = arith.addi %sums, %both : vector<4xi32>
  return %next : vector<4xi32>
}

// The same with scales of columns that are stored as f16.
func.func private @i8.bytes.half.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @i8.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}

// Many rows on machines that add products in fours: all rows of a call share the sums of columns.
#rows_of_fours = ["rows <= 1040", "cols <= 64", "4 <= depth", "depth <= 64"]
#features_of_fours = [["avx512vl", "avx512vnni"]]
#cycles_of_fours = "ceildiv(outer * (5 * rows + 25) * 4 * depth * ceildiv(cols, lanes), 12 * fmas)"
#cycles_of_shared_fours = "ceildiv(shared * outer * (5 * rows + 25) * 4 * depth * ceildiv(cols, lanes), 12 * fmas)"
func.func private @fours.i8.bytes.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_fours, emitter = "byte-panels", steps = [@i8.dot.16, @i8.dot.8, @i8.dot.4]}}
func.func private @fours.i8.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.scales.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_fours, emitter = "byte-panels", steps = [@i8.dot.16, @i8.dot.8, @i8.dot.4]}}
func.func private @fours.i8.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.shared.groups", unit = "vectors", where = #rows_of_fours, features = #features_of_fours,
                    cycles = #cycles_of_shared_fours, emitter = "byte-panels", steps = [@i8.dot.16, @i8.dot.8, @i8.dot.4]}}
func.func private @fours.i8.bytes.half.groups() attributes {
  tile.intrinsic = {like = "fours.i8.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @fours.i8.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "fours.i8.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}

// Many rows on machines that add products in pairs: all rows of a call share the unpacking to numbers of 16 bits.
// A group of one large block is no row of groups of one word: sums of whole groups are exact.
#rows_of_pairs = ["rows <= 1040", "cols <= 64", "4 <= depth", "depth <= 64"]
#cycles_of_pairs = "ceildiv(outer * (2 * rows + 12) * 4 * depth * ceildiv(cols, lanes), 6 * fmas)"
#cycles_of_shared_pairs = "ceildiv(shared * outer * (2 * rows + 12) * 4 * depth * ceildiv(cols, lanes), 6 * fmas)"
#steps_of_pairs = [@i8.pairs.8, @i8.pairs.4, @i8.dot.pairs.8, @i8.dot.pairs.4]
func.func private @pairs.i8.bytes.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_pairs, emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.i8.bytes.scales.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.scales.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_pairs, emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.i8.bytes.shared.groups() attributes {
  tile.intrinsic = {like = "i8.bytes.shared.groups", unit = "byte-pairs", where = #rows_of_pairs, features = [["avx2", "f16c"]],
                    cycles = #cycles_of_shared_pairs, emitter = "byte-panels", steps = #steps_of_pairs}}
func.func private @pairs.i8.bytes.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i8.bytes.groups", stored = ["_", "_", f16, "_"]}}
func.func private @pairs.i8.bytes.scales.half.groups() attributes {
  tile.intrinsic = {like = "pairs.i8.bytes.scales.groups", stored = ["_", "_", f16, "_", "_"]}}

func.func private @i8.pairs.8(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["avx2"]} {
  %both = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%a, %b) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %next = arith.addi %sums, %both : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i8.pairs.4(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["avx2"]} {
  %both = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%a, %b) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %both : vector<4xi32>
  return %next : vector<4xi32>
}
