//===- Intrinsic.h - what a machine computes in one piece -------*- C++ -*-===//
//
// A tensor intrinsic is text: a function of loops around one block on buffers
// says what it computes (its *description*), and its attribute tile.intrinsic how:
//
//   func.func private @f32.block(%a: !tile.buffer<[rows, depth] x f32>, …) attributes {tile.intrinsic = {
//     strides = [["_", "1"], …],     of each buffer's dimensions, in elements; "_" is any
//     where = ["rows <= 64"],        what must hold of the extents
//     emitter = "registers"          code in C++ (Expand.cpp) for a whole family
//   }} { … }
//
// The symbols of its shapes are parameters. Buffers have no layout but the
// strides: what a nest reads need not be as the description's shapes say.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_INTRINSIC_H
#define PERPEND_TILE_INTRINSICS_INTRINSIC_H

#include "tile/KernelIndices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace perpend::tile {

struct Intrinsic {
  std::string name;
  mlir::func::FuncOp description;
  /// The one block of the description (operations have no const).
  mutable BlockOp block;
  /// Symbols of the description, sorted.
  llvm::SmallVector<std::string> parameters;
  /// Of each buffer's dimensions; nullopt is any.
  llvm::SmallVector<llvm::SmallVector<std::optional<SymbolicInt>>> strides;
  /// Pairs of which the first is at most the second.
  Shape where;
  /// How it is carried out.
  std::string emitter;

  unsigned rank(unsigned buffer) const { return strides[buffer].size(); }
};

/// The intrinsics of a context.
class IntrinsicLibrary {
public:
  explicit IntrinsicLibrary(mlir::MLIRContext *context) : context(context) {}
  /// That of the context, with what the targets bring.
  static IntrinsicLibrary &of(mlir::MLIRContext *context);

  /// Adds those of a text, or none: errors go to the context's handler, with the file's name.
  mlir::LogicalResult add(llvm::StringRef file, llvm::StringRef text);
  const Intrinsic *find(llvm::StringRef name) const;
  /// In the order in which they were added.
  llvm::ArrayRef<std::unique_ptr<Intrinsic>> list() const { return intrinsics; }

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::OwningOpRef<mlir::ModuleOp>> texts;
  llvm::SmallVector<std::unique_ptr<Intrinsic>> intrinsics;
};

/// What the attribute and the function say. Errors are emitted at the function: "intrinsic 'x': …".
mlir::FailureOr<Intrinsic> readIntrinsic(mlir::func::FuncOp description);
/// The names of emitters in C++ (Expand.h).
bool isIntrinsicEmitter(llvm::StringRef name);
std::string intrinsicEmitterNames();
} // namespace perpend::tile

#endif
