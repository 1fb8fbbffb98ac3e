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
  // expected-error @below {{C3: expected panels of whole words and at most 4096 columns, got 'tensor<1x8x0xf32>'}}
  %r = tile.matmul %a, %w : (tensor<3x8xf32>, tensor<1x8x0xf32>) -> tensor<3x0xf32>
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
