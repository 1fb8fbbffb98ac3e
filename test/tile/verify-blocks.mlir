// Every constraint of loops, blocks and buffers, by its label in Tile.td.
// RUN: perpend-opt --split-input-file --verify-diagnostics %s
func.func @for_c1() {
  // expected-error @+1 {{C1: expected one extent and one variable of type index}}
  "tile.for"() <{annotations = {}, extent = #graph.shape<[2, 3]>, kind = 0 : i32, name = "i"}> ({
  ^bb0(%i: index):
  }) : () -> ()
  return
}

// -----

func.func @for_c2(%n: index) {
  // expected-error @+1 {{C2: expected operands %0 to %1 in its expressions, got %2}}
  "tile.for"(%n) <{annotations = {}, extent = #graph.shape<["\22%2\22"]>, kind = 0 : i32, name = "i"}> ({
  ^bb0(%i: index):
  }) : (index) -> ()
  return
}

// -----

func.func @block_c1_lengths() {
  // expected-error @+1 {{C1: expected a kind, an extent, a binding and a name for each of 1 iterators}}
  "tile.block"() <{annotations = {}, bindings = #graph.shape<[0]>, conditions = #graph.shape<[]>, domain = #graph.shape<[2, 3]>, iteratorNames = ["a"], kinds = array<i32: 0>, name = "b"}> ({
  ^bb0(%a: index):
  }) : () -> ()
  return
}

// -----

func.func @block_c1_order() {
  // expected-error @+1 {{C1: expected spatial iterators first}}
  "tile.block"() <{annotations = {}, bindings = #graph.shape<[0, 0]>, conditions = #graph.shape<[]>, domain = #graph.shape<[2, 3]>, iteratorNames = ["a", "b"], kinds = array<i32: 1, 0>, name = "b"}> ({
  ^bb0(%a: index, %b: index):
  }) : () -> ()
  return
}

// -----

func.func @block_c2(%y: !tile.buffer<[4] x f32>, %x: f32) {
  tile.for %i in 4 {
    tile.block "b" spatial(%a in 4 = %i) {
      // expected-error @+1 {{C2: uses a value from outside of the block 'b' that is no buffer}}
      tile.store %x, %y[%i] : !tile.buffer<[4] x f32>
    }
  }
  return
}

// -----

func.func @block_c3(%y: !tile.buffer<[4] x f32>) {
  tile.for %i in 4 {
    tile.block "b" spatial(%a in 4 = %i) {
    }
  }
  tile.for %i in 4 {
    // expected-error @+1 {{C3: the kernel has another block 'b'}}
    tile.block "b" spatial(%a in 4 = %i) {
    }
  }
  return
}

// The same name in another kernel.
func.func @block_c3_other() {
  tile.block "b" {
  }
  return
}

// -----

func.func @load_c1(%b: !tile.buffer<[4, 3] x f32>) {
  // expected-error @+1 {{C1: expected 2 indices, got 1}}
  %x = tile.load %b[0] : !tile.buffer<[4, 3] x f32>
  return
}

// -----

func.func @load_c2(%b: !tile.buffer<[4] x f32>, %i: index) {
  // expected-error @+1 {{C2: an operand occurs in none of its expressions}}
  %x = tile.load %b[%i * 0] : !tile.buffer<[4] x f32>
  return
}

// -----

func.func @load_c3(%b: !tile.buffer<[4] x f32>) {
  // expected-error @+1 {{C3: expected a value of type 'f32', got 'f64'}}
  %x = "tile.load"(%b) <{indices = #graph.shape<[0]>}> : (!tile.buffer<[4] x f32>) -> f64
  return
}

// -----

func.func @store_c1(%b: !tile.buffer<[] x f32>, %x: f32) {
  // expected-error @+1 {{C1: expected 0 indices, got 1}}
  tile.store %x, %b[0] : !tile.buffer<[] x f32>
  return
}

// -----

func.func @store_c2(%b: !tile.buffer<[4] x f32>, %x: f32) {
  // expected-error @+1 {{C2: expected operands %0 to %0 in its expressions, got %0}}
  "tile.store"(%x, %b) <{indices = #graph.shape<["\22%0\22"]>}> : (f32, !tile.buffer<[4] x f32>) -> ()
  return
}

// -----

func.func @store_c3(%b: !tile.buffer<[4] x ui8>, %x: i16) {
  // expected-error @+1 {{C3: expected a value of type 'i8', got 'i16'}}
  "tile.store"(%x, %b) <{indices = #graph.shape<[0]>}> : (i16, !tile.buffer<[4] x ui8>) -> ()
  return
}

// -----

func.func @index_c1() {
  // expected-error @+1 {{C1: expected one expression, got 2}}
  %x = "tile.index"() <{expression = #graph.shape<[0, 1]>}> : () -> index
  return
}

// -----

func.func @index_c2(%i: index) {
  // expected-error @+1 {{C2: an operand occurs in none of its expressions}}
  %x = tile.index %i * 0
  return
}
