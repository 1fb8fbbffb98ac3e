// Like f32.block, for f64.
func.func private @f64.block(%a: !tile.buffer<[outer, inner, rows, depth] x f64>,
                             %b: !tile.buffer<[outer, inner, depth, cols] x f64>,
                             %c: !tile.buffer<[rows, cols] x f64>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "1"], ["_", "_", "cols", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(2 * cols, lanes), fmas)",
    emitter = "registers",
    steps = [@f64.row.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f64
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f64>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f64>
      %x = tile.load %a[%vo, %vw, %vi, %vk] : !tile.buffer<[outer, inner, rows, depth] x f64>
      %y = tile.load %b[%vo, %vw, %vk, %vj] : !tile.buffer<[outer, inner, depth, cols] x f64>
      %product = arith.mulf %x, %y : f64
      %next = arith.addf %sum, %product : f64
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f64>
    }
  } } } } }
  return
}

// In each part of 16 bytes, the instruction takes a word of the row, which is loaded once for all of its words.
func.func private @f64.row.4(%row: vector<2xf64>, %b: vector<4xf64>, %sums: vector<4xf64>, %word: i32)
    -> vector<4xf64> attributes {tile.features = ["sve256"]} {
  %first = arith.constant 0 : i64
  %none = llvm.mlir.poison : vector<[2]xf64>
  %part = llvm.intr.vector.insert %row, %none[0] : vector<2xf64> into vector<[2]xf64>
  %x = llvm.call_intrinsic "llvm.aarch64.sve.dupq.lane"(%part, %first) : (vector<[2]xf64>, i64) -> vector<[2]xf64>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<4xf64> into vector<[2]xf64>
  %sum = llvm.intr.vector.insert %sums, %none[0] : vector<4xf64> into vector<[2]xf64>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.fmla.lane"(%sum, %y, %x, %word)
      : (vector<[2]xf64>, vector<[2]xf64>, vector<[2]xf64>, i32) -> vector<[2]xf64>
  %next = llvm.intr.vector.extract %all[0] : vector<4xf64> from vector<[2]xf64>
  return %next : vector<4xf64>
}
