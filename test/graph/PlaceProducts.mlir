// RUN: perpend-opt --graph-place-products %s | FileCheck %s
// RUN: same-values %s 'func.func(graph-place-products)'

// The product is computed on an eighth of the positions, and what it gives is enlarged.
// CHECK-LABEL: func.func @enlarged
// CHECK: %[[P:.*]] = graph.contract %arg0, %arg1 {{.*}} -> tensor<3x64xf32>
// CHECK-DAG: graph.gather %[[P]][%{{.*}}] axis 0 : (tensor<3x64xf32>, tensor<24xi32>) -> tensor<24x64xf32>
// CHECK-DAG: graph.gather %[[P]][%{{.*}}] axis 0
// CHECK: %[[M:.*]] = graph.map
// CHECK-NOT: graph.contract
// CHECK: return %[[M]]
func.func @enlarged(%x: tensor<3x32xf32>, %w: tensor<32x64xf32>, %f: tensor<24xf32>) -> tensor<24x64xf32> {
  %i = graph.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]> : tensor<24xi32> : tensor<24xi32>
  %j = graph.constant dense<[0, 1, 0, 1, 0, 1, 0, 1, 1, 2, 1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2]> : tensor<24xi32> : tensor<24xi32>
  %a = graph.gather %x[%i] axis 0 : (tensor<3x32xf32>, tensor<24xi32>) -> tensor<24x32xf32>
  %b = graph.gather %x[%j] axis 0 : (tensor<3x32xf32>, tensor<24xi32>) -> tensor<24x32xf32>
  %g = graph.broadcast %f dims [0] : tensor<24xf32> -> tensor<24x32xf32>
  %m = graph.map (%a, %b, %g) : (tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32> {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %one = arith.constant 1.0 : f32
    %t = arith.subf %one, %s : f32
    %u = arith.mulf %p, %t : f32
    %v = arith.mulf %q, %s : f32
    %y = arith.addf %u, %v : f32
    graph.yield %y : f32
  }
  %r = graph.contract %m, %w batch [] x [] over [1] x [0] : (tensor<24x32xf32>, tensor<32x64xf32>) -> tensor<24x64xf32>
  return %r : tensor<24x64xf32>
}

// Channels beside one another become a sum of products, of parts of the filter.
// CHECK-LABEL: func.func @parts
// CHECK-DAG: %[[U:.*]] = graph.slice %arg2 <[0, 0, 0, 0]> [1, 1, 1, 1] : tensor<1x1x72x40xf32> -> tensor<1x1x8x40xf32>
// CHECK-DAG: %[[V:.*]] = graph.slice %arg2 <[0, 0, 8, 0]> [1, 1, 1, 1] : tensor<1x1x72x40xf32> -> tensor<1x1x64x40xf32>
// CHECK-DAG: %[[S:.*]] = graph.conv %arg1, %[[U]] {{.*}} -> tensor<1x8x6x40xf32>
// CHECK-DAG: %[[C:.*]] = graph.conv %arg0, %[[V]] {{.*}} -> tensor<1x2x6x40xf32>
// CHECK: graph.gather %[[C]][%{{.*}}] axis 1
// CHECK-NOT: graph.concat
// CHECK: return
func.func @parts(%x: tensor<1x2x6x64xf32>, %y: tensor<1x8x6x8xf32>, %w: tensor<1x1x72x40xf32>, %f: tensor<8xf32>) -> tensor<1x8x6x40xf32> {
  %i = graph.constant dense<[0, 0, 1, 1, 0, 1, 0, 1]> : tensor<8xi32> : tensor<8xi32>
  %a = graph.gather %x[%i] axis 1 : (tensor<1x2x6x64xf32>, tensor<8xi32>) -> tensor<1x8x6x64xf32>
  %g = graph.broadcast %f dims [1] : tensor<8xf32> -> tensor<1x8x6x64xf32>
  %m = graph.map (%a, %g) : (tensor<1x8x6x64xf32>, tensor<1x8x6x64xf32>) -> tensor<1x8x6x64xf32> {
  ^bb0(%p: f32, %s: f32):
    %u = arith.mulf %p, %s : f32
    graph.yield %u : f32
  }
  %c = graph.concat %y, %m axis 3 : (tensor<1x8x6x8xf32>, tensor<1x8x6x64xf32>) -> tensor<1x8x6x72xf32>
  %r = graph.conv %c, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<1x8x6x72xf32>, tensor<1x1x72x40xf32>) -> tensor<1x8x6x40xf32>
  return %r : tensor<1x8x6x40xf32>
}

// A constant that is added, factors of channels, a square: the order matters.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-1: graph.gather %arg0
// CHECK-NOT: graph.gather
// CHECK: return
func.func @others(%x: tensor<3x32xf32>, %w: tensor<32x32xf32>, %f: tensor<32xf32>) -> (tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>) {
  %i = graph.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]> : tensor<24xi32> : tensor<24xi32>
  %a = graph.gather %x[%i] axis 0 : (tensor<3x32xf32>, tensor<24xi32>) -> tensor<24x32xf32>
  %one = graph.map (%a) : (tensor<24x32xf32>) -> tensor<24x32xf32> {
  ^bb0(%p: f32):
    %c = arith.constant 1.0 : f32
    %u = arith.addf %p, %c : f32
    graph.yield %u : f32
  }
  %g = graph.broadcast %f dims [1] : tensor<32xf32> -> tensor<24x32xf32>
  %scaled = graph.map (%a, %g) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32> {
  ^bb0(%p: f32, %s: f32):
    %u = arith.mulf %p, %s : f32
    graph.yield %u : f32
  }
  %square = graph.map (%a) : (tensor<24x32xf32>) -> tensor<24x32xf32> {
  ^bb0(%p: f32):
    %u = arith.mulf %p, %p : f32
    graph.yield %u : f32
  }
  %r0 = graph.contract %one, %w batch [] x [] over [1] x [0] : (tensor<24x32xf32>, tensor<32x32xf32>) -> tensor<24x32xf32>
  %r1 = graph.contract %scaled, %w batch [] x [] over [1] x [0] : (tensor<24x32xf32>, tensor<32x32xf32>) -> tensor<24x32xf32>
  %r2 = graph.contract %square, %w batch [] x [] over [1] x [0] : (tensor<24x32xf32>, tensor<32x32xf32>) -> tensor<24x32xf32>
  return %r0, %r1, %r2 : tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>
}
