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
func.func @one_row(%x: tensor<1x45xbf16>) -> tensor<1x51xf32> {
  %w = graph.constant dense<0.5> : tensor<45x51xbf16> : tensor<45x51xbf16>
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

// Of few channels, a row of the window is one sum, where registers would be mostly zeros: 7 * 4 of 64 bytes. In words
// of vectors that saves nothing.
// CHECK-LABEL: func.func @few_channels
// TILES: tile.conv {{.*}} strides [1, 1] {{.*}} : (tensor<1x33x42x4xui8>, tensor<1x1x7x16x1x32x4xi8>)
// VECTORS: tile.conv {{.*}} strides [1, 1] {{.*}} : (tensor<1x33x33x4xui8>, tensor<1x1x7x7x1x32x4xi8>)
func.func @few_channels(%x: tensor<1x33x33x3xui8>, %w: tensor<7x7x3x32xi8>) -> tensor<1x27x27x32xi32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x33x33x3xui8>, tensor<7x7x3x32xi8>) -> tensor<1x27x27x32xi32>
  return %r : tensor<1x27x27x32xi32>
}

// Steps of 2 * 3 elements begin with a word of two: 7 * 3 of 32 elements, or of 22.
// CHECK-LABEL: func.func @even_steps
// TILES: tile.conv {{.*}} strides [2, 3] {{.*}} : (tensor<1x33x57x2xbf16>, tensor<1x1x7x16x1x32x2xbf16>)
// VECTORS: tile.conv {{.*}} strides [2, 3] {{.*}} : (tensor<1x33x51x2xbf16>, tensor<1x1x7x11x1x32x2xbf16>)
func.func @even_steps(%x: tensor<1x33x33x3xbf16>, %w: tensor<7x7x3x32xbf16>) -> tensor<1x14x14x32xf32> {
  %a = graph.map (%x) : (tensor<1x33x33x3xbf16>) -> tensor<1x33x33x3xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %b = graph.map (%w) : (tensor<7x7x3x32xbf16>) -> tensor<7x7x3x32xf32> {
  ^bb0(%n: bf16):
    %m = arith.extf %n : bf16 to f32
    graph.yield %m : f32
  }
  %r = graph.conv %a, %b strides [2, 2] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x33x33x3xf32>, tensor<7x7x3x32xf32>) -> tensor<1x14x14x32xf32>
  return %r : tensor<1x14x14x32xf32>
}
