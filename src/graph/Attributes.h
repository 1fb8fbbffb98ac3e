//===- Attributes.h - names of the graph level's attributes -----*- C++ -*-===//
//
// Attributes of operators beyond those that Ops.td defines, each named once.
// The next level has its own header (tile/Attributes.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ATTRIBUTES_H
#define PERPEND_GRAPH_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace perpend::graph {

//===----------------------------------------------------------------------===//
// Of the module
//===----------------------------------------------------------------------===//

/// String: the name that the model has in its file.
inline constexpr llvm::StringLiteral modelNameAttribute = "graph.model_name";
/// JSON text: the structure in which a PyTorch module returns its results.
inline constexpr llvm::StringLiteral resultsAttribute = "graph.results";
/// Array of strings: object files and archives that define the functions of library calls.
inline constexpr llvm::StringLiteral objectsAttribute = "graph.objects";
/// Dictionary of elements: bytes that the artifact carries, by name (Assets.h).
inline constexpr llvm::StringLiteral assetsAttribute = "graph.assets";
/// Array of strings: the archives of the runtime that an executable is made of, the one with its main function first;
/// without it, the program that runs a model on arrays.
inline constexpr llvm::StringLiteral programAttribute = "graph.program";
/// Unit: results do not depend on the batch (BatchInvariance.h).
inline constexpr llvm::StringLiteral batchInvariantAttribute = "graph.batch_invariant";

//===----------------------------------------------------------------------===//
// Of main, its arguments and its results
//===----------------------------------------------------------------------===//

/// String: the name of an input or output.
inline constexpr llvm::StringLiteral nameAttribute = "graph.name";
/// String, on the input with a map's keys: the name of the map; the next input has the values.
inline constexpr llvm::StringLiteral mapAttribute = "graph.map";
/// Array: column labels of an output that is a list of maps.
inline constexpr llvm::StringLiteral labelsAttribute = "graph.labels";
/// Array: the dimensions of an input that may repeat (Repeats.h).
inline constexpr llvm::StringLiteral repeatsAttribute = "graph.repeats";
/// #graph.shape: expressions that must be nonnegative (Requirements.h).
inline constexpr llvm::StringLiteral requirementsAttribute = "graph.requirements";
/// Array of strings, parallel to the requirements: the node that each comes from.
inline constexpr llvm::StringLiteral requirementSubjectsAttribute = "graph.requirement_subjects";
/// String, on an argument and a result of main: the state whose value they are before and after a run.
inline constexpr llvm::StringLiteral stateAttribute = "graph.state";
/// Integer, on the argument of a state that grows: the most rows.
inline constexpr llvm::StringLiteral capacityAttribute = "graph.capacity";
/// Integer, on the argument of a state that grows: runs read at most so many of the last rows before theirs.
inline constexpr llvm::StringLiteral readRowsAttribute = "graph.read_rows";
/// Elements, on the argument of a state: its value before the first run; without it, zeros or no rows.
inline constexpr llvm::StringLiteral initialAttribute = "graph.initial";
/// Unit, on an operator that updates a state (UpdateInterface), and on the state's result: it happens in the state's
/// memory.
inline constexpr llvm::StringLiteral inPlaceAttribute = "graph.in_place";
/// Unit, on an operator of main whose result is its operands behind one another (UpdateInterface): they are computed in
/// the memory of its result.
inline constexpr llvm::StringLiteral assembledAttribute = "graph.assembled";

//===----------------------------------------------------------------------===//
// Of operators
//===----------------------------------------------------------------------===//

/// Unit, of a conversion in an operator's code: subnormal results may be 0, as they are where products read them.
inline constexpr llvm::StringLiteral flushesAttribute = "graph.flushes";
/// Unit, on an operator: its users compute its elements, each time they read them.
inline constexpr llvm::StringLiteral computedByUsersAttribute = "graph.computed_by_users";
/// Unit, on a reduction: its gradient cancels in every use.
inline constexpr llvm::StringLiteral cancelsAttribute = "graph.cancels";
/// Unit, on a library call: it has side effects.
inline constexpr llvm::StringLiteral impureAttribute = "graph.impure";
/// Unit, on a library call: its result has the shape of its operand.
inline constexpr llvm::StringLiteral elementwiseAttribute = "graph.elementwise";
/// Dictionary, on a linear library call: the parameters of its transpose.
inline constexpr llvm::StringLiteral transposedAttribute = "graph.transposed";
/// String, on the requirement that replaces a branch which cannot run: which branch, and why.
inline constexpr llvm::StringLiteral leftOutAttribute = "graph.left_out";

//===----------------------------------------------------------------------===//
// Of kernels and their calls
//===----------------------------------------------------------------------===//

/// Unit, on a function: it is a kernel, at every level from fusion to LLVM.
inline constexpr llvm::StringLiteral kernelAttribute = "tile.kernel";
/// On a kernel, array of strings: the symbols that it uses. On a call of it, #graph.shape: their values there
/// (KernelSymbols.h).
inline constexpr llvm::StringLiteral symbolsAttribute = "graph.symbols";
/// String, on a kernel: the hash that identifies it (KernelIdentity.h).
inline constexpr llvm::StringLiteral structureAttribute = "graph.structure";
/// Integer, on a call of a kernel: the index of the result of main that it computes.
inline constexpr llvm::StringLiteral resultAttribute = "graph.result";
} // namespace perpend::graph

#endif
