//===- Requirements.h - what the operators assume of symbols -----*- C++ -*-===//

#ifndef PERPEND_GRAPH_REQUIREMENTS_H
#define PERPEND_GRAPH_REQUIREMENTS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

namespace perpend::graph {
/// Expressions that must be >= 0 for operators to mean anything, each once; what is provable is left out.
class Requirements {
public:
  /// What one operator assumes: of its operands (RequirementInterface), and that no extent of its results is negative
  /// or a quotient by 0.
  void addAll(mlir::Operation *op);

  void addNonNegative(const SymbolicInt &value);
  void addEqual(const SymbolicInt &a, const SymbolicInt &b);
  /// Where any element of a tensor with the extents `readers` is read from another tensor, that one has this dimension.
  void addReads(const SymbolicInt &extent, llvm::ArrayRef<SymbolicInt> readers);

  llvm::SmallVector<SymbolicInt> list;
  llvm::StringSet<> known;
  /// An assumption was too long to be written down.
  bool isIncomplete = false;

private:
  void addDivisors(const SymbolicInt &value);
};

/// The requirements of main, each with the node that assumes it: what binding checks (graph.requirements and
/// graph.requirement_subjects). Begins with those that main has.
class BindingRequirements {
public:
  explicit BindingRequirements(mlir::func::FuncOp main);

  /// What an operator assumes, or only what it does of its operands. Returns what binding cannot check: it mentions a
  /// symbol that an operator defines, or holds only where a region runs.
  llvm::SmallVector<SymbolicInt> add(mlir::Operation *op);
  llvm::SmallVector<SymbolicInt> addOfOperands(RequirementInterface op);
  /// Writes them down.
  void declare();

  Requirements all;

private:
  llvm::SmallVector<SymbolicInt> keepCheckable(mlir::Operation *op);

  mlir::func::FuncOp main;
  std::vector<std::string> dataSymbols;
  llvm::SmallVector<llvm::StringRef> subjects;
};

/// Each of main's graph.requirements as users read it: which node, and what it needs. Of an equation, which is two
/// requirements, both texts or the first.
std::vector<std::string> describeRequirements(mlir::Operation *main, bool eachEquationOnce);
} // namespace perpend::graph

#endif
