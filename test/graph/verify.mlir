// Every constraint of the primitives, by its label in Ops.td.
// RUN: perpend-opt --split-input-file --verify-diagnostics %s
func.func @constant_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: the value has type}}
  %r = graph.constant dense<1.0> : tensor<2xf32> : tensor<3xf32>
  return
}

// -----

func.func @dims_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: 2 values for a result of type}}
  %r = graph.dims <["n", 2]> : tensor<3xi64>
  return
}

// -----

func.func @dims_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: expected elements of type i64}}
  %r = graph.dims <["n", 2]> : tensor<2xf32>
  return
}

// -----

func.func @map_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: expected inputs of shape}}
  %r = graph.map (%b) : (tensor<4x3xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: f32):
    graph.yield %p : f32
  }
  return
}

// -----

func.func @map_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: the body's arguments do not match}}
  %r = graph.map (%a) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: f64):
    %q = arith.truncf %p : f64 to f32
    graph.yield %q : f32
  }
  return
}

// -----

func.func @map_c3(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C3: the body must yield one}}
  %r = graph.map (%a) : (tensor<3x4xf32>) -> tensor<3x4xf64> {
  ^bb0(%p: f32):
    graph.yield %p : f32
  }
  return
}

// -----

func.func @broadcast_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: expected 2 strictly increasing dimensions}}
  %r = graph.broadcast %a dims [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @broadcast_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: cannot broadcast}}
  %r = graph.broadcast %a dims [0, 1] : tensor<3x4xf32> -> tensor<3x5xf32>
  return
}

// -----

func.func @transpose_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: not a permutation of 2 dimensions}}
  %r = graph.transpose %a [0, 0] : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @transpose_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: expected a result of shape}}
  %r = graph.transpose %a [1, 0] : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @reshape_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: cannot reshape [3, 4] to [13]: the numbers of elements differ}}
  %r = graph.reshape %a : tensor<3x4xf32> -> tensor<13xf32>
  return
}

// -----

func.func @slice_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: expected 2 starts and steps other than 0}}
  %r = graph.slice %a <[0, 0]> [1, 0] : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @pad_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: expected 2 low amounts}}
  %r = graph.pad %a <[1]> 0.0 : f32 : tensor<3x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @pad_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: the value has type}}
  %r = graph.pad %a <[1, 0]> 0.0 : f64 : tensor<3x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @concat_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: axis 2 of a tensor of rank 2}}
  %r = graph.concat %a, %a axis 2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @concat_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: [4, 3] does not fit beside}}
  %r = graph.concat %a, %b axis 0 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<7x4xf32>
  return
}

// -----

func.func @concat_c3(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C3: expected a result of shape}}
  %r = graph.concat %a, %a axis 0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<7x4xf32>
  return
}

// -----

func.func @update_c1(%a: tensor<3x4xf32>, %b: tensor<1x4xf32>) {
  // expected-error @+1 {{C1: axis 2 of a tensor of rank 2}}
  %r = graph.update %a, %b at <["0"]> axis 2 : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @update_c2(%a: tensor<3x4xf32>, %b: tensor<1x5xf32>) {
  // expected-error @+1 {{C2: expected a block and a result that differ from}}
  %r = graph.update %a, %b at <["0"]> axis 0 : (tensor<3x4xf32>, tensor<1x5xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @update_c3(%a: tensor<3x4xf32>, %b: tensor<1x4xf32>) {
  // expected-error @+1 {{C3: expected one offset, got 2}}
  %r = graph.update %a, %b at <["0", "0"]> axis 0 : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @update_c4(%a: tensor<3x4xf32>, %b: tensor<1x4xf32>) {
  // expected-error @+1 {{C4: expected a block inside of 3 elements, got one that ends at 4}}
  %r = graph.update %a, %b at <["3"]> axis 0 : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @update_longer_c4(%a: tensor<3x4xf32>, %b: tensor<1x4xf32>) {
  // expected-error @+1 {{C4: expected a block that ends with the result, at 5, got one that ends at 4}}
  %r = graph.update %a, %b at <["3"]> axis 0 : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @gather_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: axis 2 of a tensor of rank 2}}
  %r = graph.gather %a[%i] axis 2 : (tensor<3x4xf32>, tensor<4x2xi64>) -> tensor<4x2x4xf32>
  return
}

// -----

func.func @gather_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: expected a result of shape}}
  %r = graph.gather %a[%i] axis 0 : (tensor<3x4xf32>, tensor<4x2xi64>) -> tensor<4x2x5xf32>
  return
}

// -----

func.func @gather_c3(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C3: the indices must be integers}}
  %r = graph.gather %a[%b] axis 0 : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<4x3x4xf32>
  return
}

// -----

