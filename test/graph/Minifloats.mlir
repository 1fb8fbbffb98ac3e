// RUN: perpend-opt %s | perpend-opt | FileCheck %s
// RUN: perpend check %s --symbol n=5

// Elements of small floats move as bytes; scalar code sees their bits.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<?x3x!graph.minifloat<f8e4m3fn>, #graph.shape<["n", 3]>>
// CHECK: ^bb0(%[[BITS:.*]]: i8):
!f8 = !graph.minifloat<f8e4m3fn>
!f4 = !graph.minifloat<f4e2m1fn>
func.func @main(%a: tensor<?x3x!f8, #graph.shape<["n", 3]>>, %b: tensor<2x7x!f4>)
    -> (tensor<3x?x!f8, #graph.shape<[3, "n"]>>, tensor<?x3xi1, #graph.shape<["n", 3]>>, tensor<2x9x!f4>) {
  %t = graph.transpose %a [1, 0] : tensor<?x3x!f8, #graph.shape<["n", 3]>> -> tensor<3x?x!f8, #graph.shape<[3, "n"]>>
  %zero = graph.map (%a) : (tensor<?x3x!f8, #graph.shape<["n", 3]>>) -> tensor<?x3xi1, #graph.shape<["n", 3]>> {
  ^bb0(%bits: i8):
    %mask = arith.constant 127 : i8
    %none = arith.constant 0 : i8
    %code = arith.andi %bits, %mask : i8
    %is = arith.cmpi eq, %code, %none : i8
    graph.yield %is : i1
  }
  %p = graph.pad %b <[0, 1]> 7 : i8 : tensor<2x7x!f4> -> tensor<2x9x!f4>
  return %t, %zero, %p : tensor<3x?x!f8, #graph.shape<[3, "n"]>>, tensor<?x3xi1, #graph.shape<["n", 3]>>, tensor<2x9x!f4>
}
