// Like f32.block, with words of 4 whose elements have separate sums in registers: for so few columns that they do not
// fill a vector. Depth counts words. The sums of a column are added at the end. More than two vectors cost twice as
// much, because registers run out.
func.func private @f32.quads(%a: !tile.buffer<[outer, inner, rows, depth, 4] x f32>,
                             %b: !tile.buffer<[outer, inner, depth, cols, 4] x f32>,
                             %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "4", "1"], ["_", "_", "4 * cols", "4", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "2 <= cols", "cols <= 4096"],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(4 * cols, lanes), fmas) * ceildiv(4 * cols, 2 * lanes) + rows + word * outer * inner * rows * depth",
    emitter = "registers"
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 4] x f32>
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 4] x f32>
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } } }
  return
}
