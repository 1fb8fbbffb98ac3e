//===- Attributes.h - the names of the graph level's attributes --*- C++ -*-===//
//
// Attributes that operators carry beside those of their definitions (Ops.td),
// each name once. A later level has a header of its own (tile/Attributes.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ATTRIBUTES_H
#define PERPEND_GRAPH_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace perpend::graph {

//===----------------------------------------------------------------------===//
// Of the module
//===----------------------------------------------------------------------===//

/// Text: the model's own name.
inline constexpr llvm::StringLiteral modelNameAttribute = "graph.model_name";
/// JSON text: the form in which a program gets its results, of a PyTorch module.
inline constexpr llvm::StringLiteral resultsAttribute = "graph.results";
/// Array of texts: object files and archives with the functions of library calls.
inline constexpr llvm::StringLiteral objectsAttribute = "graph.objects";

//===----------------------------------------------------------------------===//
// Of main, its arguments and its results
//===----------------------------------------------------------------------===//

/// Text: what an input or output is called.
inline constexpr llvm::StringLiteral nameAttribute = "graph.name";
/// Text: the map that this input has the keys of, and the next one the values.
inline constexpr llvm::StringLiteral mapAttribute = "graph.map";
/// Array: the labels of the columns of an output that is a list of maps.
inline constexpr llvm::StringLiteral labelsAttribute = "graph.labels";
/// Array: the dimensions of an input that repeat (Repeats.h).
inline constexpr llvm::StringLiteral repeatsAttribute = "graph.repeats";
/// #graph.shape: expressions that must not be negative (Requirements.h).
inline constexpr llvm::StringLiteral requirementsAttribute = "graph.requirements";
/// Array of texts, one for each requirement: the node that it comes from.
inline constexpr llvm::StringLiteral requirementSubjectsAttribute = "graph.requirement_subjects";

//===----------------------------------------------------------------------===//
// Of operators
//===----------------------------------------------------------------------===//

/// Unit, of a conversion in an operator's code: subnormal results may be 0, as they are where products read them.
inline constexpr llvm::StringLiteral flushesAttribute = "graph.flushes";
/// Unit, of an operator: what reads its result computes the elements, however often.
inline constexpr llvm::StringLiteral computedByUsersAttribute = "graph.computed_by_users";
/// Unit, of a reduction: its gradient cancels in every use.
inline constexpr llvm::StringLiteral cancelsAttribute = "graph.cancels";
/// Unit, of a library call: it has effects beside its results.
inline constexpr llvm::StringLiteral impureAttribute = "graph.impure";
/// Unit, of a library call: its result has the shape of its operand.
inline constexpr llvm::StringLiteral elementwiseAttribute = "graph.elementwise";
/// Dictionary, of a library call that is linear: the parameters of its transpose.
inline constexpr llvm::StringLiteral transposedAttribute = "graph.transposed";
/// Text, of the requirement that stands for a branch that cannot run: which and why.
inline constexpr llvm::StringLiteral leftOutAttribute = "graph.left_out";

//===----------------------------------------------------------------------===//
// Of kernels and their calls
//===----------------------------------------------------------------------===//

/// Unit, of a function: it is a kernel, at every level from fusion to LLVM.
inline constexpr llvm::StringLiteral kernelAttribute = "tile.kernel";
/// Of a kernel, array of texts: the symbols that it uses. Of its call, #graph.shape: what they are there
/// (KernelSymbols.h).
inline constexpr llvm::StringLiteral symbolsAttribute = "graph.symbols";
/// Text, of a kernel: the hash that is its identity (KernelIdentity.h).
inline constexpr llvm::StringLiteral structureAttribute = "graph.structure";
/// Integer, of a kernel's call: the number of the result of main that it computes.
inline constexpr llvm::StringLiteral resultAttribute = "graph.result";
} // namespace perpend::graph

#endif
