func.func @main(%x: tensor<2x5x9x11xf32> {graph.name = "x"}, %w: tensor<12x5x3x3xf32> {graph.name = "w"}) -> (tensor<2x12x5x6xf32> {graph.name = "y"}) {
  %y = graph.conv %x, %w strides [2, 2] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 : (tensor<2x5x9x11xf32>, tensor<12x5x3x3xf32>) -> tensor<2x12x5x6xf32>
  return %y : tensor<2x12x5x6xf32>
}
