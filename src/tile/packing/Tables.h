//===- Tables.h - constants that a run chooses among ------------*- C++ -*-===//
//
// A value that is computed from constants and one symbol, such as the weights of an expert, is a row of a table of
// constants, which folds like any other constant: only the row that the symbol chooses is read, where it lies.
//
//   f(slice(w, s)) : [...]  =>  reshape(slice(generate(w) : [count, ...], s))
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PACKING_TABLES_H
#define PERPEND_TILE_PACKING_TABLES_H

#include "graph/builder/Builder.h"

namespace perpend::tile {

/// A symbol of 0 to `count` - 1.
struct Choice {
  std::string symbol;
  int64_t count = 0;
};

/// The only symbol that a value, computed from constants in a few operators without reductions, depends on; what its
/// operators require gives the range. Nullopt: there is none, or it is no such value.
std::optional<Choice> choiceOf(mlir::Value value);

/// Such a value as a row of a table. The value itself if it is none, or if the table had over twice as many elements as
/// the largest of the constants.
mlir::Value fromTable(graph::Builder &builder, mlir::Value value, const std::optional<Choice> &choice);
} // namespace perpend::tile

#endif
