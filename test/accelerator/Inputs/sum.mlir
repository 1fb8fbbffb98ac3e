#a = #graph.shape<[20, "n"]>
#b = #graph.shape<["n", 23]>
func.func @main(%a: tensor<20x?xf32, #a> {graph.name = "a"}, %b: tensor<?x23xf32, #b> {graph.name = "b"}) -> (tensor<20x23xf32> {graph.name = "y"}) {
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<20x?xf32, #a>, tensor<?x23xf32, #b>) -> tensor<20x23xf32>
  return %y : tensor<20x23xf32>
}
