// Like f32.block, with a right operand of f16: halves the bytes to read if few rows use them, or if --precision
// requests it. An instruction extends a vector.
func.func private @f16.weights.block(%a: !tile.buffer<[outer, inner, rows, depth] x f32>,
                                     %b: !tile.buffer<[outer, inner, depth, cols] x f16>,
                                     %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "1"], ["_", "_", "_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["f16c"], ["avx512f"], ["zvfhmin"]],
    cycles = "ceildiv(outer * inner * (rows + 1) * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers"
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vw, %vi, %vk] : !tile.buffer<[outer, inner, rows, depth] x f32>
      %y = tile.load %b[%vo, %vw, %vk, %vj] : !tile.buffer<[outer, inner, depth, cols] x f16>
      %right = arith.extf %y : f16 to f32
      %product = arith.mulf %x, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

// The same where an instruction extends half of a vector, at less than half the rate of multiply-adds.
func.func private @f16.weights.long.block() attributes {
  tile.intrinsic = {
    like = "f16.weights.block", unit = "vectors", where = ["rows <= 64", "cols <= 4096"], features = ["neon"],
    cycles = "ceildiv(outer * inner * (rows + 3) * depth * ceildiv(cols, lanes), fmas)", emitter = "registers",
    steps = [@f16.weights.row.8]}}

// In each part of 16 bytes, the instruction takes a word of the row, which is loaded once for all of its words.
func.func private @f16.weights.row.8(%row: vector<4xf32>, %b: vector<8xf16>, %sums: vector<8xf32>, %word: i32)
    -> vector<8xf32> attributes {tile.features = ["sve256"]} {
  %first = arith.constant 0 : i64
  %wide = arith.extf %b : vector<8xf16> to vector<8xf32>
  %none = llvm.mlir.poison : vector<[4]xf32>
  %part = llvm.intr.vector.insert %row, %none[0] : vector<4xf32> into vector<[4]xf32>
  %x = llvm.call_intrinsic "llvm.aarch64.sve.dupq.lane"(%part, %first) : (vector<[4]xf32>, i64) -> vector<[4]xf32>
  %y = llvm.intr.vector.insert %wide, %none[0] : vector<8xf32> into vector<[4]xf32>
  %sum = llvm.intr.vector.insert %sums, %none[0] : vector<8xf32> into vector<[4]xf32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.fmla.lane"(%sum, %y, %x, %word)
      : (vector<[4]xf32>, vector<[4]xf32>, vector<[4]xf32>, i32) -> vector<[4]xf32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xf32> from vector<[4]xf32>
  return %next : vector<8xf32>
}
