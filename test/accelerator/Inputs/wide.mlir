#a = #graph.shape<[32, 50]>
#y = #graph.shape<[32, 23]>
func.func @main(%a: tensor<32x50xf64, #a> {graph.name = "a"}, %b: tensor<50x23xf64> {graph.name = "b"}, %d: tensor<23xf64> {graph.name = "d"}) -> (tensor<32x23xf64, #y> {graph.name = "y"}) {
  %0 = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<32x50xf64, #a>, tensor<50x23xf64>) -> tensor<32x23xf64, #y>
  %1 = graph.broadcast %d dims [1] : tensor<23xf64> -> tensor<32x23xf64, #y>
  %2 = graph.map (%0, %1) : (tensor<32x23xf64, #y>, tensor<32x23xf64, #y>) -> tensor<32x23xf64, #y> {
  ^bb0(%p: f64, %q: f64):
    %zero = arith.constant 0.0 : f64
    %s = arith.addf %p, %q : f64
    %t = arith.maximumf %s, %zero : f64
    graph.yield %t : f64
  }
  return %2 : tensor<32x23xf64, #y>
}
