// A kernel reads its own symbols only.
// RUN: not perpend-opt --tile-build-blocks --tile-schedule-blocks --tile-flatten-blocks %s 2>&1 | FileCheck %s

// CHECK: kernel 'reversed': expected one of its symbols (n), got 'm'
// CHECK: hint: list it in its attribute graph.symbols
func.func private @reversed(%a: tensor<2x?xf32, #graph.shape<[2, "n"]>>) -> tensor<2x?xf32, #graph.shape<[2, "n"]>> attributes {graph.symbols = ["n"], tile.kernel} {
  %0 = graph.slice %a <[0, "m - 1"]> [1, -1] : tensor<2x?xf32, #graph.shape<[2, "n"]>> -> tensor<2x?xf32, #graph.shape<[2, "n"]>>
  return %0 : tensor<2x?xf32, #graph.shape<[2, "n"]>>
}
