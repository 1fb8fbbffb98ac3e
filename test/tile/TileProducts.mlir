// Where a machine multiplies tiles, operands are padded to whole ones; one row, and a machine that has none, take vectors.
// RUN: perpend-opt --tile-pack-operands=target=sapphirerapids --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,TILES
// RUN: perpend-opt --tile-pack-operands=target=sapphirerapids,-amx --graph-simplify %s | FileCheck %s --check-prefixes=CHECK,VECTORS

// CHECK-LABEL: func.func @many_rows
// TILES: tile.matmul {{.*}} : (tensor<40x64xbf16>, tensor<2x32x32x2xbf16>)
// VECTORS: tile.matmul {{.*}} : (tensor<40x46xbf16>, tensor<2x23x32x2xbf16>)
func.func @many_rows(%x: tensor<40x45xbf16>, %w: tensor<45x51xbf16>) -> tensor<40x51xf32> {
  %a = graph.map (%x) : (tensor<40x45xbf16>) -> tensor<40x45xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %b = graph.map (%w) : (tensor<45x51xbf16>) -> tensor<45x51xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<40x45xf32>, tensor<45x51xf32>) -> tensor<40x51xf32>
  return %y : tensor<40x51xf32>
}

// Both read the same bytes, which takes longer than computing.
// CHECK-LABEL: func.func @one_row
// CHECK: tile.matmul {{.*}} : (tensor<1x46xbf16>, tensor<2x23x32x2xbf16>)
func.func @one_row(%x: tensor<1x45xbf16>, %w: tensor<45x51xbf16>) -> tensor<1x51xf32> {
  %a = graph.map (%x) : (tensor<1x45xbf16>) -> tensor<1x45xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %b = graph.map (%w) : (tensor<45x51xbf16>) -> tensor<45x51xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %y = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<1x45xf32>, tensor<45x51xf32>) -> tensor<1x51xf32>
  return %y : tensor<1x51xf32>
}

#k = #graph.shape<[48, "k"]>
#l = #graph.shape<["k", 64]>

// A depth that only a run knows, and bytes: of a tile 64.
// CHECK-LABEL: func.func @bytes
// TILES: tile.matmul {{.*}} : (tensor<48x?xui8, {{.*}}>, tensor<2x?x32x4xi8, #graph.shape<[2, "16*floordiv(k + 63, 64)", 32, 4]>>)
// VECTORS: tile.matmul {{.*}} : (tensor<48x?xui8, {{.*}}>, tensor<2x?x32x4xi8, #graph.shape<[2, "floordiv(k + 3, 4)", 32, 4]>>)
func.func @bytes(%x: tensor<48x?xui8, #k>, %w: tensor<?x64xi8, #l>) -> tensor<48x64xi32> {
  %y = graph.contract %x, %w batch [] x [] over [1] x [0] : (tensor<48x?xui8, #k>, tensor<?x64xi8, #l>) -> tensor<48x64xi32>
  return %y : tensor<48x64xi32>
}

// So few channels would be mostly zeros in a tile.
// CHECK-LABEL: func.func @few_channels
// CHECK: tile.conv {{.*}} tensor<1x1x7x7x1x32x4xi8>)
func.func @few_channels(%x: tensor<1x33x33x3xui8>, %w: tensor<7x7x3x32xi8>) -> tensor<1x27x27x32xi32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x33x33x3xui8>, tensor<7x7x3x32xi8>) -> tensor<1x27x27x32xi32>
  return %r : tensor<1x27x27x32xi32>
}
