//===- Intrinsic.h - operations that a machine executes as a unit -*- C++ -*-===//
//
// A tensor intrinsic is text. A function of loops around one block on buffers says what it computes (its
// *description*); the function's attribute tile.intrinsic says how:
//
//   func.func private @f32.block(%a: !tile.buffer<[rows, depth] x f32>, …) attributes {tile.intrinsic = {
//     strides = [["_", "1"], …],     of each buffer's dimensions, in elements; "_" is arbitrary
//     where = ["rows <= 64"],        conditions on the extents
//     unit = "matrix",               the unit of the machine whose instruction it is; without
//                                    one, all machines have it
//     features = ["matrix-f32"],     required features of the machine, as --target names them; or
//                                    a list of such lists, one of which must be present
//     cycles = "2 * rows",           cost of a call; may use `lanes` (of 4 bytes) and
//                                    `fmas`, the vector multiply-adds per cycle
//     implementation = @f32.code     a function of this text, which
//     objects = ["f32.o"],           object files and archives define if it has no body
//                                    (ObjectCall.h), or
//     emitter = "registers",         C++ code (Emitters.h) that generates a family of the
//                                    compiler's own intrinsics,
//     steps = [@f32.step, …]         based on functions of this text,
//     tiles = {…}                    or on functions that operate matrix registers
//   }} { … }
//
// A declaration without arguments, whose attribute has `like = "other"`, computes what the intrinsic "other" computes,
// in another way; it has the same strides unless it gives others. With `stored = ["_", f16, …]`, one entry for each
// buffer, elements of that buffer are stored in the narrower type and widened when they are loaded; the other entries
// are then those of "other", unless they are given.
//
// The symbols in its shapes are its parameters. Strides alone define a buffer's layout, so the operands of a matching
// nest may have other shapes than the description's. The last buffer is the output. A buffer's scope names the memory
// of the target in which it must lie; without one it is in the memory of the kernel's caller, or local.
//
// For a machine without code generation (needsCode is false), an intrinsic needs no implementation: the
// interpreter executes the description. Otherwise the implementation takes one memref per buffer, with the
// description's memory space and its constant extents and strides, and consists of operations that the phase `lower`
// can lower:
//
//   func.func private @f32.code(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, …) { … }
//
// A step adds the products of words to sums, each in its own lane. Its attribute tile.features lists required
// processor features. The first step in the list whose features are present is used, as often as needed to fill the
// lanes:
//
//   func.func private @f32.step(%a: vector<16xf32>, %b: vector<16xf32>, %sums: vector<16xf32>) -> vector<16xf32> { … }
//
// Where an instruction selects a word of a vector, a step may take the consecutive words of a row, and which of them to
// multiply, a constant. It is used where so many steps follow one another, beside one of the kind above, or the
// description:
//
//   func.func private @f32.row(%row: vector<4xf32>, %b: vector<8xf32>, %sums: vector<8xf32>, %word: i32)
//       -> vector<8xf32> { … }
//
// If words hold grouped numbers (GroupLayout.h), a step unpacks those in their lowest bits:
//
//   func.func private @i4.step(%words: vector<16xi32>) -> vector<16xf32> { … }
//
// A step for rows of bytes may add its products to sums of 16 bits, two in the place of one of 32. Its attribute
// tile.fold names the function that adds these to those of 32 bits, before the next product might overflow:
//
//   func.func private @i4.fold(%pairs: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32> { … }
//
// With tile.signed, such a step takes both operands as signed bytes, not the first one as unsigned bytes. Where bytes
// are unpacked once for many rows, a step may take two numbers of 16 bits in the place of four bytes:
//
//   func.func private @i8.pairs(%a: vector<16xi16>, %b: vector<16xi16>, %sums: vector<8xi32>) -> vector<8xi32> { … }
//
// Matrix registers hold `rows` times `columns` sums. The functions that operate them take register numbers, an
// address, and the distance between rows in bytes:
//
//   tiles = {rows = 16, columns = 16, configure = @rows, release = @end, zero = @zero, load = @load, store = @store,
//            multiply = @multiply}
//   func.func private @rows(%upper: i8, %lower: i8) { … }    sets the rows of registers 0, 1, 4 and of 2, 3, 5
//   func.func private @rows(%rows: i8, %words: i8) { … }     for numbers in groups: sets the rows of registers 0 to 5,
//                                                            and the words in a row of 4 and 5, the rows of 6 and 7
//   func.func private @load(%tile: i8, %address: !llvm.ptr, %stride: i64) { … }       store likewise
//   func.func private @multiply(%sums: i8, %left: i8, %right: i8) { … }
//
// Functions of blocks get the LLVM attributes (passthrough) of `multiply`.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_INTRINSIC_H
#define PERPEND_TILE_INTRINSICS_INTRINSIC_H

#include "tile/intrinsics/GroupLayout.h"
#include "tile/intrinsics/PanelLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OwningOpRef.h"

