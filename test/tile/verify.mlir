// What the intrinsics on packed operands need of their extents.
// RUN: perpend-opt --split-input-file --verify-diagnostics %s

#n = #graph.shape<["n", 8]>
#m = #graph.shape<["m", 16]>

// What cannot be disproved is a requirement.
func.func @fits(%a: tensor<?x8xf32, #n>, %w: tensor<1x8x16xf32>) -> tensor<?x16xf32, #m> {
  %r = tile.matmul %a, %w : (tensor<?x8xf32, #n>, tensor<1x8x16xf32>) -> tensor<?x16xf32, #m>
  return %r : tensor<?x16xf32, #m>
}

// -----

func.func @matmul_c3(%a: tensor<3x8xf32>, %w: tensor<1x8x0xf32>) {
  // expected-error @below {{C3: expected panels of 1 to 4096 columns, of words of 1 to 4096 elements, got 'tensor<1x8x0xf32>'}}
  %r = tile.matmul %a, %w : (tensor<3x8xf32>, tensor<1x8x0xf32>) -> tensor<3x0xf32>
  return
}

// -----

func.func @matmul_c3_words(%a: tensor<3x8xi8>, %w: tensor<1x0x16x0xi8>) {
  // expected-error @below {{C3: expected panels of 1 to 4096 columns, of words of 1 to 4096 elements, got 'tensor<1x0x16x0xi8>'}}
  %r = tile.matmul %a, %w : (tensor<3x8xi8>, tensor<1x0x16x0xi8>) -> tensor<3x16xi32>
  return
}

// -----

// Words may have any number of elements, and these any types that the sums hold.
func.func @words(%a: tensor<3x8xbf16>, %w: tensor<1x4x16x2xf16>, %b: tensor<3x9xui8>, %v: tensor<2x3x4x3xi16>) {
  %r = tile.matmul %a, %w : (tensor<3x8xbf16>, tensor<1x4x16x2xf16>) -> tensor<3x16xf32>
  %s = tile.matmul %b, %v : (tensor<3x9xui8>, tensor<2x3x4x3xi16>) -> tensor<3x7xi64>
  return
}

// -----

func.func @matmul_c2(%a: tensor<3x8xf32>, %w: tensor<1x8x16xf64>) {
  // expected-error @below {{C2: expected operands of floats or integers and sums that hold them, got 'f32', 'f64' and 'f32'}}
  %r = tile.matmul %a, %w : (tensor<3x8xf32>, tensor<1x8x16xf64>) -> tensor<3x16xf32>
  return
}

// -----

func.func @conv_c2(%x: tensor<1x4x4x8xi8>, %w: tensor<1x1x3x3x8x16xi8>) {
  // expected-error @below {{C2: expected operands of floats or integers and sums that hold them, got 'i8', 'i8' and 'f32'}}
  %r = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x4x4x8xi8>, tensor<1x1x3x3x8x16xi8>) -> tensor<1x2x2x16xf32>
  return
}

// -----

func.func @matmul_c1(%a: tensor<3x8xi8>, %w: tensor<1x2x16x2x2xi8>) {
  // expected-error @below {{C1: expected ranks r, r + 1 (or r + 2, of words) and r with r >= 2}}
  %r = tile.matmul %a, %w : (tensor<3x8xi8>, tensor<1x2x16x2x2xi8>) -> tensor<3x16xi32>
  return
}

// -----

func.func @matmul_c4_words(%a: tensor<3x9xi8>, %w: tensor<1x2x16x4xi8>) {
  // expected-error @below {{C4: operands of shapes [3, 9] and [1, 2, 16, 4] do not fit a result of shape [3, 16]}}
  %r = tile.matmul %a, %w : (tensor<3x9xi8>, tensor<1x2x16x4xi8>) -> tensor<3x16xi32>
  return
}

// -----

func.func @matmul_c4_depth(%a: tensor<3x4096xf32>, %w: tensor<1x8x16xf32>) {
  // expected-error @below {{C4: operands of shapes [3, 4096] and [1, 8, 16] do not fit a result of shape [3, 16]}}
  %r = tile.matmul %a, %w : (tensor<3x4096xf32>, tensor<1x8x16xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @matmul_c4_columns(%a: tensor<3x8xf32>, %w: tensor<1x8x16xf32>) {
  // expected-error @below {{C4: operands of shapes [3, 8] and [1, 8, 16] do not fit a result of shape [3, 17]}}
  %r = tile.matmul %a, %w : (tensor<3x8xf32>, tensor<1x8x16xf32>) -> tensor<3x17xf32>
  return
}

// -----

func.func @matmul_c4_rows(%a: tensor<3x8xf32>, %w: tensor<1x8x16xf32>) {
  // expected-error @below {{C4: operands of shapes [3, 8] and [1, 8, 16] do not fit a result of shape [4, 16]}}
  %r = tile.matmul %a, %w : (tensor<3x8xf32>, tensor<1x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @conv_c3_strides(%x: tensor<1x4x4x8xf32>, %w: tensor<1x1x3x3x8x16xf32>) {
  // expected-error @below {{C3: expected strides and dilations from 1 to 2147483647}}
  %r = tile.conv %x, %w strides [0, 1] dilations [1, 1] : (tensor<1x4x4x8xf32>, tensor<1x1x3x3x8x16xf32>) -> tensor<1x2x2x16xf32>
  return
}

// -----

func.func @conv_c3_groups(%x: tensor<1x4x4x8xf32>, %w: tensor<0x1x3x3x8x16xf32>) {
  // expected-error @below {{C3: expected a number of groups, got 0}}
  %r = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x4x4x8xf32>, tensor<0x1x3x3x8x16xf32>) -> tensor<1x2x2x16xf32>
  return
}

// -----

func.func @conv_c4_window(%x: tensor<1x4x4x8xf32>, %w: tensor<1x1x3x3x8x16xf32>) {
  // expected-error @below {{C4: operands of shapes [1, 4, 4, 8] and [1, 1, 3, 3, 8, 16] do not fit a result of shape [1, 400, 400, 16]}}
  %r = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x4x4x8xf32>, tensor<1x1x3x3x8x16xf32>) -> tensor<1x400x400x16xf32>
  return
}

// -----

func.func @conv_c4_channels(%x: tensor<1x4x4x4xf32>, %w: tensor<1x1x3x3x8x16xf32>) {
  // expected-error @below {{C4: operands of shapes [1, 4, 4, 4] and}}
  %r = tile.conv %x, %w strides [1, 1] dilations [1, 1] : (tensor<1x4x4x4xf32>, tensor<1x1x3x3x8x16xf32>) -> tensor<1x2x2x16xf32>
  return
}
