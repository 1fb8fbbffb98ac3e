// Like f32.block, with words of two bf16 that are summed in f32. Depth counts words. The instructions treat subnormal
// operands and results as 0. Those of x86 round each sum to nearest even, those of AArch64 to odd.
func.func private @bf16.block(%a: !tile.buffer<[outer, inner, rows, depth, 2] x bf16>,
                              %b: !tile.buffer<[outer, inner, depth, cols, 2] x bf16>,
                              %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "2", "1"], ["_", "_", "2 * cols", "2", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["avx512vl", "avx512bf16"], ["bf16"]],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers",
    steps = [@bf16.step.16, @bf16.step.8, @bf16.step.4, @bf16.step.dot.8, @bf16.step.dot, @bf16.row.8]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 2 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 2 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 2] x bf16>
      %left = arith.extf %x : bf16 to f32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 2] x bf16>
      %right = arith.extf %y : bf16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } } }
  return
}

func.func private @bf16.step.16(%a: vector<32xbf16>, %b: vector<32xbf16>, %sums: vector<16xf32>) -> vector<16xf32>
    attributes {tile.features = ["avx512vl", "avx512bf16"]} {
  %next = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%sums, %a, %b)
      : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
  return %next : vector<16xf32>
}

func.func private @bf16.step.8(%a: vector<16xbf16>, %b: vector<16xbf16>, %sums: vector<8xf32>) -> vector<8xf32>
    attributes {tile.features = ["avx512vl", "avx512bf16"]} {
  %next = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.256"(%sums, %a, %b)
      : (vector<8xf32>, vector<16xbf16>, vector<16xbf16>) -> vector<8xf32>
  return %next : vector<8xf32>
}

func.func private @bf16.step.4(%a: vector<8xbf16>, %b: vector<8xbf16>, %sums: vector<4xf32>) -> vector<4xf32>
    attributes {tile.features = ["avx512vl", "avx512bf16"]} {
  %next = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.128"(%sums, %a, %b)
      : (vector<4xf32>, vector<8xbf16>, vector<8xbf16>) -> vector<4xf32>
  return %next : vector<4xf32>
}

func.func private @bf16.step.dot.8(%a: vector<16xbf16>, %b: vector<16xbf16>, %sums: vector<8xf32>) -> vector<8xf32>
    attributes {tile.features = ["sve256", "bf16"]} {
  %none = llvm.mlir.poison : vector<[8]xbf16>
  %empty = llvm.mlir.poison : vector<[4]xf32>
  %x = llvm.intr.vector.insert %a, %none[0] : vector<16xbf16> into vector<[8]xbf16>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<16xbf16> into vector<[8]xbf16>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xf32> into vector<[4]xf32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.bfdot"(%sum, %y, %x)
      : (vector<[4]xf32>, vector<[8]xbf16>, vector<[8]xbf16>) -> vector<[4]xf32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xf32> from vector<[4]xf32>
  return %next : vector<8xf32>
}

func.func private @bf16.step.dot(%a: vector<8xbf16>, %b: vector<8xbf16>, %sums: vector<4xf32>) -> vector<4xf32>
    attributes {tile.features = ["bf16"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.bfdot.v4f32.v8bf16"(%sums, %b, %a)
      : (vector<4xf32>, vector<8xbf16>, vector<8xbf16>) -> vector<4xf32>
  return %next : vector<4xf32>
}

// In each part of 16 bytes, the instruction takes a word of the row, which is loaded once for all of its words.
func.func private @bf16.row.8(%row: vector<8xbf16>, %b: vector<16xbf16>, %sums: vector<8xf32>, %word: i32)
    -> vector<8xf32> attributes {tile.features = ["sve256", "bf16"]} {
  %first = arith.constant 0 : i64
  %none = llvm.mlir.poison : vector<[8]xbf16>
  %pairs = llvm.mlir.poison : vector<[8]xi16>
  %bits = vector.bitcast %row : vector<8xbf16> to vector<8xi16>
  %part = llvm.intr.vector.insert %bits, %pairs[0] : vector<8xi16> into vector<[8]xi16>
  %parts = llvm.call_intrinsic "llvm.aarch64.sve.dupq.lane"(%part, %first) : (vector<[8]xi16>, i64) -> vector<[8]xi16>
  %x = llvm.bitcast %parts : vector<[8]xi16> to vector<[8]xbf16>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<16xbf16> into vector<[8]xbf16>
  %empty = llvm.mlir.poison : vector<[4]xf32>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xf32> into vector<[4]xf32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.bfdot.lane.v2"(%sum, %y, %x, %word)
      : (vector<[4]xf32>, vector<[8]xbf16>, vector<[8]xbf16>, i32) -> vector<[4]xf32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xf32> from vector<[4]xf32>
  return %next : vector<8xf32>
}
