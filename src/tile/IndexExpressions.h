//===- IndexExpressions.h - expressions over index values -------*- C++ -*-===//
//
// Extents, bindings, conditions and indices of the tile level are expressions
// over the model's symbols and over index values (variables of loops, iterators
// of blocks, results of other code). An operation holds them as a #graph.shape
// in which its k-th index operand is the symbol "%k"; code that computes with
// expressions of several operations reads them through one IndexNames, which
// gives every value a symbol of its own.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INDEXEXPRESSIONS_H
#define PERPEND_TILE_INDEXEXPRESSIONS_H

#include "graph/Graph.h"

#include "mlir/IR/OpImplementation.h"

#include <map>

namespace perpend::tile {
using graph::Shape;
using graph::SymbolicInt;

/// Index values as symbols. Valid while the values exist.
class IndexNames {
public:
  SymbolicInt symbol(mlir::Value value);
  std::string nameOf(mlir::Value value);
  /// Null for a symbol of the model.
  mlir::Value value(llvm::StringRef name) const;
  /// Whether such an index value occurs.
  bool anyValue(const SymbolicInt &expression, llvm::function_ref<bool(mlir::Value)> holds) const;

  /// The expressions of an attribute whose operands these are.
  Shape read(graph::ShapeAttr expressions, mlir::ValueRange operands);
  /// The reverse: what the expressions use is appended to `operands`.
  graph::ShapeAttr write(mlir::MLIRContext *context, llvm::ArrayRef<SymbolicInt> expressions,
                         llvm::SmallVectorImpl<mlir::Value> &operands);
  /// An index that has this value: a known value, or a new tile.index.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &expression);

private:
  unsigned numberOf(mlir::Value value);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<SymbolicInt> symbols;
};

/// The extent of every index value whose range is known, by its name: 0 <= value < extent.
using IndexRanges = llvm::StringMap<SymbolicInt>;

/// Simplifies what the ranges decide: floordiv(8*i + j, 8) is i, and min(i, n) is i, where 0 <= j < 8 and 0 <= i < n.
SymbolicInt simplify(const SymbolicInt &expression, const IndexRanges &ranges);
/// What an expression is where none of the extents is 0: with e for max(e, 1).
SymbolicInt whereNotEmpty(const SymbolicInt &expression, llvm::ArrayRef<SymbolicInt> extents);
/// The least and the greatest value over these ranges, as expressions of what else occurs (of the model's symbols, and
/// of index values without a range); nullopt where that is not known. Exact for sums of products of one value each;
/// otherwise a cover. Every extent is taken to be at least 1.
struct IndexBounds {
  SymbolicInt low, high;
};
std::optional<IndexBounds> boundsOf(const SymbolicInt &expression, const IndexRanges &ranges);

/// An expression in terms of a variable: first + stride * variable. No stride: it is something else.
struct IndexAlong {
  SymbolicInt first;
  std::optional<SymbolicInt> stride;
  bool isUniform() const { return stride == SymbolicInt(0); }
  bool isContiguous() const { return stride == SymbolicInt(1); }
};
IndexAlong along(const SymbolicInt &expression, llvm::StringRef variable, const IndexRanges &ranges = {});

/// Text: `[%i * 8 + n, 3]`, with any delimiter; operands of the operation that prints or parses.
void printExpressions(mlir::OpAsmPrinter &printer, llvm::ArrayRef<SymbolicInt> expressions, mlir::ValueRange operands);
using UnresolvedOperands = llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand>;
/// One expression; operands that occur are added to `operands` once.
mlir::ParseResult parseExpression(mlir::OpAsmParser &parser, UnresolvedOperands &operands, SymbolicInt &expression);
/// One expression over symbols alone, for types; its text.
mlir::ParseResult parseExpression(mlir::AsmParser &parser, SymbolicInt &expression);
std::string extentText(const SymbolicInt &extent);
} // namespace perpend::tile

#endif
