// Like i8.block, with words of eight bytes: a step multiplies those of two rows with those of two columns, twice as many
// products as a dot product of words of four. A quarter of the time goes to pairing the words of rows. With a single
// row, half of a step's sums are not used. Depth counts words.
func.func private @i8.matrices(%a: !tile.buffer<[outer, inner, rows, depth, 8] x ui8>,
                               %b: !tile.buffer<[outer, inner, depth, cols, 8] x i8>,
                               %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "8", "1"], ["_", "_", "8 * cols", "8", "1"], ["_", "1"]],
    unit = "lanes",
    where = ["rows <= 64", "cols <= 4096", "mod(cols, 4) <= 0"],
    features = ["i8mm"],
    cycles = "ceildiv(5 * outer * inner * ceildiv(rows, 2) * depth * ceildiv(cols, 2), 4 * fmas)",
    emitter = "matrices",
    steps = [@i8.matrices.step]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 8 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 8 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 8] x ui8>
      %left = arith.extui %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 8] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } } }
  return
}

func.func private @i8.matrices.step(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["i8mm"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.usmmla"(%sums, %a, %b)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}
