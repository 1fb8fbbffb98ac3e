// Which rule made a kernel's trace stays until its loops are on memory, and why rules before that one were refused, if
// the kernel is of their kind.
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 %s | FileCheck %s
// RUN: perpend-opt --tile-build-blocks --tile-schedule-blocks=target=x86-64-v3 --tile-flatten-blocks %s | FileCheck --check-prefix=FLAT %s

// FLAT-NOT: tile.rules

#image = #graph.shape<[1, "floordiv(h + 15, 16)", "floordiv(w + 15, 16)", 24]>

// CHECK-LABEL: func.func private @columns
// CHECK-SAME: tile.rules = ["by the rule movement"]
func.func private @columns(%x: tensor<24x16xf32>) -> tensor<16x24xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<24x16xf32> -> tensor<16x24xf32>
  return %0 : tensor<16x24xf32>
}

// CHECK-LABEL: func.func private @few_columns
// CHECK-SAME: tile.rules = ["not by the rule movement: a tile has less than 4 rows or columns", "by the rule pointwise"]
func.func private @few_columns(%x: tensor<24x3xf32>) -> tensor<3x24xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<24x3xf32> -> tensor<3x24xf32>
  return %0 : tensor<3x24xf32>
}

// What is not of a rule's kind is not worth a word.
// CHECK-LABEL: func.func private @map
// CHECK-SAME: tile.rules = ["by the rule pointwise"]
func.func private @map(%x: tensor<24x16xf32>) -> tensor<24x16xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.map (%x) : (tensor<24x16xf32>) -> tensor<24x16xf32> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    graph.yield %e : f32
  }
  return %0 : tensor<24x16xf32>
}

// CHECK-LABEL: func.func private @wide
// CHECK-SAME: tile.rules = ["not by the rule contraction: no panel has 768 columns", "by the rule reduction"]
func.func private @wide(%x: tensor<4x8xf32>, %w: tensor<8x768xf32>) -> tensor<4x768xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<4x8xf32>, tensor<8x768xf32>) -> tensor<4x768xf32>
  return %0 : tensor<4x768xf32>
}

// CHECK-LABEL: func.func private @types
// CHECK-SAME: tile.rules = ["not by the rule contraction: no intrinsic computes with its types", "by the rule reduction"]
func.func private @types(%x: tensor<4x8xi64>, %w: tensor<8x16xi64>) -> tensor<4x16xi64> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<4x8xi64>, tensor<8x16xi64>) -> tensor<4x16xi64>
  return %0 : tensor<4x16xi64>
}

// What a primitive refuses.
// CHECK-LABEL: func.func private @joined
// CHECK-SAME: tile.rules = ["not by the rule movement: decompose_padding %concat, %{{.*}}: the block 'concat' pads nothing: {{[^"\\]*}}", "by the rule pointwise"]
func.func private @joined(%x: tensor<24x16xf32>, %y: tensor<8x24xf32>) -> tensor<24x24xf32> attributes {tile.kernel, tile.schedule = {}} {
  %0 = graph.transpose %x [1, 0] : tensor<24x16xf32> -> tensor<16x24xf32>
  %1 = graph.concat %0, %y axis 0 : (tensor<16x24xf32>, tensor<8x24xf32>) -> tensor<24x24xf32>
  return %1 : tensor<24x24xf32>
}

// CHECK-LABEL: func.func private @mean
// CHECK-SAME: tile.rules = ["by the rule reduction"]
func.func private @mean(%x: tensor<1x?x?x24xf32, #image>, %n: tensor<f32>) -> tensor<1x24xf32> attributes {graph.symbols = ["h", "w"], tile.kernel, tile.schedule = {}} {
  %0 = graph.reduce sum %x dims [1, 2] : tensor<1x?x?x24xf32, #image> -> tensor<1x24xf32>
  %1 = graph.broadcast %n dims [] : tensor<f32> -> tensor<1x24xf32>
  %2 = graph.map (%0, %1) : (tensor<1x24xf32>, tensor<1x24xf32>) -> tensor<1x24xf32> {
  ^bb0(%a: f32, %b: f32):
    %q = arith.divf %a, %b : f32
    graph.yield %q : f32
  }
  return %2 : tensor<1x24xf32>
}
