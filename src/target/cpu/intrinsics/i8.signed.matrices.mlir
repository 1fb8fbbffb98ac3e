// Like i8.matrices, for a left operand of signed bytes, which needs no recentring.
func.func private @i8.signed.matrices(%a: !tile.buffer<[outer, inner, rows, depth, 8] x i8>,
                                      %b: !tile.buffer<[outer, inner, depth, cols, 8] x i8>,
                                      %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "8", "1"], ["_", "_", "8 * cols", "8", "1"], ["_", "1"]],
    unit = "lanes",
    where = ["rows <= 64", "cols <= 4096", "mod(cols, 4) <= 0"],
    features = ["i8mm"],
    cycles = "ceildiv(5 * outer * inner * ceildiv(rows, 2) * depth * ceildiv(cols, 2), 4 * fmas)",
    emitter = "matrices",
    steps = [@i8.signed.matrices.step]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 8] x i8>
      %left = arith.extsi %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 8] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } } }
  return
}

func.func private @i8.signed.matrices.step(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.smmla"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}
