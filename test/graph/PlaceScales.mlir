// RUN: perpend-opt --graph-place-scales %s | FileCheck %s
// RUN: same-values %s 'builtin.module(graph-place-scales)'

// A scale for each output channel, a bias with the scale of the sums, and a zero point.
// CHECK-LABEL: func.func @convolution
// CHECK-DAG: %[[X:.*]] = graph.map (%arg0) : (tensor<1x2x5x4xui8>) -> tensor<1x2x5x4xi16>
// CHECK: %[[C:.*]] = graph.conv %[[X]], %arg1 {{.*}} -> tensor<1x3x5x4xi32>
// CHECK: %[[B:.*]] = graph.broadcast %{{.*}} dims [1] : tensor<3xi32> -> tensor<1x3x5x4xi32>
// CHECK: %[[S:.*]] = graph.map (%[[C]], %[[B]]) : (tensor<1x3x5x4xi32>, tensor<1x3x5x4xi32>) -> tensor<1x3x5x4xi32>
// CHECK: %[[F:.*]] = graph.constant dense<[1.250000e-01, 2.500000e-01, 5.000000e-01]>
// CHECK: %[[FB:.*]] = graph.broadcast %[[F]] dims [1]
// CHECK: graph.map (%[[S]], %[[FB]]) : (tensor<1x3x5x4xi32>, tensor<1x3x5x4xf32>) -> tensor<1x3x5x4xf32>
// CHECK-NOT: graph.map
// CHECK: return
func.func @convolution(%x: tensor<1x2x5x4xui8>, %w: tensor<3x2x3x3xi8>) -> tensor<1x3x5x4xf32> {
  %r = graph.map (%x) : (tensor<1x2x5x4xui8>) -> tensor<1x2x5x4xf32> {
  ^bb0(%a: i8):
    %z = arith.constant 7.0 : f32
    %s = arith.constant 0.5 : f32
    %f = arith.uitofp %a : i8 to f32
    %d = arith.subf %f, %z : f32
    %p = arith.mulf %d, %s : f32
    graph.yield %p : f32
  }
  %t = graph.constant dense<[0.25, 0.5, 1.0]> : tensor<3xf32> : tensor<3xf32>
  %tw = graph.broadcast %t dims [0] : tensor<3xf32> -> tensor<3x2x3x3xf32>
  %v = graph.map (%w, %tw) : (tensor<3x2x3x3xi8>, tensor<3x2x3x3xf32>) -> tensor<3x2x3x3xf32> {
  ^bb0(%a: i8, %s: f32):
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %c = graph.conv %r, %v strides [1, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 1
    : (tensor<1x2x5x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x5x4xf32>
  %b = graph.constant dense<[5, -3, 9]> : tensor<3xi32> : tensor<3xi32>
  %u = graph.constant dense<[0.125, 0.25, 0.5]> : tensor<3xf32> : tensor<3xf32>
  %bias = graph.map (%b, %u) : (tensor<3xi32>, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: i32, %s: f32):
    %f = arith.sitofp %a : i32 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %biases = graph.broadcast %bias dims [1] : tensor<3xf32> -> tensor<1x3x5x4xf32>
  %y = graph.map (%c, %biases) : (tensor<1x3x5x4xf32>, tensor<1x3x5x4xf32>) -> tensor<1x3x5x4xf32> {
  ^bb0(%a: f32, %d: f32):
    %p = arith.addf %a, %d : f32
    graph.yield %p : f32
  }
  return %y : tensor<1x3x5x4xf32>
}

// Bytes are moved and cut; zeros beside them become zero points.
// CHECK-LABEL: func.func @movement
// CHECK: graph.transpose %arg0 [1, 0] : tensor<3x4xi8> -> tensor<4x3xi8>
// CHECK: graph.slice {{.*}} -> tensor<2x3xi8>
// CHECK: graph.pad {{.*}} 5 : i8 : tensor<2x3xi8> -> tensor<3x3xi8>
// CHECK: graph.concat {{.*}} -> tensor<6x3xi8>
// CHECK: graph.map {{.*}} (tensor<6x3xi8>) -> tensor<6x3xf32>
func.func @movement(%x: tensor<3x4xi8>) -> tensor<6x3xf32> {
  %r = graph.map (%x) : (tensor<3x4xi8>) -> tensor<3x4xf32> {
  ^bb0(%a: i8):
    %z = arith.constant 5.0 : f32
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %d = arith.subf %f, %z : f32
    %p = arith.mulf %d, %s : f32
    graph.yield %p : f32
  }
  %t = graph.transpose %r [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %u = graph.slice %t <[1, 0]> [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
  %v = graph.pad %u <[1, 0]> 0.0 : f32 : tensor<2x3xf32> -> tensor<3x3xf32>
  %y = graph.concat %v, %v axis 0 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<6x3xf32>
  return %y : tensor<6x3xf32>
}

// The largest of bytes, and their sum in i32.
// CHECK-LABEL: func.func @pools
// CHECK: graph.window_reduce max %arg0 {{.*}} tensor<1x2x4x4xui8> -> tensor<1x2x2x2xui8>
// CHECK: graph.reduce sum {{.*}} tensor<1x2x2x2xi32> -> tensor<1x2xi32>
func.func @pools(%x: tensor<1x2x4x4xui8>) -> tensor<1x2xf32> {
  %r = graph.map (%x) : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.uitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %m = graph.window_reduce max %r window [1, 1, 2, 2] strides [1, 1, 2, 2] pad [0, 0, 0, 0] dilations [1, 1, 1, 1]
    : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %y = graph.reduce sum %m dims [2, 3] : tensor<1x2x2x2xf32> -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// Quantised bytes that are quantised again stay; elsewhere the division joins the scales and limits.
// CHECK-LABEL: func.func @rounding
// CHECK-NOT: arith.divf
// CHECK: return %{{.*}}, %arg0
func.func @rounding(%x: tensor<7xui8>, %y: tensor<7xi8>) -> (tensor<7xui8>, tensor<7xui8>) {
  %a = graph.map (%x) : (tensor<7xui8>) -> tensor<7xf32> {
  ^bb0(%v: i8):
    %z = arith.constant 9.0 : f32
    %s = arith.constant 0.5 : f32
    %f = arith.uitofp %v : i8 to f32
    %d = arith.subf %f, %z : f32
    %p = arith.mulf %d, %s : f32
    graph.yield %p : f32
  }
  %b = graph.map (%y) : (tensor<7xi8>) -> tensor<7xf32> {
  ^bb0(%v: i8):
    %s = arith.constant 0.25 : f32
    %f = arith.sitofp %v : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %c = graph.map (%a, %b) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%v: f32, %w: f32):
    %most = arith.constant 6.0 : f32
    %p = arith.addf %v, %w : f32
    %m = arith.minimumf %p, %most : f32
    graph.yield %m : f32
  }
  %q = graph.map (%c) : (tensor<7xf32>) -> tensor<7xui8> {
  ^bb0(%v: f32):
    %s = arith.constant 0.5 : f32
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %d = arith.divf %v, %s : f32
    %n = math.roundeven %d : f32
    %l = arith.maximumf %n, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  %same = graph.map (%a) : (tensor<7xf32>) -> tensor<7xui8> {
  ^bb0(%v: f32):
    %s = arith.constant 0.5 : f32
    %z = arith.constant 9.0 : f32
    %low = arith.constant 0.0 : f32
    %high = arith.constant 255.0 : f32
    %d = arith.divf %v, %s : f32
    %n = math.roundeven %d : f32
    %m = arith.addf %n, %z : f32
    %l = arith.maximumf %m, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  return %q, %same : tensor<7xui8>, tensor<7xui8>
}

// A zero point for each column; the scale of the rows is that of a dimension that stays.
// CHECK-LABEL: func.func @columns
// CHECK: %[[W:.*]] = graph.map (%arg1, {{.*}}) : (tensor<5x3xui8>, tensor<5x3xi16>) -> tensor<5x3xi16>
// CHECK: graph.contract %arg0, %[[W]] {{.*}} -> tensor<2x3xi32>
func.func @columns(%x: tensor<2x5xi8>, %w: tensor<5x3xui8>) -> tensor<2x3xf32> {
  %r = graph.map (%x) : (tensor<2x5xi8>) -> tensor<2x5xf32> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %z = graph.constant dense<[128, 0, 255]> : tensor<3xui8> : tensor<3xui8>
  %t = graph.constant dense<[0.25, 0.5, 1.0]> : tensor<3xf32> : tensor<3xf32>
  %zw = graph.broadcast %z dims [1] : tensor<3xui8> -> tensor<5x3xui8>
  %tw = graph.broadcast %t dims [1] : tensor<3xf32> -> tensor<5x3xf32>
  %v = graph.map (%w, %zw, %tw) : (tensor<5x3xui8>, tensor<5x3xui8>, tensor<5x3xf32>) -> tensor<5x3xf32> {
  ^bb0(%a: i8, %b: i8, %s: f32):
    %f = arith.uitofp %a : i8 to f32
    %g = arith.uitofp %b : i8 to f32
    %d = arith.subf %f, %g : f32
    %p = arith.mulf %d, %s : f32
    graph.yield %p : f32
  }
  %y = graph.contract %r, %v batch [] x [] over [1] x [0] : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// A scale that varies along what is summed stays where it is.
// CHECK-LABEL: func.func @rows
// CHECK: graph.contract {{.*}} -> tensor<2x3xf32>
func.func @rows(%x: tensor<2x5xi8>, %w: tensor<5x3xi8>) -> tensor<2x3xf32> {
  %r = graph.map (%x) : (tensor<2x5xi8>) -> tensor<2x5xf32> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %t = graph.constant dense<[0.25, 0.5, 1.0, 2.0, 4.0]> : tensor<5xf32> : tensor<5xf32>
  %tw = graph.broadcast %t dims [0] : tensor<5xf32> -> tensor<5x3xf32>
  %v = graph.map (%w, %tw) : (tensor<5x3xi8>, tensor<5x3xf32>) -> tensor<5x3xf32> {
  ^bb0(%a: i8, %s: f32):
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %y = graph.contract %r, %v batch [] x [] over [1] x [0] : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// 255 * 255 * 33026 is beyond 2^31, and nothing is known of n; one less is not.
// CHECK-LABEL: func.func @long_sums
// CHECK: graph.contract {{.*}} -> tensor<1x1xf32>
// CHECK: graph.contract {{.*}} -> tensor<1x1xi32>
// CHECK: graph.contract {{.*}} -> tensor<?x?xf32
#n = #graph.shape<["n", "n"]>
func.func @long_sums(%x: tensor<1x33026xui8>, %y: tensor<?x?xui8, #n>) -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<?x?xf32, #n>) {
  %r = graph.map (%x) : (tensor<1x33026xui8>) -> tensor<1x33026xf32> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.uitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %t = graph.map (%y) : (tensor<?x?xui8, #n>) -> tensor<?x?xf32, #n> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.uitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %u = graph.contract %r, %r batch [] x [] over [1] x [1] : (tensor<1x33026xf32>, tensor<1x33026xf32>) -> tensor<1x1xf32>
  %q = graph.slice %r <[0, 0]> [1, 1] : tensor<1x33026xf32> -> tensor<1x33025xf32>
  %v = graph.contract %q, %q batch [] x [] over [1] x [1] : (tensor<1x33025xf32>, tensor<1x33025xf32>) -> tensor<1x1xf32>
  %w = graph.contract %t, %t batch [] x [] over [1] x [1] : (tensor<?x?xf32, #n>, tensor<?x?xf32, #n>) -> tensor<?x?xf32, #n>
  return %u, %v, %w : tensor<1x1xf32>, tensor<1x1xf32>, tensor<?x?xf32, #n>
}

// What is no integer, or is rounded otherwise, is divided as the model says.
// CHECK-LABEL: func.func @reals
// CHECK: arith.divf
func.func @reals(%x: tensor<7xf32>) -> tensor<7xi8> {
  %q = graph.map (%x) : (tensor<7xf32>) -> tensor<7xi8> {
  ^bb0(%v: f32):
    %s = arith.constant 0.3 : f32
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %d = arith.divf %v, %s : f32
    %n = math.roundeven %d : f32
    %l = arith.maximumf %n, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  return %q : tensor<7xi8>
}

// Quantised bytes that are limited and quantised again are limited as bytes: 3 and 1.5 are 12 and 6 steps.
// CHECK-LABEL: func.func @limits
// CHECK: graph.map (%arg0) : (tensor<7xi8>) -> tensor<7xi8> {
// CHECK: %[[LEAST:.*]] = arith.constant 6 : i8
// CHECK: arith.maxsi %{{.*}}, %[[LEAST]]
// CHECK: %[[MOST:.*]] = arith.constant 12 : i8
// CHECK: arith.minsi %{{.*}}, %[[MOST]]
// CHECK-NOT: graph.map
// CHECK: return
func.func @limits(%x: tensor<7xi8>) -> tensor<7xi8> {
  %a = graph.map (%x) : (tensor<7xi8>) -> tensor<7xf32> {
  ^bb0(%v: i8):
    %s = arith.constant 0.25 : f32
    %f = arith.sitofp %v : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %c = graph.map (%a) : (tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%v: f32):
    %least = arith.constant 1.5 : f32
    %most = arith.constant 3.0 : f32
    %isLess = arith.cmpf olt, %v, %least : f32
    %l = arith.select %isLess, %least, %v : f32
    %m = arith.minimumf %l, %most : f32
    graph.yield %m : f32
  }
  %q = graph.map (%c) : (tensor<7xf32>) -> tensor<7xi8> {
  ^bb0(%v: f32):
    %s = arith.constant 0.25 : f32
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %d = arith.divf %v, %s : f32
    %n = math.roundeven %d : f32
    %l = arith.maximumf %n, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  return %q : tensor<7xi8>
}

// A float in the sum, which is met behind scales that could be divided: the division stays, and nothing has been made.
// CHECK-LABEL: func.func @mixed
// CHECK-NEXT: %[[A:.*]] = graph.map (%arg0)
// CHECK-NOT: graph.map
// CHECK: %[[B:.*]] = graph.map (%[[A]])
// CHECK-NOT: graph.map
// CHECK: %[[C:.*]] = graph.map (%[[B]], %arg1)
// CHECK-NOT: graph.map
// CHECK: %[[Q:.*]] = graph.map (%[[C]])
// CHECK: arith.divf
// CHECK-NOT: graph.map
// CHECK: return %[[Q]]
func.func @mixed(%x: tensor<7xi8>, %y: tensor<7xf32>) -> tensor<7xi8> {
  %a = graph.map (%x) : (tensor<7xi8>) -> tensor<7xf32> {
  ^bb0(%v: i8):
    %s = arith.constant 0.25 : f32
    %f = arith.sitofp %v : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %b = graph.map (%a) : (tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%v: f32):
    %low = arith.constant 0.0 : f32
    %l = arith.maximumf %v, %low : f32
    graph.yield %l : f32
  }
  %c = graph.map (%b, %y) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%v: f32, %w: f32):
    %p = arith.addf %v, %w : f32
    graph.yield %p : f32
  }
  %q = graph.map (%c) : (tensor<7xf32>) -> tensor<7xi8> {
  ^bb0(%v: f32):
    %s = arith.constant 0.5 : f32
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %d = arith.divf %v, %s : f32
    %n = math.roundeven %d : f32
    %l = arith.maximumf %n, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  return %q : tensor<7xi8>
}

// A NaN of another factor would be seen in a result of floats.
// CHECK-LABEL: func.func @steps
// CHECK-NOT: arith.divf
// CHECK: arith.maximumf %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}} : f32
// CHECK-NOT: arith.divf
func.func @steps(%x: tensor<7xi8>, %y: tensor<7xf32>) -> tensor<7xf32> {
  %a = graph.map (%x) : (tensor<7xi8>) -> tensor<7xf32> {
  ^bb0(%v: i8):
    %s = arith.constant 0.25 : f32
    %f = arith.sitofp %v : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %q = graph.map (%a, %y) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32> {
  ^bb0(%v: f32, %w: f32):
    %s = arith.constant 0.5 : f32
    %low = arith.constant 0.0 : f32
    %p = arith.mulf %v, %w : f32
    %m = arith.maximumf %p, %low : f32
    %d = arith.divf %m, %s : f32
    %n = math.roundeven %d : f32
    %t = arith.mulf %n, %s : f32
    graph.yield %t : f32
  }
  return %q : tensor<7xf32>
}

// What falls as the bytes rise is not largest where they are; a negative divisor would turn maxima into minima. Products
// take any sign.
// CHECK-LABEL: func.func @negative
// CHECK: graph.window_reduce max {{.*}} -> tensor<1x2x2x2xf32>
// CHECK: graph.contract %arg0, %arg0 {{.*}} -> tensor<1x2x4x1x2x4xi32>
// CHECK: arith.mulf
// CHECK: arith.maximumf
// CHECK: arith.divf
func.func @negative(%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x1x2x4xf32>, tensor<1x2x4x4xi8>) {
  %r = graph.map (%x) : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32> {
  ^bb0(%a: i8):
    %s = arith.constant -0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %m = graph.window_reduce max %r window [1, 1, 2, 2] strides [1, 1, 2, 2] pad [0, 0, 0, 0] dilations [1, 1, 1, 1]
    : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  %c = graph.contract %r, %r batch [] x [] over [3] x [3] : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x1x2x4xf32>
  %q = graph.map (%r) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi8> {
  ^bb0(%v: f32):
    %s = arith.constant -0.25 : f32
    %zero = arith.constant 3.0 : f32
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %u = arith.maximumf %v, %zero : f32
    %d = arith.divf %u, %s : f32
    %n = math.roundeven %d : f32
    %l = arith.maximumf %n, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  return %m, %c, %q : tensor<1x2x2x2xf32>, tensor<1x2x4x1x2x4xf32>, tensor<1x2x4x4xi8>
}

// Another term would lose digits: 1.2e-38 / 4 is subnormal.
// CHECK-LABEL: func.func @subnormal
// CHECK: arith.addf
// CHECK: arith.divf
func.func @subnormal(%x: tensor<7xi8>) -> tensor<7xi8> {
  %r = graph.map (%x) : (tensor<7xi8>) -> tensor<7xf32> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %q = graph.map (%r) : (tensor<7xf32>) -> tensor<7xi8> {
  ^bb0(%v: f32):
    %s = arith.constant 4.0 : f32
    %term = arith.constant 1.2e-38 : f32
    %low = arith.constant -128.0 : f32
    %high = arith.constant 127.0 : f32
    %u = arith.addf %v, %term : f32
    %d = arith.divf %u, %s : f32
    %n = math.roundeven %d : f32
    %l = arith.maximumf %n, %low : f32
    %h = arith.minimumf %l, %high : f32
    %i = arith.fptosi %h : f32 to i32
    %t = arith.trunci %i : i32 to i8
    graph.yield %t : i8
  }
  return %q : tensor<7xi8>
}

// The largest and the least byte of some, of which there is at least one.
// CHECK-LABEL: func.func @extremes
// CHECK: graph.reduce max %arg0 dims [1] : tensor<3x5xi8> -> tensor<3xi8>
// CHECK: graph.reduce min %{{.*}} dims [0] : tensor<3xi8> -> tensor<i8>
// CHECK: graph.reduce max %{{.*}} -> tensor<3xf32>
#rows = #graph.shape<[3, "n"]>
func.func @extremes(%x: tensor<3x5xi8>, %y: tensor<3x?xi8, #rows>) -> (tensor<f32>, tensor<3xf32>) {
  %r = graph.map (%x) : (tensor<3x5xi8>) -> tensor<3x5xf32> {
  ^bb0(%a: i8):
    %z = arith.constant 5.0 : f32
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %d = arith.subf %f, %z : f32
    %p = arith.mulf %d, %s : f32
    graph.yield %p : f32
  }
  %t = graph.map (%y) : (tensor<3x?xi8, #rows>) -> tensor<3x?xf32, #rows> {
  ^bb0(%a: i8):
    %s = arith.constant 0.5 : f32
    %f = arith.sitofp %a : i8 to f32
    %p = arith.mulf %f, %s : f32
    graph.yield %p : f32
  }
  %u = graph.reduce max %r dims [1] : tensor<3x5xf32> -> tensor<3xf32>
  %v = graph.reduce min %u dims [0] : tensor<3xf32> -> tensor<f32>
  %w = graph.reduce max %t dims [1] : tensor<3x?xf32, #rows> -> tensor<3xf32>
  return %v, %w : tensor<f32>, tensor<3xf32>
}
