// Of what no cache next to the core holds, some lines of each row at a time, where the result's rows are short.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,l2=256K %s | FileCheck %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3,l2=4M %s | FileCheck --check-prefix=CACHED %s
// RUN: perpend check %s --against interpreter --target x86-64-v3,l2=256K

func.func @main(%x: tensor<24x5376xf32> {graph.name = "x"}, %y: tensor<256x1024xf32> {graph.name = "y"}) -> (tensor<5376x24xf32>, tensor<1024x256xf32>) {
  %0 = graph.call_kernel @planes(%x) : (tensor<24x5376xf32>) -> tensor<5376x24xf32>
  %1 = graph.call_kernel @long_rows(%y) : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
  return %0, %1 : tensor<5376x24xf32>, tensor<1024x256xf32>
}

// 672 tiles, and 16 of them divide them.
// CHECK-LABEL: func.func private @planes
// CHECK-SAME: split %[[TILES:[a-z0-9_]+]], [_, 16]", "reorder %[[TILES]]_0, %{{[a-z0-9_]+}}, %[[TILES]]_1,
// CACHED-LABEL: func.func private @planes
// CACHED-NOT: [_, 16]
// CACHED-LABEL: func.func private @long_rows
// CACHED-NOT: [_, 2]
func.func private @planes(%x: tensor<24x5376xf32>) -> tensor<5376x24xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<24x5376xf32> -> tensor<5376x24xf32>
  return %0 : tensor<5376x24xf32>
}

// Rows that are multiples of many lines apart: tiles that share lines of the operand and of the result, together.
// CHECK-LABEL: func.func private @long_rows
// CHECK-NOT: [_, 16]
// CHECK-SAME: split %[[ROWS:[a-z0-9_]+]], [_, 2]", "%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} = split %[[COLUMNS:[a-z0-9_]+]], [_, 2]", "reorder %[[ROWS]]_0, %[[COLUMNS]]_0, %[[COLUMNS]]_1, %[[ROWS]]_1,
// CHECK: return
func.func private @long_rows(%x: tensor<256x1024xf32>) -> tensor<1024x256xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<256x1024xf32> -> tensor<1024x256xf32>
  return %0 : tensor<1024x256xf32>
}
