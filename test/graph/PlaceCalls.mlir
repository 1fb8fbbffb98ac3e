// RUN: perpend-opt --graph-place-calls %s | FileCheck %s
// RUN: same-values %s graph-place-calls

// The dimensions around that of the lines become one each.
// CHECK-LABEL: func.func @sorted
// CHECK: %[[LINES:.*]] = graph.reshape %arg0 : tensor<2x3x101x7xf64> -> tensor<6x101x7xf64>
// CHECK: %[[POSITIONS:.*]] = graph.call_library "order.sort"(%[[LINES]], %{{.*}}) {descending = 1 : i64}
// CHECK-NOT: graph.sort
// CHECK: graph.reshape %[[POSITIONS]] : tensor<6x101x7xi64> -> tensor<2x3x101x7xi64>
func.func @sorted(%x: tensor<2x3x101x7xf64>) -> tensor<2x3x101x7xi64> {
  %r = graph.sort descending %x dim 2 : tensor<2x3x101x7xf64> -> tensor<2x3x101x7xi64>
  return %r : tensor<2x3x101x7xi64>
}

// A part of the positions is selected.
// CHECK-LABEL: func.func @median
// CHECK: graph.constant dense<128>
// CHECK: graph.call_library "order.sort"
// CHECK-SAME: -> tensor<3x1x1xi64>
// CHECK-NOT: graph.slice
func.func @median(%x: tensor<3x257xf32>) -> tensor<3x1xi64> {
  %all = graph.sort %x dim 1 : tensor<3x257xf32> -> tensor<3x257xi64>
  %r = graph.slice %all <[0, 128]> [1, 1] : tensor<3x257xi64> -> tensor<3x1xi64>
  return %r : tensor<3x1xi64>
}

// Unless something else reads others, or it is a part of each of a few lines.
// CHECK-LABEL: func.func @both
// CHECK: graph.call_library
// CHECK: graph.slice
func.func @both(%x: tensor<3x257xf32>) -> (tensor<3x1xi64>, tensor<3x257xi64>) {
  %all = graph.sort %x dim 1 : tensor<3x257xf32> -> tensor<3x257xi64>
  %r = graph.slice %all <[0, 128]> [1, 1] : tensor<3x257xi64> -> tensor<3x1xi64>
  return %r, %all : tensor<3x1xi64>, tensor<3x257xi64>
}

// CHECK-LABEL: func.func @lines
// CHECK: graph.call_library
// CHECK: graph.slice
func.func @lines(%x: tensor<3x257xf32>) -> tensor<2x257xi64> {
  %all = graph.sort %x dim 1 : tensor<3x257xf32> -> tensor<3x257xi64>
  %r = graph.slice %all <[1, 0]> [1, 1] : tensor<3x257xi64> -> tensor<2x257xi64>
  return %r : tensor<2x257xi64>
}

// Short lines and keys of several numbers stay in kernels; short lines of 64 bits do not.
// CHECK-LABEL: func.func @kernels
// CHECK-NOT: graph.call_library
// CHECK-COUNT-2: graph.sort
func.func @kernels(%x: tensor<3x16xf32>, %y: tensor<100x2xf32>) -> (tensor<3x16xi64>, tensor<100xi64>) {
  %a = graph.sort %x dim 1 : tensor<3x16xf32> -> tensor<3x16xi64>
  %b = graph.sort lexicographic %y dim 0 : tensor<100x2xf32> -> tensor<100xi64>
  return %a, %b : tensor<3x16xi64>, tensor<100xi64>
}

// CHECK-LABEL: func.func @short
// CHECK: graph.call_library
func.func @short(%x: tensor<3x16xf64>) -> tensor<3x16xi64> {
  %r = graph.sort %x dim 1 : tensor<3x16xf64> -> tensor<3x16xi64>
  return %r : tensor<3x16xi64>
}

// CHECK-LABEL: func.func @symbolic
// CHECK: graph.call_library "order.sort"
// CHECK-SAME: #graph.shape<[1, "min(n, 5)", "m"]>
func.func @symbolic(%x: tensor<?x?xf32, #graph.shape<["n", "m"]>>) -> tensor<?x?xi64, #graph.shape<["min(n, 5)", "m"]>> {
  %r = graph.sort %x dim 0 : tensor<?x?xf32, #graph.shape<["n", "m"]>> -> tensor<?x?xi64, #graph.shape<["min(n, 5)", "m"]>>
  return %r : tensor<?x?xi64, #graph.shape<["min(n, 5)", "m"]>>
}
