//===- MakeStates.h - inputs and outputs become states ----------*- C++ -*-===//

#ifndef PERPEND_GRAPH_MAKESTATES_H
#define PERPEND_GRAPH_MAKESTATES_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace perpend::graph {

/// Inputs and outputs by name (graph.name); one `*` in each stands for the same text in both.
struct StateOption {
  static constexpr int64_t defaultCapacity = int64_t{1} << 16;

  std::string input, output;
  int64_t capacity = defaultCapacity; ///< rows of a state that grows
  mlir::ElementsAttr initial = {};    ///< null: zeros, or no rows
  std::string name = {};              ///< of the state; empty: that of the input

  /// "past_*=present_*", with or without ":4096", the capacity. Errors: nullopt.
  static std::optional<StateOption> parse(llvm::StringRef text);
};

/// Makes states of inputs and the outputs that are their next values (States.h), behind all other inputs and outputs. A
/// state that grows, or is updated, along an inner dimension is transposed, so that this is the first one. Errors (at
/// main): no such input or output, more than one extent of a state that is no number, or types that differ.
mlir::LogicalResult makeStates(mlir::func::FuncOp main, llvm::ArrayRef<StateOption> options);
/// The same of each entry, with the options that have an input there. An option without an input in any is an error.
mlir::LogicalResult makeStates(llvm::ArrayRef<mlir::func::FuncOp> entries, llvm::ArrayRef<StateOption> options);
} // namespace perpend::graph

#endif
