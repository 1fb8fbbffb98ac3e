// RUN: perpend-opt --tile-pack-operands=target=x86-64-v4 %s | FileCheck %s
// RUN: perpend-opt --tile-pack-operands=target=x86-64-v3 %s | FileCheck --check-prefix=NARROW %s

#x = #graph.shape<["n", 7]>
#y = #graph.shape<["n", 40]>

// Forty columns are one panel of three vectors of sixteen, or five panels of one vector of eight.
// CHECK-LABEL: func.func @product
// CHECK: graph.pad %arg1 {{.*}} -> tensor<7x48xf32>
// CHECK: graph.reshape {{.*}} -> tensor<7x1x48xf32>
// CHECK: %[[W:.*]] = graph.transpose {{.*}} [1, 0, 2] : {{.*}} -> tensor<1x7x48xf32>
// CHECK: tile.matmul %{{.*}}, %[[W]]
// NARROW-LABEL: func.func @product
// NARROW: tile.matmul {{.*}}, tensor<5x7x8xf32>)
func.func @product(%a: tensor<?x7xf32, #x>, %b: tensor<7x40xf32>) -> tensor<?x40xf32, #y> {
  %c = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<?x7xf32, #x>, tensor<7x40xf32>) -> tensor<?x40xf32, #y>
  return %c : tensor<?x40xf32, #y>
}

// A convolution of one position is a product.
// CHECK-LABEL: func.func @pointwise
// CHECK: tile.matmul
// CHECK-NOT: conv
// CHECK: return
func.func @pointwise(%x: tensor<2x5x5x3xf32>, %w: tensor<1x1x3x32xf32>) -> tensor<2x5x5x32xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<2x5x5x3xf32>, tensor<1x1x3x32xf32>) -> tensor<2x5x5x32xf32>
  return %r : tensor<2x5x5x32xf32>
}

// By strides it is none of all that it is given: it reads the image where that lies.
// CHECK-LABEL: func.func @strides
// CHECK-NOT: graph.slice
// CHECK: tile.conv %arg0, %{{.*}} strides [2, 2]
func.func @strides(%x: tensor<2x5x5x3xf32>, %w: tensor<1x1x3x32xf32>) -> tensor<2x3x3x32xf32> {
  %r = graph.conv %x, %w strides [2, 2] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<2x5x5x3xf32>, tensor<1x1x3x32xf32>) -> tensor<2x3x3x32xf32>
  return %r : tensor<2x3x3x32xf32>
}

// CHECK-LABEL: func.func @groups
// CHECK: tile.conv %arg0, %{{.*}} strides [2, 1] dilations [1, 1] : (tensor<1x6x5x4xf32>, tensor<2x1x3x3x2x16xf32>) -> tensor<1x2x3x2x16xf32>
// CHECK: graph.reshape %{{.*}} : tensor<1x2x3x2x16xf32> -> tensor<1x2x3x32xf32>
func.func @groups(%x: tensor<1x6x5x4xf32>, %w: tensor<3x3x2x32xf32>) -> tensor<1x2x3x32xf32> {
  %r = graph.conv %x, %w strides [2, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 2 channels_last
    : (tensor<1x6x5x4xf32>, tensor<3x3x2x32xf32>) -> tensor<1x2x3x32xf32>
  return %r : tensor<1x2x3x32xf32>
}

// No micro-kernel: depthwise, one column, other types, padding.
// CHECK-LABEL: func.func @others
// CHECK-NOT: tile.
// CHECK: return
func.func @others(%x: tensor<1x5x5x4xf32>, %w: tensor<3x3x1x4xf32>, %a: tensor<5x7xf32>, %v: tensor<7xf32>,
                  %p: tensor<5x7xi64>, %q: tensor<7x5xi64>, %u: tensor<3x3x4x8xf32>)
    -> (tensor<1x3x3x4xf32>, tensor<5xf32>, tensor<5x5xi64>, tensor<1x5x5x8xf32>) {
  %d = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 4 channels_last
    : (tensor<1x5x5x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x3x3x4xf32>
  %e = graph.contract %a, %v batch [] x [] over [1] x [0] : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5xf32>
  %f = graph.contract %p, %q batch [] x [] over [1] x [0] : (tensor<5x7xi64>, tensor<7x5xi64>) -> tensor<5x5xi64>
  %g = graph.conv %x, %u strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x5x5x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x5x5x8xf32>
  return %d, %e, %f, %g : tensor<1x3x3x4xf32>, tensor<5xf32>, tensor<5x5xi64>, tensor<1x5x5x8xf32>
}
