// Operators of main that no extents of the inputs can make valid are refused, instead of by each run.
// RUN: perpend-opt --graph-infer-requirements --split-input-file --verify-diagnostics %s
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
  // expected-error @+1 {{graph.slice: expected extents and positions that fit together, got operands f32 [3, 4] and the result f32 [3, 3], which are out by 1}}
  %r = graph.slice %x <[0, 2]> [1, 1] : tensor<3x4xf32> -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// -----

func.func @main(%x: tensor<0x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // expected-error @+1 {{graph.gather: expected extents and positions that fit together, got operands f32 [0, 4], i64 [2] and the result f32 [2, 4], which are out by 1}}
  %r = graph.gather %x[%i] axis 0 : (tensor<0x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

// The branch need not be taken.
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %r = graph.if %c symbols [] : tensor<i1> -> (tensor<2xf32>) {
    %f = graph.slice %x <[3]> [1] : tensor<4xf32> -> tensor<2xf32>
    graph.yield %f : tensor<2xf32>
  } else {
    %f = graph.slice %x <[2]> [1] : tensor<4xf32> -> tensor<2xf32>
    graph.yield %f : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}
