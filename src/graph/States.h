//===- States.h - values that a session keeps from run to run ---*- C++ -*-===//
//
// In the graph, a state is a pair of values: an argument of main is its value before a run, and the result of the same
// name its value after it. So data dependences order its updates, and the caller of main decides where to store it.
//
//   func.func @main(%x: tensor<?x64xf32, #graph.shape<["n", 64]>>,
//       %k: tensor<?x64xf32, #graph.shape<["length", 64]>> {graph.state = "k", graph.capacity = 4096 : i64})
//       -> (…, tensor<?x64xf32, #graph.shape<["length + n", 64]>> {graph.state = "k"})
//
// A state grows if an extent of its argument is a symbol, its length. The length is 0 at first, or that of the initial
// value if there is one; after a run it is the result's extent.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_STATES_H
#define PERPEND_GRAPH_STATES_H

#include "graph/Rows.h"
#include "graph/Updates.h"

#include "graph/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::graph {

/// Begins the subject of a requirement that a state has, in place of a node's name.
inline constexpr llvm::StringLiteral stateSubject = "state ";

struct State {
  std::string name;
  unsigned argument, result;       ///< numbers
  mlir::RankedTensorType capacity; ///< the largest value; all extents are numbers
  mlir::ElementsAttr initial;      ///< null: zeros, or no rows
  std::optional<unsigned> growing; ///< the dimension whose extent is the length; all before it are 1
  std::optional<int64_t> readRows; ///< runs read this many of the last rows, and no earlier one; nullopt: all
};

/// The states of main, in the order of their arguments, which are its last ones. Main must have passed verifyStates().
std::vector<State> statesOf(mlir::func::FuncOp main);

/// The number of arguments, or of results, that are no states.
unsigned inputCountOf(mlir::func::FuncOp main);
unsigned outputCountOf(mlir::func::FuncOp main);

/// Errors: S1 a name that is not on one argument and one result, S2 states are not the last arguments and results, in
/// one order, S3 extents that cannot be those of a state, S4 a capacity that is none, S5 an initial value that does not
/// fit.
mlir::LogicalResult verifyStates(mlir::func::FuncOp main);

/// Declares as requirements of main (Requirements.h) that states which grow stay within their capacities.
void requireCapacities(mlir::func::FuncOp main);

/// The first value of a state, with the extents that it has then.
mlir::RankedTensorType initialTypeOf(const State &state);

/// The operators that update a state from its argument to its result, first to last; nullopt: the result is computed
/// from other values. The argument may be its own result.
std::optional<llvm::SmallVector<UpdateInterface>> updatesOf(mlir::func::FuncOp main, const State &state);

/// How many of the last rows before a run's own ones main reads at most of a state that grows: what else it does with
/// the state is to update it. nullopt: all, or a number that is not known.
std::optional<int64_t> readRowsOf(mlir::func::FuncOp main, const State &state);

/// Whether a value is what a growing state is after an update, or consecutive rows of it, seen through reshapes and
/// transposes: the rows of a cache, of which a run adds some. To read it elsewhere than where it lies costs all of them
/// in each run.
bool isGrownState(mlir::Value value);
} // namespace perpend::graph

#endif
