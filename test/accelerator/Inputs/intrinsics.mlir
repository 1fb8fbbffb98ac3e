// What the machine does in one piece: a product of 16 x 16 x 16, and copies of blocks between memories, by strides.
func.func private @product(%a: !tile.buffer<[16, 16] x f32, input>, %b: !tile.buffer<[16, 16] x f32, input>,
                           %c: !tile.buffer<[16, 16] x f32, accumulator>) attributes {
  tile.intrinsic = {strides = [["_", "1"], ["_", "1"], ["_", "1"]], unit = "matrix", features = ["matrix-unit"], cycles = "16"}} {
  tile.for %i in 16 { tile.for %j in 16 { tile.for %k in 16 {
    tile.block "sum" spatial(%vi in 16 = %i, %vj in 16 = %j) reduced(%vk in 16 = %k) {
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[16, 16] x f32, accumulator>
      %x = tile.load %a[%vi, %vk] : !tile.buffer<[16, 16] x f32, input>
      %y = tile.load %b[%vk, %vj] : !tile.buffer<[16, 16] x f32, input>
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[16, 16] x f32, accumulator>
    }
  } } }
  return
}

func.func private @load(%from: !tile.buffer<[rows, cols] x f32>, %to: !tile.buffer<[rows, cols] x f32, input>) attributes {
  tile.intrinsic = {strides = [["_", "_"], ["_", "1"]], unit = "mover", cycles = "rows * cols + 16"}} {
  tile.for %i in rows { tile.for %j in cols {
    tile.block "copy" spatial(%vi in rows = %i, %vj in cols = %j) {
      %x = tile.load %from[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
      tile.store %x, %to[%vi, %vj] : !tile.buffer<[rows, cols] x f32, input>
    }
  } }
  return
}

func.func private @store(%from: !tile.buffer<[rows, cols] x f32, accumulator>, %to: !tile.buffer<[rows, cols] x f32>) attributes {
  tile.intrinsic = {strides = [["_", "1"], ["_", "1"]], unit = "mover", cycles = "rows * cols + 16"}} {
  tile.for %i in rows { tile.for %j in cols {
    tile.block "copy" spatial(%vi in rows = %i, %vj in cols = %j) {
      %x = tile.load %from[%vi, %vj] : !tile.buffer<[rows, cols] x f32, accumulator>
      tile.store %x, %to[%vi, %vj] : !tile.buffer<[rows, cols] x f32>
    }
  } }
  return
}
