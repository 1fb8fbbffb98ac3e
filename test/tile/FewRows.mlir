// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4 %s | FileCheck %s
// RUN: same-values %s "builtin.module(tile-pack-operands{target=x86-64-v4})"
// RUN: same-values %s "builtin.module(tile-pack-operands{target=znver5})"

// Few rows with what lies along the depth: the other way round, with the rows in a panel.
// CHECK-LABEL: func.func @keys
// CHECK: %[[KEYS:.*]] = graph.transpose %arg1 [0, 1, 2, 3] : tensor<2x3x50x64xf32> -> tensor<2x3x50x64xf32>
// CHECK: %[[SUMS:.*]] = tile.matmul %[[KEYS]], {{.*}} : (tensor<2x3x50x64xf32>, tensor<2x3x1x8x4x8xf32>) -> tensor<2x3x50x4xf32>
// CHECK: graph.transpose %[[SUMS]] [0, 1, 3, 2]
func.func @keys(%q: tensor<2x3x4x64xf32>, %k: tensor<2x3x50x64xf32>) -> tensor<2x3x4x50xf32> {
  %t = graph.transpose %k [0, 1, 3, 2] : tensor<2x3x50x64xf32> -> tensor<2x3x64x50xf32>
  %c = graph.contract %q, %t batch [0, 1] x [0, 1] over [3] x [2] : (tensor<2x3x4x64xf32>, tensor<2x3x64x50xf32>) -> tensor<2x3x4x50xf32>
  return %c : tensor<2x3x4x50xf32>
}

// One row is a sum along each of its rows.
// CHECK-LABEL: func.func @one
// CHECK: graph.contract
func.func @one(%q: tensor<3x1x64xf32>, %k: tensor<3x50x64xf32>) -> tensor<3x1x50xf32> {
  %c = graph.contract %q, %k batch [0] x [0] over [2] x [2] : (tensor<3x1x64xf32>, tensor<3x50x64xf32>) -> tensor<3x1x50xf32>
  return %c : tensor<3x1x50xf32>
}

// Tokens that have their heads side by side would have to be moved. So they are packed.
// CHECK-LABEL: func.func @moved
// CHECK: tile.matmul {{.*}} : (tensor<2x3x4x64xf32>, tensor<2x3x{{[0-9]+}}x64x{{[0-9]+}}xf32>) -> tensor<2x3x4x50xf32>
func.func @moved(%q: tensor<2x3x4x64xf32>, %k: tensor<2x50x3x64xf32>) -> tensor<2x3x4x50xf32> {
  %t = graph.transpose %k [0, 2, 3, 1] : tensor<2x50x3x64xf32> -> tensor<2x3x64x50xf32>
  %c = graph.contract %q, %t batch [0, 1] x [0, 1] over [3] x [2] : (tensor<2x3x4x64xf32>, tensor<2x3x64x50xf32>) -> tensor<2x3x4x50xf32>
  return %c : tensor<2x3x4x50xf32>
}

// Keys of f16 are extended where they lie.
// CHECK-LABEL: func.func @narrow
// CHECK: tile.matmul {{.*}} : (tensor<3x50x64xf16>, tensor<3x1x64x4xf32>) -> tensor<3x50x4xf32>
func.func @narrow(%q: tensor<3x4x64xf32>, %f: tensor<3x50x64xf32>) -> tensor<3x4x50xf32> {
  %k = graph.map (%f) : (tensor<3x50x64xf32>) -> tensor<3x50x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    graph.yield %y : f16
  }
  %w = graph.map (%k) : (tensor<3x50x64xf16>) -> tensor<3x50x64xf32> {
  ^bb0(%x: f16):
    %y = arith.extf %x : f16 to f32
    graph.yield %y : f32
  }
  %c = graph.contract %q, %w batch [0] x [0] over [2] x [2] : (tensor<3x4x64xf32>, tensor<3x50x64xf32>) -> tensor<3x4x50xf32>
  return %c : tensor<3x4x50xf32>
}

// What lies along the columns is read again for each row, which packing outweighs from three rows on.
// CHECK-LABEL: func.func @values
// CHECK: graph.contract
// CHECK: tile.matmul
func.func @values(%p: tensor<2x70xf32>, %r: tensor<3x70xf32>, %v: tensor<70x50xf32>) -> (tensor<2x50xf32>, tensor<3x50xf32>) {
  %c = graph.contract %p, %v batch [] x [] over [1] x [0] : (tensor<2x70xf32>, tensor<70x50xf32>) -> tensor<2x50xf32>
  %d = graph.contract %r, %v batch [] x [] over [1] x [0] : (tensor<3x70xf32>, tensor<70x50xf32>) -> tensor<3x50xf32>
  return %c, %d : tensor<2x50xf32>, tensor<3x50xf32>
}

// Constants are packed by the compiler; so is what many rows read, and what is computed of constants alone.
// CHECK-LABEL: func.func @packed
// CHECK: tile.matmul {{.*}} : (tensor<1x8xf32>,
// CHECK: tile.matmul {{.*}} : (tensor<20x8xf32>, {{.*}}) -> tensor<20x8xf32>
// CHECK: tile.matmul {{.*}} : (tensor<9x8xf32>,
// CHECK: tile.matmul {{.*}} : (tensor<1x8xf32>,
func.func @packed(%p: tensor<1x8xf32>, %r: tensor<9x8xf32>, %s: tensor<8x8xf32>, %k: tensor<20x8xf32>)
    -> (tensor<1x20xf32>, tensor<8x20xf32>, tensor<9x20xf32>, tensor<1x20xf32>) {
  %w = graph.constant dense<0.5> : tensor<8x20xf32> : tensor<8x20xf32>
  %c = graph.contract %p, %w batch [] x [] over [1] x [0] : (tensor<1x8xf32>, tensor<8x20xf32>) -> tensor<1x20xf32>
  %f = graph.contract %s, %k batch [] x [] over [1] x [1] : (tensor<8x8xf32>, tensor<20x8xf32>) -> tensor<8x20xf32>
  %d = graph.contract %r, %k batch [] x [] over [1] x [1] : (tensor<9x8xf32>, tensor<20x8xf32>) -> tensor<9x20xf32>
  %t = graph.transpose %w [1, 0] : tensor<8x20xf32> -> tensor<20x8xf32>
  %e = graph.contract %p, %t batch [] x [] over [1] x [1] : (tensor<1x8xf32>, tensor<20x8xf32>) -> tensor<1x20xf32>
  return %c, %f, %d, %e : tensor<1x20xf32>, tensor<8x20xf32>, tensor<9x20xf32>, tensor<1x20xf32>
}
