// Like f32.block, with words of four bytes, unsigned times signed, summed in i32. Depth counts words.
func.func private @i8.block(%a: !tile.buffer<[outer, inner, rows, depth, 4] x ui8>,
                             %b: !tile.buffer<[outer, inner, depth, cols, 4] x i8>,
                             %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "4", "1"], ["_", "_", "4 * cols", "4", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avxvnni"], ["avx512vl", "avx512vnni"], ["i8mm"]],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers",
    steps = [@i8.step.16, @i8.step.8, @i8.step.4, @i8.step.usdot.8, @i8.step.usdot, @i8.row.8]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 4] x ui8>
      %left = arith.extui %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 4] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } } }
  return
}

func.func private @i8.step.16(%a: vector<64xi8>, %b: vector<64xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<64xi8> to vector<16xi32>
  %y = vector.bitcast %b : vector<64xi8> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i8.step.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<32xi8> to vector<8xi32>
  %y = vector.bitcast %b : vector<32xi8> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i8.step.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi8> to vector<4xi32>
  %y = vector.bitcast %b : vector<16xi8> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i8.step.usdot.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
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

func.func private @i8.step.usdot(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// In each part of 16 bytes, the instruction takes a word of the row, which is loaded once for all of its words.
func.func private @i8.row.8(%row: vector<16xi8>, %b: vector<32xi8>, %sums: vector<8xi32>, %word: i32)
    -> vector<8xi32> attributes {tile.features = ["sve256", "i8mm"]} {
  %first = arith.constant 0 : i64
  %none = llvm.mlir.poison : vector<[16]xi8>
  %part = llvm.intr.vector.insert %row, %none[0] : vector<16xi8> into vector<[16]xi8>
  %x = llvm.call_intrinsic "llvm.aarch64.sve.dupq.lane"(%part, %first)
      : (vector<[16]xi8>, i64) -> vector<[16]xi8>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<32xi8> into vector<[16]xi8>
  %empty = llvm.mlir.poison : vector<[4]xi32>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xi32> into vector<[4]xi32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.sudot.lane.nxv4i32"(%sum, %y, %x, %word)
      : (vector<[4]xi32>, vector<[16]xi8>, vector<[16]xi8>, i32) -> vector<[4]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xi32> from vector<[4]xi32>
  return %next : vector<8xi32>
}
