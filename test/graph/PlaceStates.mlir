// RUN: perpend-opt --graph-place-states %s | FileCheck %s
// What lies between a state's argument and its result is marked if it is updates alone.

// CHECK: func.func @main
// CHECK-SAME: -> (tensor<4xf32>, tensor<8x4xf32> {graph.in_place, graph.state = "ring"}, tensor<4xf32> {graph.state = "sums"}, tensor<2xf32> {graph.in_place, graph.state = "same"})
func.func @main(%x: tensor<1x4xf32>, %ring: tensor<8x4xf32> {graph.state = "ring"},
                %sums: tensor<4xf32> {graph.state = "sums"}, %same: tensor<2xf32> {graph.state = "same"})
    -> (tensor<4xf32>, tensor<8x4xf32> {graph.state = "ring"}, tensor<4xf32> {graph.state = "sums"},
        tensor<2xf32> {graph.state = "same"}) {
  // CHECK: graph.update %arg1, %arg0 at <[2]> axis 0 {graph.in_place}
  %first = graph.update %ring, %x at <["2"]> axis 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %flat = graph.reshape %first : tensor<8x4xf32> -> tensor<1x8x4xf32>
  %block = graph.reshape %x : tensor<1x4xf32> -> tensor<1x1x4xf32>
  // CHECK: graph.update {{.*}} at <[3]> axis 1 {graph.in_place}
  %second = graph.update %flat, %block at <["3"]> axis 1 : (tensor<1x8x4xf32>, tensor<1x1x4xf32>) -> tensor<1x8x4xf32>
  %back = graph.reshape %second : tensor<1x8x4xf32> -> tensor<8x4xf32>
  // An update of a computed value is an operator like others.
  // CHECK: graph.update %{{.*}}, %arg0 at <[0]> axis 0 :
  %other = graph.slice %ring <["0", "0"]> [1, 1] : tensor<8x4xf32> -> tensor<2x4xf32>
  %changed = graph.update %other, %x at <["0"]> axis 0 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %next = graph.reduce sum %changed dims [0] : tensor<2x4xf32> -> tensor<4xf32>
  return %next, %back, %next, %same : tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<2xf32>
}

// Slices of whole rows of what the last update makes are parts of its memory: not those of an earlier value, of columns,
// or with steps.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<1x4xf32>, %ring: tensor<8x4xf32> {graph.state = "ring"})
    -> (tensor<1x4xf32>, tensor<3x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>, tensor<8x4xf32> {graph.state = "ring"}) {
  %first = graph.update %ring, %x at <["2"]> axis 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  // CHECK: graph.slice %{{.*}} <[1, 0]> [1, 1] : tensor<8x4xf32>
  %early = graph.slice %first <["1", "0"]> [1, 1] : tensor<8x4xf32> -> tensor<1x4xf32>
  %second = graph.update %first, %x at <["3"]> axis 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<8x4xf32>
  // CHECK: graph.slice %{{.*}} <[2, 0]> [1, 1] {graph.in_place}
  %rows = graph.slice %second <["2", "0"]> [1, 1] : tensor<8x4xf32> -> tensor<3x4xf32>
  // CHECK: graph.slice %{{.*}} <[0, 1]> [1, 1] : tensor<8x4xf32>
  %columns = graph.slice %second <["0", "1"]> [1, 1] : tensor<8x4xf32> -> tensor<8x2xf32>
  // CHECK: graph.slice %{{.*}} <[0, 0]> [4, 1] : tensor<8x4xf32>
  %apart = graph.slice %second <["0", "0"]> [4, 1] : tensor<8x4xf32> -> tensor<2x4xf32>
  return %early, %rows, %columns, %apart, %second
      : tensor<1x4xf32>, tensor<3x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>, tensor<8x4xf32>
}