func.func @reduce_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: dims must be strictly increasing}}
  %r = graph.reduce sum %a dims [2] : tensor<3x4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @reduce_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: expected a result of shape}}
  %r = graph.reduce sum %a dims [1] : tensor<3x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @contract_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: a dimension is listed twice}}
  %r = graph.contract %a, %b batch [1] x [0] over [1] x [0] : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @contract_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: dimension 0 of [3, 4] is paired with dimension 0 of [4, 3]}}
  %r = graph.contract %a, %b batch [] x [] over [0] x [0] : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @contract_c3(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C3: expected a result of shape}}
  %r = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @conv_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: expected tensors of rank 3 and 1 entries per attribute}}
  %r = graph.conv %x, %w strides [1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 2 : (tensor<1x4x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x3x3xf32>
  return
}

// -----

func.func @conv_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: 4 input channels, but a filter for 1 groups}}
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 : (tensor<1x4x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x3x3xf32>
  return
}

// -----

func.func @conv_c3(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C3: a result of shape [1, 5, 3, 3] does not fit input}}
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 2 : (tensor<1x4x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<1x5x3x3xf32>
  return
}

// -----

func.func @window_reduce_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: expected 4 entries per attribute}}
  %r = graph.window_reduce max %x window [1, 1, 3] strides [1, 1, 1, 1] pad [0, 0, 0, 0] dilations [1, 1, 1, 1] : tensor<1x4x5x5xf32> -> tensor<1x4x3x3xf32>
  return
}

// -----

func.func @generate_c2(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C2: the body's arguments do not match}}
  %r = graph.generate (%a) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: index, %t: tensor<3x4xf32>):
    %q = arith.constant 0.0 : f32
    graph.yield %q : f32
  }
  return
}

// -----

func.func @generate_c3(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C3: the body must yield one}}
  %r = graph.generate (%a) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: index, %o: index, %t: tensor<3x4xf32>):
    graph.yield %p : index
  }
  return
}

// -----

func.func @load_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  %r = graph.generate (%a) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: index, %o: index, %t: tensor<3x4xf32>):
    // expected-error @+1 {{C1: 1 indices into a tensor of rank 2}}
    %q = graph.load %t[%p] : tensor<3x4xf32> -> f32
    graph.yield %q : f32
  }
  return
}

// -----

func.func @load_c2(%a: tensor<3x4xf32>) {
  %r = graph.generate (%a) : (tensor<3x4xf32>) -> tensor<3xf32> {
  ^bb0(%p: index, %t: tensor<3x4xf32>):
    %far = arith.constant 100000000 : index
    // expected-error @+1 {{C2: index 1: expected 0 to less than 4, got 100000000}}
    %q = graph.load %t[%p, %far] : tensor<3x4xf32> -> f32
    graph.yield %q : f32
  }
  return
}

// -----

