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
    cycles = "ceildiv(outer * inner * (rows + 3) * depth * ceildiv(cols, lanes), fmas)", emitter = "registers"}}
