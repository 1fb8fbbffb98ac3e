func.func @main(%a: tensor<32x48xf32> {graph.name = "a"}) -> (tensor<32x32xf32> {graph.name = "y"}) {
  %y = graph.contract %a, %a batch [] x [] over [1] x [1] : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
