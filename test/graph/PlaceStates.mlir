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

// Of a state that grows, the rows are noted that runs read of those before them: a window's 7 and up to 7 more, and none.
// What is read in another way is read as a whole.
// CHECK-LABEL: func.func @windows
// CHECK-SAME: "length"{{.*}}{graph.capacity = 64 : i64, graph.read_rows = 14 : i64, graph.state = "window"}
// CHECK-SAME: "length"{{.*}}{graph.capacity = 64 : i64, graph.read_rows = 0 : i64, graph.state = "written"}
// CHECK-SAME: "length"{{.*}}{graph.capacity = 64 : i64, graph.state = "all"}
// CHECK-SAME: "length"{{.*}}{graph.capacity = 64 : i64, graph.state = "summed"}
func.func @windows(
    %x: tensor<?x4xf32, #graph.shape<["n", 4]>>,
    %window: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "window", graph.capacity = 64 : i64},
    %written: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "written", graph.capacity = 64 : i64},
    %all: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "all", graph.capacity = 64 : i64},
    %summed: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "summed", graph.capacity = 64 : i64})
    -> (tensor<?x4xf32, #graph.shape<["length + n - 8*floordiv(max(0, length - 7), 8)", 4]>>,
        tensor<?x4xf32, #graph.shape<["n + 3", 4]>>, tensor<4xf32>,
        tensor<?x4xf32, #graph.shape<["length + n", 4]>> {graph.state = "window"},
        tensor<?x4xf32, #graph.shape<["length + n", 4]>> {graph.state = "written"},
        tensor<?x4xf32, #graph.shape<["length + n", 4]>> {graph.state = "all"},
        tensor<?x4xf32, #graph.shape<["length + n", 4]>> {graph.state = "summed"}) {
  %0 = graph.concat %window, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["length + n", 4]>>
  %1 = graph.concat %written, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["length + n", 4]>>
  %2 = graph.concat %all, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["length + n", 4]>>
  %3 = graph.concat %summed, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<?x4xf32, #graph.shape<["n", 4]>>) -> tensor<?x4xf32, #graph.shape<["length + n", 4]>>
  %rows = graph.slice %0 <["8*floordiv(max(0, length - 7), 8)", "0"]> [1, 1] : tensor<?x4xf32, #graph.shape<["length + n", 4]>> -> tensor<?x4xf32, #graph.shape<["length + n - 8*floordiv(max(0, length - 7), 8)", 4]>>
  %middle = graph.slice %2 <["floordiv(length, 2)", "0"]> [1, 1] : tensor<?x4xf32, #graph.shape<["length + n", 4]>> -> tensor<?x4xf32, #graph.shape<["n + 3", 4]>>
  %sum = graph.reduce sum %3 dims [0] : tensor<?x4xf32, #graph.shape<["length + n", 4]>> -> tensor<4xf32>
  return %rows, %middle, %sum, %0, %1, %2, %3
      : tensor<?x4xf32, #graph.shape<["length + n - 8*floordiv(max(0, length - 7), 8)", 4]>>, tensor<?x4xf32, #graph.shape<["n + 3", 4]>>, tensor<4xf32>,
        tensor<?x4xf32, #graph.shape<["length + n", 4]>>, tensor<?x4xf32, #graph.shape<["length + n", 4]>>, tensor<?x4xf32, #graph.shape<["length + n", 4]>>, tensor<?x4xf32, #graph.shape<["length + n", 4]>>
}

// What is also another result, or another state's next value, is read as a whole; a number that was there before goes.
// CHECK-LABEL: func.func @results
// CHECK-SAME: {graph.capacity = 64 : i64, graph.state = "output"}
// CHECK-SAME: {graph.capacity = 64 : i64, graph.state = "copied"}
// CHECK-SAME: {graph.capacity = 64 : i64, graph.state = "copy"}
func.func @results(
    %x: tensor<1x4xf32>,
    %output: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "output", graph.capacity = 64 : i64, graph.read_rows = 1 : i64},
    %copied: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "copied", graph.capacity = 64 : i64},
    %copy: tensor<?x4xf32, #graph.shape<["length", 4]>> {graph.state = "copy", graph.capacity = 64 : i64, graph.read_rows = 1 : i64})
    -> (tensor<?x4xf32, #graph.shape<["length + 1", 4]>>,
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "output"},
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "copied"},
        tensor<?x4xf32, #graph.shape<["length + 1", 4]>> {graph.state = "copy"}) {
  %0 = graph.concat %output, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  %1 = graph.concat %copied, %x axis 0 : (tensor<?x4xf32, #graph.shape<["length", 4]>>, tensor<1x4xf32>) -> tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
  return %0, %0, %1, %1
      : tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>, tensor<?x4xf32, #graph.shape<["length + 1", 4]>>
}

// Slices of whole rows of a constant are parts of its memory, wherever they start.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<?xf32, #graph.shape<["n"]>>) -> (tensor<1x2xf32>, tensor<4x1xf32>) {
  %all = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32> : tensor<4x2xf32>
  // CHECK: graph.slice %{{.*}} <["n", 0]> [1, 1] {graph.in_place}
  %row = graph.slice %all <["n", "0"]> [1, 1] : tensor<4x2xf32> -> tensor<1x2xf32>
  // CHECK: graph.slice %{{.*}} <[0, 1]> [1, 1] : tensor<4x2xf32>
  %column = graph.slice %all <["0", "1"]> [1, 1] : tensor<4x2xf32> -> tensor<4x1xf32>
  return %row, %column : tensor<1x2xf32>, tensor<4x1xf32>
}
