//===- Intrinsic.h - what a machine computes in one piece -------*- C++ -*-===//
//
// A tensor intrinsic is text: a function of loops around one block on buffers
// says what it computes (its *description*), and its attribute tile.intrinsic how:
//
//   func.func private @f32.block(%a: !tile.buffer<[rows, depth] x f32>, …) attributes {tile.intrinsic = {
//     strides = [["_", "1"], …],     of each buffer's dimensions, in elements; "_" is any
//     where = ["rows <= 64"],        what must hold of the extents
//     features = ["avx2"],           what the processor must have, as --target names it, or
//                                    a list of such lists, any of which is enough
//     cycles = "2 * rows",           what a call costs; also of lanes (of 4 bytes) and
//                                    fmas, the vector multiply-adds in a cycle
//     implementation = @f32.code     a function of the same text, which
//     objects = ["f32.o"],           object files and archives have where it has no body
//                                    (ObjectCall.h), or
//     emitter = "registers",         code in C++ (Emitters.h) for a whole family, of the
//                                    compiler's own intrinsics,
//     steps = [@f32.step, …]         around functions of the same text,
//     tiles = {…}                    or around those of registers that are matrices
//   }} { … }
//
// The symbols of its shapes are parameters. Buffers have no layout but the
// strides: what a nest reads need not be as the description's shapes say. The last
// buffer is the one that is written. A buffer's scope is the memory of the target in
// which it must lie; without one it is in the memory of the kernel's caller, or local.
//
// Of a machine for which no code is made (its TargetInfo has no triple), an
// intrinsic needs no implementation: the interpreter computes what the description
// says. Else an implementation takes a memref for each buffer, with the
// description's extents and strides where they are numbers, and its memory, and
// consists of operations that the phase `lower` lowers:
//
//   func.func private @f32.code(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, …) { … }
//
// A step adds the products of words to sums, each in a lane of its own. Its attribute
// tile.features says what the processor must have. Of those that it has, the first in
// the list is used, as often as there are lanes:
//
//   func.func private @f32.step(%a: vector<16xf32>, %b: vector<16xf32>, %sums: vector<16xf32>) -> vector<16xf32> { … }
//
// Where words hold numbers of groups (GroupLayout.h), a step makes those in their lowest bits:
//
//   func.func private @i4.step(%words: vector<16xi32>) -> vector<16xf32> { … }
//
// Registers that are matrices hold `rows` times `columns` sums. What the machine does with them are functions of the
// registers' numbers, of an address and how far rows lie apart there (bytes):
//
//   tiles = {rows = 16, columns = 16, configure = @rows, release = @end, zero = @zero, load = @load, store = @store,
//            multiply = @multiply}
//   func.func private @rows(%upper: i8, %lower: i8) { … }    of registers 0, 1, 4 and of 2, 3, 5: so many rows
//   func.func private @load(%tile: i8, %address: !llvm.ptr, %stride: i64) { … }       and so does store
//   func.func private @multiply(%sums: i8, %left: i8, %right: i8) { … }
//
// The functions of blocks have the attributes of LLVM (passthrough) of `multiply`.
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

/// Lists of what a processor must have, any of which is enough; none: every processor.
using Features = llvm::SmallVector<std::vector<std::string>>;
/// The features that a machine has not; empty where it has one of the lists.
std::string missingFeatures(const Features &features, const target::TargetInfo &target);

struct Intrinsic {
  /// A function of the text.
  struct Code {
    mutable mlir::func::FuncOp code;
    /// A copy of what it does, and the first result; null without any.
    mlir::Value inlined(mlir::OpBuilder &builder, mlir::ValueRange arguments) const;
  };
  struct Step : Code {
    Features features;
    int64_t lanes() const;
  };
  struct Tiles {
    int64_t rows, columns; ///< of sums
    Code configure, release, zero, load, store, multiply;
  };

  std::string name;
  mutable mlir::func::FuncOp description;
  /// The one block of the description (operations have no const).
  mutable BlockOp block;
  /// Symbols of the description, sorted.
  llvm::SmallVector<std::string> parameters;
  /// Of each buffer's dimensions; nullopt is any.
  llvm::SmallVector<llvm::SmallVector<std::optional<SymbolicInt>>> strides;
  /// Pairs of which the first is at most the second.
  Shape where;
  Features features;
  std::optional<SymbolicInt> cycles;
  /// How it is carried out: an emitter, or the implementation.
  std::string emitter;
  llvm::SmallVector<Step> steps;
  std::optional<Tiles> tiles;
  mutable mlir::func::FuncOp implementation;
  /// Paths of object files and static archives that have the implementation, which has no body then.
  std::vector<std::string> objects;
  /// All functions of its text beside the description.
  llvm::SmallVector<mlir::func::FuncOp> functions() const;
  /// What the machine that it was read for has not; empty where it can.
  std::string lacks;
  /// Of those that add products: how the operands lie.
  std::optional<PanelLayout> panels;
  std::optional<GroupLayout> groups;

  unsigned rank(unsigned buffer) const { return strides[buffer].size(); }
  BufferType bufferType(unsigned buffer) const;
  /// The memory of its own in which the buffer must lie; empty: none.
  llvm::StringRef memoryOf(unsigned buffer) const;
  /// Sums that a column of a panel has in registers: one, or one for each element of a word, where those are of the
  /// sums' own type and no step adds their products. They are added up at the end.
  int64_t sumsOfColumn() const;
  std::string missingOn(const target::TargetInfo &target) const { return missingFeatures(features, target); }
  /// Whether it takes iterators of such extents.
  bool allows(llvm::ArrayRef<SymbolicInt> extents) const;
  /// Where an extent is not known, it is taken to be long. nullopt: no cycles are said.
  std::optional<double> cyclesPerPoint(llvm::ArrayRef<SymbolicInt> extents, const target::TargetInfo &target) const;
  /// What the implementation takes for a buffer.
  mlir::MemRefType memoryType(unsigned buffer) const;
};

/// The intrinsics that schedules may name.
class IntrinsicLibrary {
public:
  /// Those in use in a context: what the targets bring, unless an IntrinsicScope says otherwise.
  static IntrinsicLibrary &of(mlir::MLIRContext *context);

  /// Adds those of a text, or none: errors go to the context's handler, with the file's name. Without a target they are
  /// the compiler's own.
  mlir::LogicalResult add(mlir::MLIRContext *context, llvm::StringRef file, llvm::StringRef text,
                          const target::TargetInfo *target = nullptr);
  const Intrinsic *find(llvm::StringRef name) const;
  /// In the order in which they were added.
  llvm::ArrayRef<std::shared_ptr<const Intrinsic>> list() const { return intrinsics; }

private:
  llvm::SmallVector<std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>>> texts;
  llvm::SmallVector<std::shared_ptr<const Intrinsic>> intrinsics;
};

/// While it lives, a library is in use in a context.
class IntrinsicScope {
public:
  IntrinsicScope(mlir::MLIRContext *context, std::shared_ptr<IntrinsicLibrary> library);
  IntrinsicScope(const IntrinsicScope &) = delete;
  ~IntrinsicScope();

private:
  mlir::MLIRContext *context;
  std::shared_ptr<IntrinsicLibrary> previous;
};

/// What the attribute and the function say. Errors are emitted at the function: "intrinsic 'x': …".
mlir::FailureOr<Intrinsic> readIntrinsic(mlir::func::FuncOp description, const target::TargetInfo *target = nullptr);
} // namespace perpend::tile

#endif
