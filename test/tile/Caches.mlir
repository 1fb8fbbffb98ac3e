// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4 %s | FileCheck %s
// RUN: same-values %s "builtin.module(tile-pack-operands{target=x86-64-v4})"

// Attention of one token with its cache: keys are the left operand, where they lie, and values are panels, a part of each
// row, whose rows lie apart. Nothing is padded, and transposes keep the last dimension.
// CHECK-LABEL: func.func @decode
// CHECK: %[[KEYS:.*]] = graph.concat %arg2, %arg1
// CHECK: %[[VALUES:.*]] = graph.concat %arg3, %arg1
// CHECK-NOT: graph.pad %[[KEYS]]
// CHECK: tile.matmul {{.*}} : (tensor<2x?x32xf32, #graph.shape<[2, "length + 1", 32]>>, tensor<2x1x{{[0-9x]+}}xf32>)
// CHECK: graph.reshape %[[VALUES]] {{.*}} -> tensor<?x2x1x32xf32, #graph.shape<["length + 1", 2, 1, 32]>>
// CHECK: %[[PANELS:.*]] = graph.transpose {{.*}} [1, 2, 0, 3] : {{.*}} -> tensor<2x1x?x32xf32, #graph.shape<[2, 1, "length + 1", 32]>>
// CHECK: tile.matmul {{.*}}, %[[PANELS]] :
func.func @decode(%q: tensor<2x4x32xf32>, %row: tensor<1x2x32xf32>,
    %k: tensor<?x2x32xf32, #graph.shape<["length", 2, 32]>> {graph.state = "k", graph.capacity = 128 : i64},
    %v: tensor<?x2x32xf32, #graph.shape<["length", 2, 32]>> {graph.state = "v", graph.capacity = 128 : i64})
    -> (tensor<2x4x32xf32>, tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> {graph.state = "k"},
        tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> {graph.state = "v"}) {
  %keys = graph.concat %k, %row axis 0 : (tensor<?x2x32xf32, #graph.shape<["length", 2, 32]>>, tensor<1x2x32xf32>) -> tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>>
  %values = graph.concat %v, %row axis 0 : (tensor<?x2x32xf32, #graph.shape<["length", 2, 32]>>, tensor<1x2x32xf32>) -> tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>>
  %turned = graph.transpose %keys [1, 2, 0] : tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> -> tensor<2x32x?xf32, #graph.shape<[2, 32, "length + 1"]>>
  %scores = graph.contract %q, %turned batch [0] x [0] over [2] x [1] : (tensor<2x4x32xf32>, tensor<2x32x?xf32, #graph.shape<[2, 32, "length + 1"]>>) -> tensor<2x4x?xf32, #graph.shape<[2, 4, "length + 1"]>>
  %heads = graph.transpose %values [1, 0, 2] : tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> -> tensor<2x?x32xf32, #graph.shape<[2, "length + 1", 32]>>
  %result = graph.contract %scores, %heads batch [0] x [0] over [2] x [1] : (tensor<2x4x?xf32, #graph.shape<[2, 4, "length + 1"]>>, tensor<2x?x32xf32, #graph.shape<[2, "length + 1", 32]>>) -> tensor<2x4x32xf32>
  return %result, %keys, %values : tensor<2x4x32xf32>, tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>>, tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>>
}

// The same in f16, which products extend where it lies.
// CHECK-LABEL: func.func @narrow
// CHECK: tile.matmul {{.*}} : (tensor<2x?x32xf16, #graph.shape<[2, "length + 1", 32]>>, tensor<2x1x{{[0-9x]+}}xf32>)
// CHECK: %[[PANELS:.*]] = graph.transpose {{.*}} [1, 2, 0, 3] : {{.*}} -> tensor<2x1x?x32xf16, #graph.shape<[2, 1, "length + 1", 32]>>
// CHECK: tile.matmul {{.*}}, %[[PANELS]] :
func.func @narrow(%q: tensor<2x4x32xf32>, %row: tensor<1x2x32xf16>,
    %k: tensor<?x2x32xf16, #graph.shape<["length", 2, 32]>> {graph.state = "k", graph.capacity = 128 : i64})
    -> (tensor<2x4x32xf32>, tensor<?x2x32xf16, #graph.shape<["length + 1", 2, 32]>> {graph.state = "k"}) {
  %keys = graph.concat %k, %row axis 0 : (tensor<?x2x32xf16, #graph.shape<["length", 2, 32]>>, tensor<1x2x32xf16>) -> tensor<?x2x32xf16, #graph.shape<["length + 1", 2, 32]>>
  %wide = graph.map (%keys) : (tensor<?x2x32xf16, #graph.shape<["length + 1", 2, 32]>>) -> tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> {
  ^bb0(%x: f16):
    %y = arith.extf %x : f16 to f32
    graph.yield %y : f32
  }
  %turned = graph.transpose %wide [1, 2, 0] : tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> -> tensor<2x32x?xf32, #graph.shape<[2, 32, "length + 1"]>>
  %scores = graph.contract %q, %turned batch [0] x [0] over [2] x [1] : (tensor<2x4x32xf32>, tensor<2x32x?xf32, #graph.shape<[2, 32, "length + 1"]>>) -> tensor<2x4x?xf32, #graph.shape<[2, 4, "length + 1"]>>
  %heads = graph.transpose %wide [1, 0, 2] : tensor<?x2x32xf32, #graph.shape<["length + 1", 2, 32]>> -> tensor<2x?x32xf32, #graph.shape<[2, "length + 1", 32]>>
  %result = graph.contract %scores, %heads batch [0] x [0] over [2] x [1] : (tensor<2x4x?xf32, #graph.shape<[2, 4, "length + 1"]>>, tensor<2x?x32xf32, #graph.shape<[2, "length + 1", 32]>>) -> tensor<2x4x32xf32>
  return %result, %keys : tensor<2x4x32xf32>, tensor<?x2x32xf16, #graph.shape<["length + 1", 2, 32]>>
}
