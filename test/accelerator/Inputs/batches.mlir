#a = #graph.shape<["n", 20, 17]>
#b = #graph.shape<["n", 17, 23]>
#y = #graph.shape<["n", 20, 23]>
func.func @main(%a: tensor<?x20x17xf32, #a> {graph.name = "a"}, %b: tensor<?x17x23xf32, #b> {graph.name = "b"}) -> (tensor<?x20x23xf32, #y> {graph.name = "y"}) {
  %y = graph.contract %a, %b batch [0] x [0] over [2] x [1] : (tensor<?x20x17xf32, #a>, tensor<?x17x23xf32, #b>) -> tensor<?x20x23xf32, #y>
  return %y : tensor<?x20x23xf32, #y>
}
