// Like f32.block, with bytes, unsigned times signed, summed in i32: for machines whose multiply-add takes a number for
// all lanes, but no words. A row of the right operand is extended once for all rows of the left one.
func.func private @i8.rows.block(%a: !tile.buffer<[outer, inner, rows, depth] x ui8>,
                                 %b: !tile.buffer<[outer, inner, depth, cols] x i8>,
                                 %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "1"], ["_", "_", "_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "2 <= cols", "cols <= 4096"],
    features = [["v"], ["mve"]],
    cycles = "ceildiv(outer * inner * (rows + 1) * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers",
    steps = [@i8.rows.step.16, @i8.rows.step.8, @i8.rows.step.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk] : !tile.buffer<[outer, inner, rows, depth] x ui8>
      %left = arith.extui %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj] : !tile.buffer<[outer, inner, depth, cols] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } }
  return
}

// Beside several columns, the left operand has one number in all lanes. LLVM multiplies vectors in the narrowest type
// that holds the products, and then adds by another instruction, so this asks for the one of i32.
func.func private @i8.rows.step.16(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["zvl512b"]} {
  %number = vector.extract %a[0] : i8 from vector<16xi8>
  %x = arith.extui %number : i8 to i32
  %numbers = arith.extsi %b : vector<16xi8> to vector<16xi32>
  %none = llvm.mlir.poison : vector<[2]xi32>
  %y = llvm.intr.vector.insert %numbers, %none[0] : vector<16xi32> into vector<[2]xi32>
  %sum = llvm.intr.vector.insert %sums, %none[0] : vector<16xi32> into vector<[2]xi32>
  %count = arith.constant 16 : i64
  %policy = arith.constant 3 : i64
  %all = llvm.call_intrinsic "llvm.riscv.vmacc"(%sum, %x, %y, %count, %policy)
      : (vector<[2]xi32>, i32, vector<[2]xi32>, i64, i64) -> vector<[2]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<16xi32> from vector<[2]xi32>
  return %next : vector<16xi32>
}

func.func private @i8.rows.step.8(%a: vector<8xi8>, %b: vector<8xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["zvl256b"]} {
  %number = vector.extract %a[0] : i8 from vector<8xi8>
  %x = arith.extui %number : i8 to i32
  %numbers = arith.extsi %b : vector<8xi8> to vector<8xi32>
  %none = llvm.mlir.poison : vector<[2]xi32>
  %y = llvm.intr.vector.insert %numbers, %none[0] : vector<8xi32> into vector<[2]xi32>
  %sum = llvm.intr.vector.insert %sums, %none[0] : vector<8xi32> into vector<[2]xi32>
  %count = arith.constant 8 : i64
  %policy = arith.constant 3 : i64
  %all = llvm.call_intrinsic "llvm.riscv.vmacc"(%sum, %x, %y, %count, %policy)
      : (vector<[2]xi32>, i32, vector<[2]xi32>, i64, i64) -> vector<[2]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xi32> from vector<[2]xi32>
  return %next : vector<8xi32>
}

func.func private @i8.rows.step.4(%a: vector<4xi8>, %b: vector<4xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["v"]} {
  %number = vector.extract %a[0] : i8 from vector<4xi8>
  %x = arith.extui %number : i8 to i32
  %numbers = arith.extsi %b : vector<4xi8> to vector<4xi32>
  %none = llvm.mlir.poison : vector<[2]xi32>
  %y = llvm.intr.vector.insert %numbers, %none[0] : vector<4xi32> into vector<[2]xi32>
  %sum = llvm.intr.vector.insert %sums, %none[0] : vector<4xi32> into vector<[2]xi32>
  %count = arith.constant 4 : i64
  %policy = arith.constant 3 : i64
  %all = llvm.call_intrinsic "llvm.riscv.vmacc"(%sum, %x, %y, %count, %policy)
      : (vector<[2]xi32>, i32, vector<[2]xi32>, i64, i64) -> vector<[2]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<4xi32> from vector<[2]xi32>
  return %next : vector<4xi32>
}
