// Like i8.block, for processors that multiply pairs of i16 in one register and add both products: a word of four bytes
// becomes two pairs, of bytes 0 and 2, and of bytes 1 and 3.
func.func private @i8.dsp.block(%a: !tile.buffer<[outer, inner, rows, depth, 4] x ui8>,
                                %b: !tile.buffer<[outer, inner, depth, cols, 4] x i8>,
                                %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "4", "1"], ["_", "_", "4 * cols", "4", "1"], ["_", "1"]],
    unit = "pairs",
    where = ["rows <= 64", "cols <= 4096"],
    features = ["dsp"],
    cycles = "ceildiv(2 * outer * inner * rows * depth * cols, fmas)",
    emitter = "registers",
    steps = [@i8.dsp.step]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 4 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 4 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 4] x ui8>
      %left = arith.extui %x : i8 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 4] x i8>
      %right = arith.extsi %y : i8 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } } }
  return
}

func.func private @i8.dsp.step(%a: vector<4xi8>, %b: vector<4xi8>, %sums: vector<1xi32>) -> vector<1xi32>
    attributes {tile.features = ["dsp"]} {
  %eight = arith.constant 8 : i32
  %x = vector.bitcast %a : vector<4xi8> to vector<1xi32>
  %y = vector.bitcast %b : vector<4xi8> to vector<1xi32>
  %left = vector.extract %x[0] : i32 from vector<1xi32>
  %right = vector.extract %y[0] : i32 from vector<1xi32>
  %sum = vector.extract %sums[0] : i32 from vector<1xi32>
  %turned = llvm.intr.fshr(%left, %left, %eight) : (i32, i32, i32) -> i32
  %left.even = llvm.call_intrinsic "llvm.arm.uxtb16"(%left) : (i32) -> i32
  %left.odd = llvm.call_intrinsic "llvm.arm.uxtb16"(%turned) : (i32) -> i32
  %other = llvm.intr.fshr(%right, %right, %eight) : (i32, i32, i32) -> i32
  %right.even = llvm.call_intrinsic "llvm.arm.sxtb16"(%right) : (i32) -> i32
  %right.odd = llvm.call_intrinsic "llvm.arm.sxtb16"(%other) : (i32) -> i32
  %half = llvm.call_intrinsic "llvm.arm.smlad"(%left.even, %right.even, %sum) : (i32, i32, i32) -> i32
  %all = llvm.call_intrinsic "llvm.arm.smlad"(%left.odd, %right.odd, %half) : (i32, i32, i32) -> i32
  %next = vector.broadcast %all : i32 to vector<1xi32>
  return %next : vector<1xi32>
}
