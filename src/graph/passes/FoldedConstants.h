//===- FoldedConstants.h - memory of constants that are folded --*- C++ -*-===//
//
// MLIR keeps the bytes of a large constant until its context is destroyed, even if folding has replaced the constant:
// weights that are transposed and then packed would be in memory twice. If no other compilation shares the constants
// that folding makes, this class frees those that nothing reads any more, once they fill 16 MiB.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_PASSES_FOLDEDCONSTANTS_H
#define PERPEND_GRAPH_PASSES_FOLDEDCONSTANTS_H

#include "graph/Graph.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace perpend::graph {

/// The constants that folding makes in this thread while it lives, of a module whose new constants no other one has,
/// and those that it takes over.
class FoldedConstants {
public:
  FoldedConstants();
  FoldedConstants(const FoldedConstants &) = delete;
  ~FoldedConstants();
  /// Null: there is none.
  static FoldedConstants *current();

  /// Also those of a module that lie in memory of their own: no other module has them. Adds them to `taken`.
  void takeOver(mlir::ModuleOp module, llvm::DenseSet<mlir::AsmResourceBlob *> &taken);
  /// An expression of constants has been folded.
  void note(llvm::ArrayRef<mlir::Attribute> operands, mlir::Attribute result);
  /// Constants that the result was made of. Frees the memory of those that nothing reads any more, once they are many
  /// megabytes.
  void release(llvm::ArrayRef<ConstantOp> constants);
  /// Frees the rest.
  void releaseUnread(mlir::ModuleOp module);
  /// Whether its memory was made for it, and no other constant lies in it.
  bool own(const mlir::AsmResourceBlob *blob) const { return owned.contains(blob); }

private:
  llvm::DenseSet<const mlir::AsmResourceBlob *> owned;
  llvm::SetVector<mlir::AsmResourceBlob *> unread; ///< perhaps: others may be the same bytes with another shape
  uint64_t unreadBytes = 0;
  FoldedConstants *previous;
};
} // namespace perpend::graph

#endif
