func.func @main(%a: tensor<64x64xf32> {graph.name = "a"}, %b: tensor<64x64xf32> {graph.name = "b"}) -> (tensor<64x64xf32> {graph.name = "y"}) {
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
