// Like f32.block, with words of two i16 that are summed in i32. Depth counts words.
func.func private @i16.block(%a: !tile.buffer<[outer, inner, rows, depth, 2] x i16>,
                             %b: !tile.buffer<[outer, inner, depth, cols, 2] x i16>,
                             %c: !tile.buffer<[rows, cols] x i32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "2", "1"], ["_", "_", "2 * cols", "2", "1"], ["_", "1"]],
    unit = "vectors",
    where = ["rows <= 64", "cols <= 4096"],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(cols, lanes), fmas) + word * outer * inner * rows * depth",
    emitter = "registers",
    steps = [@i16.step.vnni.16, @i16.step.vnni.8, @i16.step.vnni.4, @i16.step.16, @i16.step.8, @i16.step.4, @i16.step.dot, @i16.step.dsp]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth { tile.for %g in 2 {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k, %vg in 2 = %g) {
      tile.init {
        %zero = arith.constant 0 : i32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
      %x = tile.load %a[%vo, %vw, %vi, %vk, %vg] : !tile.buffer<[outer, inner, rows, depth, 2] x i16>
      %left = arith.extsi %x : i16 to i32
      %y = tile.load %b[%vo, %vw, %vk, %vj, %vg] : !tile.buffer<[outer, inner, depth, cols, 2] x i16>
      %right = arith.extsi %y : i16 to i32
      %product = arith.muli %left, %right : i32
      %next = arith.addi %sum, %product : i32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x i32>
    }
  } } } } } }
  return
}

// With VNNI one instruction multiplies and adds.
func.func private @i16.step.vnni.16(%a: vector<32xi16>, %b: vector<32xi16>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512vnni"]} {
  %x = vector.bitcast %a : vector<32xi16> to vector<16xi32>
  %y = vector.bitcast %b : vector<32xi16> to vector<16xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.512"(%sums, %x, %y)
      : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i16.step.vnni.8(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<16xi16> to vector<8xi32>
  %y = vector.bitcast %b : vector<16xi16> to vector<8xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.256"(%sums, %x, %y)
      : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i16.step.vnni.4(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = [["avxvnni"], ["avx512vl", "avx512vnni"]]} {
  %x = vector.bitcast %a : vector<8xi16> to vector<4xi32>
  %y = vector.bitcast %b : vector<8xi16> to vector<4xi32>
  %next = llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.128"(%sums, %x, %y)
      : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return %next : vector<4xi32>
}

// Without VNNI: -32768 * -32768 * 2 wraps to its value modulo 2^32.
func.func private @i16.step.16(%a: vector<32xi16>, %b: vector<32xi16>, %sums: vector<16xi32>) -> vector<16xi32>
    attributes {tile.features = ["avx512bw"]} {
  %products = llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"(%a, %b) : (vector<32xi16>, vector<32xi16>) -> vector<16xi32>
  %next = arith.addi %sums, %products : vector<16xi32>
  return %next : vector<16xi32>
}

func.func private @i16.step.8(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32>
    attributes {tile.features = ["avx2"]} {
  %products = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%a, %b) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  %next = arith.addi %sums, %products : vector<8xi32>
  return %next : vector<8xi32>
}

func.func private @i16.step.4(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["sse2"]} {
  %products = llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"(%a, %b) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %products : vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i16.step.dot(%a: vector<8xi16>, %b: vector<8xi16>, %sums: vector<4xi32>) -> vector<4xi32>
    attributes {tile.features = ["simd128"]} {
  %products = llvm.call_intrinsic "llvm.wasm.dot"(%a, %b) : (vector<8xi16>, vector<8xi16>) -> vector<4xi32>
  %next = arith.addi %sums, %products : vector<4xi32>
  return %next : vector<4xi32>
}

func.func private @i16.step.dsp(%a: vector<2xi16>, %b: vector<2xi16>, %sums: vector<1xi32>) -> vector<1xi32>
    attributes {tile.features = ["dsp"]} {
  %x = vector.bitcast %a : vector<2xi16> to vector<1xi32>
  %y = vector.bitcast %b : vector<2xi16> to vector<1xi32>
  %left = vector.extract %x[0] : i32 from vector<1xi32>
  %right = vector.extract %y[0] : i32 from vector<1xi32>
  %sum = vector.extract %sums[0] : i32 from vector<1xi32>
  %all = llvm.call_intrinsic "llvm.arm.smlad"(%left, %right, %sum) : (i32, i32, i32) -> i32
  %next = vector.broadcast %all : i32 to vector<1xi32>
  return %next : vector<1xi32>
}
