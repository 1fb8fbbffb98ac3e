// The model that docs/architecture.md follows through the phases: a convolution, batch normalisation and relu, then a
// matrix product and softmax, for n images of 3 x 3. Every composite has been expanded to primitives by the front end.
module attributes {graph.model_name = "small"} {
  func.func @main(%arg0: tensor<?x1x3x3xf32, #graph.shape<["n", 1, 3, 3]>> {graph.name = "image"}) -> (tensor<?x3xf32, #graph.shape<["n", 3]>> {graph.name = "probabilities"}) {
    %0 = graph.constant dense<[[[[7.500000e-01, 2.500000e-01], [0.000000e+00, -5.000000e-01]]], [[[-5.000000e-01, -1.000000e+00], [-1.000000e+00, -1.000000e+00]]]]> : tensor<2x1x2x2xf32> : tensor<2x1x2x2xf32>
    %1 = graph.conv %arg0, %0 strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 : (tensor<?x1x3x3xf32, #graph.shape<["n", 1, 3, 3]>>, tensor<2x1x2x2xf32>) -> tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>
    %2 = graph.constant dense<[-7.500000e-01, 7.500000e-01]> : tensor<2xf32> : tensor<2xf32>
    %3 = graph.constant dense<[2.500000e-01, 1.000000e+00]> : tensor<2xf32> : tensor<2xf32>
    %4 = graph.constant dense<[0.000000e+00, 2.500000e-01]> : tensor<2xf32> : tensor<2xf32>
    %5 = graph.constant dense<[1.000000e+00, 7.500000e-01]> : tensor<2xf32> : tensor<2xf32>
    %6 = graph.constant dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %7 = graph.broadcast %6 dims [] : tensor<f32> -> tensor<2xf32>
    %8 = graph.map (%5, %7) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.addf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %9 = graph.map (%8) : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%arg1: f32):
      %30 = math.sqrt %arg1 : f32
      %cst = arith.constant 1.000000e+00 : f32
      %31 = arith.divf %cst, %30 : f32
      graph.yield %31 : f32
    }
    %10 = graph.map (%2, %9) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.mulf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %11 = graph.map (%4, %10) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.mulf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %12 = graph.map (%3, %11) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.subf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %13 = graph.broadcast %10 dims [1] : tensor<2xf32> -> tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>
    %14 = graph.broadcast %12 dims [1] : tensor<2xf32> -> tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>
    %15 = graph.map (%1, %13) : (tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>, tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>) -> tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.mulf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %16 = graph.map (%15, %14) : (tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>, tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>) -> tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.addf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %17 = graph.map (%16) : (tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>>) -> tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>> {
    ^bb0(%arg1: f32):
      %cst = arith.constant 0.000000e+00 : f32
      %30 = arith.maximumf %arg1, %cst : f32
      graph.yield %30 : f32
    }
    %18 = graph.reshape %17 : tensor<?x2x2x2xf32, #graph.shape<["n", 2, 2, 2]>> -> tensor<?x8xf32, #graph.shape<["n", 8]>>
    %19 = graph.constant dense<[[2.500000e-01, 0.000000e+00, 2.500000e-01], [1.000000e+00, -5.000000e-01, 7.500000e-01], [5.000000e-01, -1.000000e+00, -2.500000e-01], [7.500000e-01, 0.000000e+00, -1.000000e+00], [5.000000e-01, 5.000000e-01, 7.500000e-01], [-7.500000e-01, -1.000000e+00, 7.500000e-01], [-1.000000e+00, 0.000000e+00, -1.000000e+00], [-5.000000e-01, 0.000000e+00, -2.500000e-01]]> : tensor<8x3xf32> : tensor<8x3xf32>
    %20 = graph.contract %18, %19 batch [] x [] over [1] x [0] : (tensor<?x8xf32, #graph.shape<["n", 8]>>, tensor<8x3xf32>) -> tensor<?x3xf32, #graph.shape<["n", 3]>>
    %21 = graph.reduce  max %20 dims [1] : tensor<?x3xf32, #graph.shape<["n", 3]>> -> tensor<?xf32, #graph.shape<["n"]>>
    %22 = graph.reshape %21 : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?x1xf32, #graph.shape<["n", 1]>>
    %23 = graph.broadcast %22 dims [0, 1] : tensor<?x1xf32, #graph.shape<["n", 1]>> -> tensor<?x3xf32, #graph.shape<["n", 3]>>
    %24 = graph.map (%20, %23) : (tensor<?x3xf32, #graph.shape<["n", 3]>>, tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.subf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    %25 = graph.map (%24) : (tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
    ^bb0(%arg1: f32):
      %30 = math.exp %arg1 : f32
      graph.yield %30 : f32
    }
    %26 = graph.reduce  sum %25 dims [1] : tensor<?x3xf32, #graph.shape<["n", 3]>> -> tensor<?xf32, #graph.shape<["n"]>>
    %27 = graph.reshape %26 : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?x1xf32, #graph.shape<["n", 1]>>
    %28 = graph.broadcast %27 dims [0, 1] : tensor<?x1xf32, #graph.shape<["n", 1]>> -> tensor<?x3xf32, #graph.shape<["n", 3]>>
    %29 = graph.map (%25, %28) : (tensor<?x3xf32, #graph.shape<["n", 3]>>, tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
    ^bb0(%arg1: f32, %arg2: f32):
      %30 = arith.divf %arg1, %arg2 : f32
      graph.yield %30 : f32
    }
    return %29 : tensor<?x3xf32, #graph.shape<["n", 3]>>
  }
}
