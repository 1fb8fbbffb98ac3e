//===- Requirements.h - what operators require of symbols -------*- C++ -*-===//

#ifndef PERPEND_GRAPH_REQUIREMENTS_H
#define PERPEND_GRAPH_REQUIREMENTS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

namespace perpend::graph {
/// Expressions that must be >= 0 for operators to be defined, without duplicates and without provable ones.
class Requirements {
public:
  /// Adds the requirements of one operator: on its operands (RequirementInterface), and that no extent of its results
  /// is negative or a quotient by 0.
  void addAll(mlir::Operation *op);

  void addNonNegative(const SymbolicInt &value);
  void addEqual(const SymbolicInt &a, const SymbolicInt &b);
  /// A dimension must not be empty if an element is read from it, that is, if a tensor with the extents `readers` has
  /// any.
  void addReads(const SymbolicInt &extent, llvm::ArrayRef<SymbolicInt> readers);

  llvm::SmallVector<SymbolicInt> list;
  llvm::StringSet<> known;
  /// Some requirement was too long to be represented.
  bool isIncomplete = false;

private:
  void addDivisors(const SymbolicInt &value);
};

/// The requirements of main, each with the node that has it, for binding to check (graph.requirements and
/// graph.requirement_subjects). Starts with those that main already has.
class BindingRequirements {
public:
  explicit BindingRequirements(mlir::func::FuncOp main);

  /// Adds an operator's requirements, or only those on its operands. Returns those that binding cannot check, because
  /// they use a symbol that an operator defines or hold only if a region runs.
  llvm::SmallVector<SymbolicInt> add(mlir::Operation *op);
  llvm::SmallVector<SymbolicInt> addOfOperands(RequirementInterface op);
  /// Stores them as attributes of main.
  void declare();

  Requirements all;

private:
  llvm::SmallVector<SymbolicInt> keepCheckable(mlir::Operation *op);

  mlir::func::FuncOp main;
  std::vector<std::string> dataSymbols;
  llvm::SmallVector<llvm::StringRef> subjects;
};

/// The requirements of main as text for users: the node, and what it needs. An equation consists of two requirements;
/// it gives two texts, or only the first.
std::vector<std::string> describeRequirements(mlir::Operation *main, bool eachEquationOnce);
} // namespace perpend::graph

#endif
