// A dimension that many operands form one after the other is cut into as many pieces, each with vectors; a computation
// on them that is long, into none.
// RUN: perpend inspect %s --schedules --target x86-64-v3 | FileCheck %s

// CHECK: loop_partition %i1, [64, 64, 64, 64, 64, 64, 64, 64, 64, 64]
// CHECK-COUNT-10: vectorize
func.func @main(%a: tensor<8x64xf32> {graph.name = "a"}, %b: tensor<8x64xf32> {graph.name = "b"})
    -> (tensor<8x640xf32> {graph.name = "y"}) {
  %y = graph.concat %a, %b, %a, %b, %a, %b, %a, %b, %a, %b axis 1
    : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>,
       tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x640xf32>
  return %y : tensor<8x640xf32>
}
