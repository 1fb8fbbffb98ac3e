// Like i8.block, for machines whose dot product is of two signed bytes. An unsigned operand is recentred before, so that
// nothing but the dot products is left to the loop.
func.func private @i8.signed.block(%a: !tile.buffer<[outer, inner, rows, depth, 4] x i8>,
                                    %b: !tile.buffer<[outer, inner, depth, cols, 4] x i8>,
                                    %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "4", "1"], ["_", "_", "4 * cols", "4", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    features = ["dotprod"],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers",
    steps = [@i8.signed.step.8, @i8.signed.step.4, @i8.signed.row.8]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 4] x i8>
      %left = arith.extsi %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 4] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } } }
  return
}

func.func private @i8.signed.step.8(%a: vector<32xi8>, %b: vector<32xi8>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["sve256"]} {
  %none = llvm.mlir.poison : vector<[16]xi8>
  %empty = llvm.mlir.poison : vector<[4]xi32>
  %x = llvm.intr.vector.insert %b, %none[0] : vector<32xi8> into vector<[16]xi8>
  %y = llvm.intr.vector.insert %a, %none[0] : vector<32xi8> into vector<[16]xi8>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xi32> into vector<[4]xi32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.sdot.nxv4i32"(%sum, %x, %y)
      : (vector<[4]xi32>, vector<[16]xi8>, vector<[16]xi8>) -> vector<[4]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xi32> from vector<[4]xi32>
  return %next : vector<8xi32>
}

func.func private @i8.signed.step.4(%a: vector<16xi8>, %b: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["dotprod"]} {
  %next = llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%sums, %b, %a)
      : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// In each part of 16 bytes, the instruction takes a word of the row, which is loaded once for all of its words.
func.func private @i8.signed.row.8(%row: vector<16xi8>, %b: vector<32xi8>, %sums: vector<8xi32>, %word: i32)
    -> vector<8xi32> attributes {tile.features = ["sve256"]} {
  %first = arith.constant 0 : i64
  %none = llvm.mlir.poison : vector<[16]xi8>
  %part = llvm.intr.vector.insert %row, %none[0] : vector<16xi8> into vector<[16]xi8>
  %x = llvm.call_intrinsic "llvm.aarch64.sve.dupq.lane"(%part, %first)
      : (vector<[16]xi8>, i64) -> vector<[16]xi8>
  %y = llvm.intr.vector.insert %b, %none[0] : vector<32xi8> into vector<[16]xi8>
  %empty = llvm.mlir.poison : vector<[4]xi32>
  %sum = llvm.intr.vector.insert %sums, %empty[0] : vector<8xi32> into vector<[4]xi32>
  %all = llvm.call_intrinsic "llvm.aarch64.sve.sdot.lane.nxv4i32"(%sum, %y, %x, %word)
      : (vector<[4]xi32>, vector<[16]xi8>, vector<[16]xi8>, i32) -> vector<[4]xi32>
  %next = llvm.intr.vector.extract %all[0] : vector<8xi32> from vector<[4]xi32>
  return %next : vector<8xi32>
}
