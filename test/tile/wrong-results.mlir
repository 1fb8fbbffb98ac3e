// What one nest of loops cannot store.
// RUN: perpend-opt --tile-build-blocks --split-input-file --verify-diagnostics %s

// expected-error @+1 {{kernel 'shapes': result 1: expected the shape of the first one, tensor<4xf32>, got tensor<5xf32>}}
func.func private @shapes(%a: tensor<4xf32>, %b: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) attributes {tile.kernel} {
  %0 = graph.map (%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: f32):
    graph.yield %x : f32
  }
  %1 = graph.map (%b) : (tensor<5xf32>) -> tensor<5xf32> {
  ^bb0(%x: f32):
    graph.yield %x : f32
  }
  return %0, %1 : tensor<4xf32>, tensor<5xf32>
}

// -----

// expected-error @+1 {{kernel 'input': result 0: expected a value that the kernel computes, got an input}}
func.func private @input(%a: tensor<4xf32>) -> tensor<4xf32> attributes {tile.kernel} {
  return %a : tensor<4xf32>
}

// -----

// expected-error @+1 {{kernel 'sorted': result 1: expected the only result, since its elements depend on one another, got one of 2}}
func.func private @sorted(%a: tensor<4xf32>) -> (tensor<4xi64>, tensor<4xi64>) attributes {tile.kernel} {
  %0 = graph.map (%a) : (tensor<4xf32>) -> tensor<4xi64> {
  ^bb0(%x: f32):
    %y = arith.fptosi %x : f32 to i64
    graph.yield %y : i64
  }
  %1 = graph.sort descending %a dim 0 : tensor<4xf32> -> tensor<4xi64>
  return %0, %1 : tensor<4xi64>, tensor<4xi64>
}

// -----

// expected-error @+1 {{kernel 'nothing': expected inputs and results that are tensors}}
func.func private @nothing(%a: tensor<4xf32>) attributes {tile.kernel} {
  return
}
