#a = #graph.shape<["n", 50]>
#y = #graph.shape<["n", 23]>
func.func @main(%a: tensor<?x50xf32, #a> {graph.name = "a"}, %b: tensor<50x23xf32> {graph.name = "b"}, %d: tensor<23xf32> {graph.name = "d"}) -> (tensor<?x23xf32, #y> {graph.name = "y"}) {
  %0 = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<?x50xf32, #a>, tensor<50x23xf32>) -> tensor<?x23xf32, #y>
  %1 = graph.broadcast %d dims [1] : tensor<23xf32> -> tensor<?x23xf32, #y>
  %2 = graph.map (%0, %1) : (tensor<?x23xf32, #y>, tensor<?x23xf32, #y>) -> tensor<?x23xf32, #y> {
  ^bb0(%p: f32, %q: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %p, %q : f32
    %t = arith.maximumf %s, %zero : f32
    graph.yield %t : f32
  }
  return %2 : tensor<?x23xf32, #y>
}
