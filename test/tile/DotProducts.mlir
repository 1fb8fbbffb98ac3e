// Words of bytes and of bf16 on machines with dot products of four lanes. Where these are of signed bytes alone, packing
// recentres an unsigned operand, and the loop does not. Products of matrices take words twice as long, but for one row.
// RUN: perpend-opt %s --tile-pack-operands=target=neoverse-n1 | FileCheck %s --check-prefix=SIGNED
// RUN: perpend-opt %s --tile-pack-operands=target=neoverse-v2 | FileCheck %s --check-prefix=MIXED
// RUN: perpend-opt %s --tile-pack-operands=target=neoverse-v1 | FileCheck %s --check-prefix=LONG
// RUN: perpend-opt %s --tile-pack-operands=target=aarch64 | FileCheck %s --check-prefix=PAIRS

// SIGNED-LABEL: func.func @bytes
// SIGNED: arith.xori
// SIGNED: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xi8>, tensor<4x16x8x4xi8>) -> tensor<8x32xi32>
// MIXED-LABEL: func.func @bytes
// MIXED-NOT: arith.xori
// MIXED: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xui8>, tensor<4x8x8x8xi8>) -> tensor<8x32xi32>
// LONG-LABEL: func.func @bytes
// LONG-NOT: arith.xori
// LONG: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xui8>, tensor<2x16x16x4xi8>) -> tensor<8x32xi32>
// PAIRS-LABEL: func.func @bytes
// PAIRS: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xi16>, tensor<4x32x8x2xi16>) -> tensor<8x32xi32>
func.func @bytes(%x: tensor<8x64xui8>, %w: tensor<64x32xi8>) -> tensor<8x32xi32> {
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  return %y : tensor<8x32xi32>
}

// MIXED-LABEL: func.func @one_row
// MIXED: tile.matmul %{{.*}}, %{{.*}} : (tensor<1x64xui8>, tensor<{{.*}}x4xi8>) -> tensor<1x32xi32>
func.func @one_row(%x: tensor<1x64xui8>, %w: tensor<64x32xi8>) -> tensor<1x32xi32> {
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<1x64xui8>, tensor<64x32xi8>) -> tensor<1x32xi32>
  return %y : tensor<1x32xi32>
}

// SIGNED-LABEL: func.func @signed
// SIGNED-NOT: arith.xori
// SIGNED: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xi8>, tensor<4x16x8x4xi8>) -> tensor<8x32xi32>
// MIXED-LABEL: func.func @signed
// MIXED-NOT: arith.xori
// MIXED: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xi8>, tensor<4x8x8x8xi8>) -> tensor<8x32xi32>
func.func @signed(%x: tensor<8x64xi8>, %w: tensor<64x32xi8>) -> tensor<8x32xi32> {
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<8x64xi8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  return %y : tensor<8x32xi32>
}

// SIGNED-LABEL: func.func @bf16
// SIGNED: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xf32>, tensor<4x64x8xbf16>) -> tensor<8x32xf32>
// MIXED-LABEL: func.func @bf16
// MIXED: tile.matmul %{{.*}}, %{{.*}} : (tensor<8x64xbf16>, tensor<4x16x8x4xbf16>) -> tensor<8x32xf32>
func.func @bf16(%x: tensor<8x64xbf16>) -> tensor<8x32xf32> {
  %w = graph.constant dense<0.5> : tensor<64x32xbf16> : tensor<64x32xbf16>
  %a = graph.map (%x) : (tensor<8x64xbf16>) -> tensor<8x64xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %b = graph.map (%w) : (tensor<64x32xbf16>) -> tensor<64x32xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
