func.func @main(%q: tensor<2x20x16xf32> {graph.name = "q"}, %k: tensor<2x20x16xf32> {graph.name = "k"}, %v: tensor<2x20x16xf32> {graph.name = "v"}) -> (tensor<2x20x16xf32> {graph.name = "y"}) {
  %0 = graph.transpose %k [0, 2, 1] : tensor<2x20x16xf32> -> tensor<2x16x20xf32>
  %1 = graph.contract %q, %0 batch [0] x [0] over [2] x [1] : (tensor<2x20x16xf32>, tensor<2x16x20xf32>) -> tensor<2x20x20xf32>
  %2 = graph.map (%1) : (tensor<2x20x20xf32>) -> tensor<2x20x20xf32> {
  ^bb0(%p: f32):
    %f = arith.constant 0.25 : f32
    %e = arith.mulf %p, %f : f32
    graph.yield %e : f32
  }
  %3 = graph.reduce max %2 dims [2] : tensor<2x20x20xf32> -> tensor<2x20xf32>
  %4 = graph.broadcast %3 dims [0, 1] : tensor<2x20xf32> -> tensor<2x20x20xf32>
  %5 = graph.map (%2, %4) : (tensor<2x20x20xf32>, tensor<2x20x20xf32>) -> tensor<2x20x20xf32> {
  ^bb0(%p: f32, %r: f32):
    %d = arith.subf %p, %r : f32
    %e = math.exp %d : f32
    graph.yield %e : f32
  }
  %6 = graph.reduce sum %5 dims [2] : tensor<2x20x20xf32> -> tensor<2x20xf32>
  %7 = graph.broadcast %6 dims [0, 1] : tensor<2x20xf32> -> tensor<2x20x20xf32>
  %8 = graph.map (%5, %7) : (tensor<2x20x20xf32>, tensor<2x20x20xf32>) -> tensor<2x20x20xf32> {
  ^bb0(%p: f32, %r: f32):
    %e = arith.divf %p, %r : f32
    graph.yield %e : f32
  }
  %9 = graph.contract %8, %v batch [0] x [0] over [2] x [1] : (tensor<2x20x20xf32>, tensor<2x20x16xf32>) -> tensor<2x20x16xf32>
  return %9 : tensor<2x20x16xf32>
}
