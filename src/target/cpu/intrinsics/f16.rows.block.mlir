// Like f32.block, with a left operand of f16: rows of a cache that lie where they are read. They are extended once for
// all columns of a panel, whose rows may lie apart.
func.func private @f16.rows.block(%a: !tile.buffer<[outer, inner, rows, depth] x f16>,
                                  %b: !tile.buffer<[outer, inner, depth, cols] x f32>,
                                  %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "1"], ["_", "_", "_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = [["f16c"], ["avx512f"], ["neon"], ["zvfhmin"]],
    cycles = "ceildiv(outer * inner * rows * depth * (ceildiv(cols, lanes) + 1), fmas)",
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
      %x = tile.load %a[%vo, %vw, %vi, %vk] : !tile.buffer<[outer, inner, rows, depth] x f16>
      %left = arith.extf %x : f16 to f32
      %y = tile.load %b[%vo, %vw, %vk, %vj] : !tile.buffer<[outer, inner, depth, cols] x f32>
      %product = arith.mulf %left, %y : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}
