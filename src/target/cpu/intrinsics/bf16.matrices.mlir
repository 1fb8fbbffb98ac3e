// Like bf16.block, with words of four bf16: a step multiplies those of two rows with those of two columns, as in
// i8.matrices. The instruction treats subnormal operands and results as 0, and rounds sums to odd.
func.func private @bf16.matrices(%a: !tile.buffer<[outer, inner, rows, depth, 4] x bf16>,
                                 %b: !tile.buffer<[outer, inner, depth, cols, 4] x bf16>,
                                 %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "4", "1"], ["_", "_", "4 * cols", "4", "1"], ["_", "1"]],
    unit = "lanes",
    where = ["rows <= 64", "cols <= 4096", "mod(cols, 4) <= 0"],
    features = ["bf16"],
    cycles = "ceildiv(5 * outer * inner * ceildiv(rows, 2) * depth * ceildiv(cols, 2), 4 * fmas)",
    emitter = "matrices",
    steps = [@bf16.matrices.step]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 4] x bf16>
      %left = arith.extf %x : bf16 to f32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 4] x bf16>
      %right = arith.extf %y : bf16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } } }
  return
}

func.func private @bf16.matrices.step(%a: vector<8xbf16>, %b: vector<8xbf16>, %sums: vector<4xf32>) -> vector<4xf32>
    attributes {tile.features = ["bf16"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.bfmmla"(%sums, %a, %b)
      : (vector<4xf32>, vector<8xbf16>, vector<8xbf16>) -> vector<4xf32>
  return %next : vector<4xf32>
}