namespace perpend::tile {

/// Alternative lists of required processor features; no list: every processor will do.
using Features = llvm::SmallVector<std::vector<std::string>>;
/// Features that the target lacks; empty: usable.
std::string missingFeatures(const Features &features, const target::Machine &target);

struct Intrinsic {
  /// A function of the text.
  struct Code {
    mutable mlir::func::FuncOp code;
    /// Inlines a copy of its body. Returns the first result, or null if it has none.
    mlir::Value inlined(mlir::OpBuilder &builder, mlir::ValueRange arguments) const;
  };
  struct Step : Code {
    Features features;
    Code fold; ///< adds sums narrower than the intrinsic's to these; without code: the step's are the intrinsic's
    int64_t lanes() const;
  };
  struct Tiles {
    int64_t rows, columns; ///< extents of a matrix register, in sums
    Code configure, release, zero, load, store, multiply;
  };

  std::string name;
  mutable mlir::func::FuncOp description;
  /// The block of the description. Mutable because operations have no const accessors.
  mutable BlockOp block;
  /// The symbols of the description, sorted.
  llvm::SmallVector<std::string> parameters;
  /// The strides of each buffer's dimensions; nullopt means arbitrary.
  llvm::SmallVector<llvm::SmallVector<std::optional<SymbolicInt>>> strides;
  /// Pairs (a, b), meaning a <= b.
  Shape where;
  std::string unit; ///< of the machine; empty: any
  Features features;
  std::optional<SymbolicInt> cycles;
  /// The name of the emitter, or empty and the implementation.
  std::string emitter;
  llvm::SmallVector<Step> steps;
  std::optional<Tiles> tiles;
  mutable mlir::func::FuncOp implementation;
  /// Paths of object files and static archives that define the implementation, which then has no body.
  std::vector<std::string> objects;
  /// All functions of its text except the description.
  llvm::SmallVector<mlir::func::FuncOp> functions() const;
  /// The layout of the operands, if it adds products of panels.
  std::optional<PanelLayout> panels;
  std::optional<GroupLayout> groups;

  unsigned rank(unsigned buffer) const { return strides[buffer].size(); }
  BufferType bufferType(unsigned buffer) const;
  /// The target's memory in which the buffer must lie; empty: none.
  llvm::StringRef memoryOf(unsigned buffer) const;
  /// The accumulators of one column of a panel: one; or one per element of a word, if elements have the type of the
  /// sums and no step adds their products. These are added up at the end.
  int64_t sumsOfColumn() const;
  /// The features, the unit or the memory that the machine lacks; empty: usable.
  std::string missingOn(const target::Machine &machine) const;
  /// The unit or the memory alone.
  std::string missingPartOn(const target::Machine &machine) const;
  /// Whether it accepts iterators of these extents.
  bool allows(llvm::ArrayRef<SymbolicInt> extents) const;
  /// Unknown extents are assumed to be long. nullopt if no cycles are given.
  std::optional<double> cyclesPerPoint(llvm::ArrayRef<SymbolicInt> extents, const target::Machine &target) const;
  /// The memref type that the implementation takes for a buffer.
  mlir::MemRefType memoryType(unsigned buffer) const;
};

/// The intrinsics that schedules can name.
class IntrinsicLibrary {
public:
  /// The library of a context: the intrinsics of the targets, unless an IntrinsicScope replaces it.
  static IntrinsicLibrary &of(mlir::MLIRContext *context);

  /// Adds all intrinsics of a text, or none: errors go to the context's handler, with the file's name. Without a target
  /// they are the compiler's own. `needsCode`: what the description says is not enough, an implementation is required.
  mlir::LogicalResult add(mlir::MLIRContext *context, llvm::StringRef file, llvm::StringRef text,
                          const target::Machine *target = nullptr, bool needsCode = true);
  const Intrinsic *find(llvm::StringRef name) const;
  /// In the order of addition.
  llvm::ArrayRef<std::shared_ptr<const Intrinsic>> list() const { return intrinsics; }

private:
  llvm::SmallVector<std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>>> texts;
  llvm::SmallVector<std::shared_ptr<const Intrinsic>> intrinsics;
};

/// Replaces the library of a context while it lives.
class IntrinsicScope {
public:
  IntrinsicScope(mlir::MLIRContext *context, std::shared_ptr<IntrinsicLibrary> library);
  IntrinsicScope(const IntrinsicScope &) = delete;
  ~IntrinsicScope();

private:
  mlir::MLIRContext *context;
  std::shared_ptr<IntrinsicLibrary> previous;
};

/// Parses the function and its attribute. Errors are emitted at the function: "intrinsic 'x': …".
mlir::FailureOr<Intrinsic> readIntrinsic(mlir::func::FuncOp description, const target::Machine *target = nullptr,
                                         bool needsCode = true);
} // namespace perpend::tile

#endif