func.func @load_c2_symbols(%a: tensor<?xf32, #graph.shape<["n + 2"]>>) {
  %r = graph.generate (%a) : (tensor<?xf32, #graph.shape<["n + 2"]>>) -> tensor<3xf32> {
  ^bb0(%p: index, %t: tensor<?xf32, #graph.shape<["n + 2"]>>):
    %inside = arith.constant 1 : index
    %perhaps = arith.constant 2 : index
    %negative = arith.constant -1 : index
    %q = graph.load %t[%inside] : tensor<?xf32, #graph.shape<["n + 2"]>> -> f32
    %r = graph.load %t[%perhaps] : tensor<?xf32, #graph.shape<["n + 2"]>> -> f32
    // expected-error @+1 {{C2: index 0: expected 0 to less than n + 2, got -1}}
    %s = graph.load %t[%negative] : tensor<?xf32, #graph.shape<["n + 2"]>> -> f32
    graph.yield %q : f32
  }
  return
}

// -----

func.func @call_kernel_c1(%a: tensor<3x4xf32>, %b: tensor<4x3xf32>, %i: tensor<4x2xi64>, %x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{C1: }}
  %r = graph.call_kernel @nowhere(%a) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @call_kernel_c2(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C2: with this call's symbols, kernel 'kernel' has type '(tensor<4x3xf32>) -> tensor<4x3xf32>', but the call has type '(tensor<3x4xf32>) -> tensor<4x3xf32>'}}
  %r = graph.call_kernel @kernel(%a) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return
}
func.func private @kernel(tensor<4x3xf32>) -> tensor<4x3xf32>

// -----

// A kernel's symbols are its own: here its n is twice the caller's m.
#m = #graph.shape<["m"]>
#n = #graph.shape<["n"]>
#twice = #graph.shape<["2*m"]>
func.func @call_kernel_c2_symbols(%a: tensor<?xf32, #twice>) {
  %r = graph.call_kernel @kernel(%a) {graph.symbols = #twice} : (tensor<?xf32, #twice>) -> tensor<?xf32, #twice>
  // expected-error @+1 {{C2: with this call's symbols, kernel 'kernel' has type}}
  %s = graph.call_kernel @kernel(%a) {graph.symbols = #m} : (tensor<?xf32, #twice>) -> tensor<?xf32, #twice>
  return
}
func.func private @kernel(tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {graph.symbols = ["n"]}

// -----

#n = #graph.shape<["n"]>
func.func @call_kernel_c3(%a: tensor<?xf32, #n>) {
  // expected-error @+1 {{C3: 'kernel' has 1 symbols, the call says what 0 are}}
  %r = graph.call_kernel @kernel(%a) : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  return
}
func.func private @kernel(tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {graph.symbols = ["n"]}

// -----

func.func @scatter_c1(%a: tensor<3x4xf32>, %i: tensor<5x3xi64>, %u: tensor<5xf32>) {
  // expected-error @+1 {{C1: expected integer indices of rank 1 or more, whose last extent is a number of at most 2 (the input's rank), got}}
  %r = graph.scatter %a [%i] to %u : (tensor<3x4xf32>, tensor<5x3xi64>, tensor<5xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @scatter_c2(%a: tensor<3x4xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error @+1 {{C2: expected updates of shape [5, 4]}}
  %r = graph.scatter %a [%i] to %u : (tensor<3x4xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @scatter_c3(%a: tensor<3x4xf32>, %i: tensor<5x1xi64>, %u: tensor<5x4xf32>) {
  // expected-error @+1 {{C3: the result has the input's type}}
  %r = graph.scatter %a [%i] by sum to %u : (tensor<3x4xf32>, tensor<5x1xi64>, tensor<5x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @sort_c1(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C1: dim 1 of a result of rank 1}}
  %r = graph.sort lexicographic %a dim 1 : tensor<3x4xf32> -> tensor<3xi64>
  return
}

// -----

func.func @sort_c2_elements(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C2: expected elements of type i64}}
  %r = graph.sort descending %a dim 1 : tensor<3x4xf32> -> tensor<3x4xi32>
  return
}

// -----

func.func @sort_c3(%a: tensor<4294967296xi8>) {
  // expected-error @+1 {{C3: expected at most 4294967295 elements to sort, got 4294967296}}
  %r = graph.sort %a dim 0 : tensor<4294967296xi8> -> tensor<4294967296xi64>
  return
}

// -----

func.func @constant_c2() {
  // expected-error @+1 {{C2: the resource 'w' has no contents}}
  %r = graph.constant dense_resource<w> : tensor<4xf32> : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expected one expression for each dimension, a number exactly where the tensor has one}}
func.func @shape(%a: tensor<?x4xf32, #graph.shape<["n"]>>) {
  return
}

// -----

func.func @sort_c2_shape(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C2: expected a result of shape [2, 4]}}
  %r = graph.sort %a dim 0 : tensor<3x4xf32> -> tensor<2x3xi64>
  return
}

// -----

func.func @sort_c4(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C4: expected at most 3 positions, got 4}}
  %r = graph.sort lexicographic %a dim 0 : tensor<3x4xf32> -> tensor<4xi64>
  return
}

// -----

func.func @scan_c1(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C1: dim 2 of a tensor of rank 2}}
  %r = graph.scan sum %a dim 2 : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @scan_c2(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{C2: the result has the input's type}}
  %r = graph.scan sum %a dim 1 : tensor<3x4xf32> -> tensor<3x4xf64>
  return
}

// -----

// What takes the place of a branch that is known finds every symbol of its operator.
func.func @if(%x: tensor<?xf32, #graph.shape<["n"]>>, %c: tensor<i1>) -> tensor<?xf32, #graph.shape<["2*s"]>> {
  // expected-error @+1 {{C3: the symbol "s" is no extent of a result}}
  %r = graph.if %c symbols ["s"] : tensor<i1> -> (tensor<?xf32, #graph.shape<["2*s"]>>) {
    %y = graph.concat %x, %x axis 0 : (tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["2*n"]>>
    graph.yield %y : tensor<?xf32, #graph.shape<["2*n"]>>
  } else {
    %y = graph.concat %x, %x axis 0 : (tensor<?xf32, #graph.shape<["n"]>>, tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["2*n"]>>
    graph.yield %y : tensor<?xf32, #graph.shape<["2*n"]>>
  }
  return %r : tensor<?xf32, #graph.shape<["2*s"]>>
}

// -----

func.func @loop(%x: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<?xf32, #graph.shape<["n"]>> {
  // expected-error @+1 {{C6: the symbol "s" is no extent of a carried value or of an element}}
  %h = graph.loop count <[1]> carried (%x : tensor<?xf32, #graph.shape<["n"]>>) symbols ["s"] -> (tensor<?xf32, #graph.shape<["n"]>>) {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32, #graph.shape<["n"]>>):
    graph.yield %a : tensor<?xf32, #graph.shape<["n"]>>
  }
  return %h : tensor<?xf32, #graph.shape<["n"]>>
}
