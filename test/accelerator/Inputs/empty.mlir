func.func @main(%a: tensor<20x0xf32> {graph.name = "a"}, %b: tensor<0x23xf32> {graph.name = "b"}) -> (tensor<20x23xf32> {graph.name = "y"}) {
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<20x0xf32>, tensor<0x23xf32>) -> tensor<20x23xf32>
  return %y : tensor<20x23xf32>
}
