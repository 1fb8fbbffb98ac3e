// Like i8.rows.block, for operands of i16.
func.func private @i16.rows.block(%a: !tile.buffer<[outer, inner, rows, depth] x i16>,
                                 %b: !tile.buffer<[outer, inner, depth, cols] x i16>,
                                 %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "1"], ["_", "_", "_", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "2 <= cols", "cols <= 4096"],
    features = ["v"],
    cycles = "ceildiv(outer * inner * (rows + 1) * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers",
    steps = [@i16.rows.step.16, @i16.rows.step.8, @i16.rows.step.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk] : !tile.buffer<[outer, inner, rows, depth] x i16>
      %left = arith.extsi %x : i16 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj] : !tile.buffer<[outer, inner, depth, cols] x i16>
      %right = arith.extsi %y : i16 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } }
  return
}

func.func private @i16.rows.step.16(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["zvl512b"]} {
  %number = vector.extract %a[0] : i16 from vector<16xi16>
  %x = arith.extsi %number : i16 to i32
  %numbers = arith.extsi %b : vector<16xi16> to vector<16xi32>
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

func.func private @i16.rows.step.8(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["zvl256b"]} {
  %number = vector.extract %a[0] : i16 from vector<8xi16>
  %x = arith.extsi %number : i16 to i32
  %numbers = arith.extsi %b : vector<8xi16> to vector<8xi32>
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

func.func private @i16.rows.step.4(%a: vector<4xi16>, %b: vector<4xi16>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["v"]} {
  %number = vector.extract %a[0] : i16 from vector<4xi16>
  %x = arith.extsi %number : i16 to i32
  %numbers = arith.extsi %b : vector<4xi16> to vector<4xi32>
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
