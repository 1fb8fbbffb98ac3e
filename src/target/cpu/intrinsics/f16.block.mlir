// Like f32.block, with both operands of f16, whose products an instruction adds to sums of f32 without rounding them.
func.func private @f16.block(%a: !tile.buffer<[outer, inner, rows, depth] x f16>,
                             %b: !tile.buffer<[outer, inner, depth, cols] x f16>,
                             %c: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {
    strides = [["_", "_", "_", "1"], ["_", "_", "_", "1"], ["_", "1"]],
    unit = "lanes",
    where = ["rows <= 64", "cols <= 4096"],
    features = ["fp16fml"],
    cycles = "ceildiv(outer * inner * rows * depth * ceildiv(cols, lanes), fmas)",
    emitter = "registers",
    steps = [@f16.step.4]
  }} {
  tile.for %i in rows { tile.for %j in cols { tile.for %o in outer { tile.for %w in inner { tile.for %k in depth {
    tile.block "sum" spatial(%vi in rows = %i, %vj in cols = %j)
                     reduced(%vo in outer = %o, %vw in inner = %w, %vk in depth = %k) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      }
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      %x = tile.load %a[%vo, %vw, %vi, %vk] : !tile.buffer<[outer, inner, rows, depth] x f16>
      %left = arith.extf %x : f16 to f32
      %y = tile.load %b[%vo, %vw, %vk, %vj] : !tile.buffer<[outer, inner, depth, cols] x f16>
      %right = arith.extf %y : f16 to f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } } } } }
  return
}

func.func private @f16.step.4(%a: vector<4xf16>, %b: vector<4xf16>, %sums: vector<4xf32>) -> vector<4xf32>
    attributes {tile.features = ["fp16fml"]} {
  %none = llvm.mlir.poison : vector<8xf16>
  %x = vector.insert_strided_slice %a, %none {offsets = [0], strides = [1]} : vector<4xf16> into vector<8xf16>
  %y = vector.insert_strided_slice %b, %none {offsets = [0], strides = [1]} : vector<4xf16> into vector<8xf16>
  %next = llvm.call_intrinsic "llvm.aarch64.neon.fmlal.v4f32.v8f16"(%sums, %y, %x)
      : (vector<4xf32>, vector<8xf16>, vector<8xf16>) -> vector<4xf32>
  return %next : vector<4xf32>
}
