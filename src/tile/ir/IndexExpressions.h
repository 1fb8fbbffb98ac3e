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

#ifndef PERPEND_TILE_IR_INDEXEXPRESSIONS_H
#define PERPEND_TILE_IR_INDEXEXPRESSIONS_H

#include "graph/Graph.h"

#include "mlir/IR/OpImplementation.h"

#include <map>

namespace perpend::tile {
using graph::Shape;
using graph::SymbolicInt;

/// Maps index values to symbols. Valid while the values exist.
class IndexNames {
public:
  SymbolicInt symbol(mlir::Value value);
  std::string nameOf(mlir::Value value);
  /// The value of a symbol; null for a symbol of the model.
  mlir::Value value(llvm::StringRef name) const;
  /// Whether the expression contains an index value for which `holds` is true.
  bool anyValue(const SymbolicInt &expression, llvm::function_ref<bool(mlir::Value)> holds) const;

  /// Reads the expressions of an attribute whose operands are given.
  Shape read(graph::ShapeAttr expressions, mlir::ValueRange operands);
  /// The inverse of read: appends the index values that occur to `operands`.
  graph::ShapeAttr write(mlir::MLIRContext *context, llvm::ArrayRef<SymbolicInt> expressions,
                         llvm::SmallVectorImpl<mlir::Value> &operands);
  /// An index value equal to the expression: an existing value, or a new tile.index.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &expression);

private:
  unsigned numberOf(mlir::Value value);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<SymbolicInt> symbols;
};

/// Ranges of index values by name: 0 <= value < extent.
using IndexRanges = llvm::StringMap<SymbolicInt>;

/// Simplifies with ranges: if 0 <= j < 8 and 0 <= i < n, floordiv(8*i + j, 8) becomes i, and min(i, n) becomes i.
SymbolicInt simplify(const SymbolicInt &expression, const IndexRanges &ranges);
/// Simplifies under the assumption that no extent is 0: max(e, 1) becomes e.
SymbolicInt whereNotEmpty(const SymbolicInt &expression, llvm::ArrayRef<SymbolicInt> extents);
/// The least and the greatest value over the ranges, as expressions of the remaining symbols; nullopt if unknown. Exact
/// for sums of products of one index value each, otherwise conservative. Every extent is taken to be at least 1.
struct IndexBounds {
  SymbolicInt low, high;
};
std::optional<IndexBounds> boundsOf(const SymbolicInt &expression, const IndexRanges &ranges);

/// An expression as a function of a variable: first + stride * variable. Without a stride it is not of this form.
struct IndexAlong {
  SymbolicInt first;
  std::optional<SymbolicInt> stride;
  bool isUniform() const { return stride == SymbolicInt(0); }
  bool isContiguous() const { return stride == SymbolicInt(1); }
};
IndexAlong along(const SymbolicInt &expression, llvm::StringRef variable, const IndexRanges &ranges = {});

/// Syntax `[%i * 8 + n, 3]`, with any delimiter; %i are operands of the operation being printed or parsed.
void printExpressions(mlir::OpAsmPrinter &printer, llvm::ArrayRef<SymbolicInt> expressions, mlir::ValueRange operands);
using UnresolvedOperands = llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand>;
/// Parses one expression; appends operands that occur to `operands`, each once.
mlir::ParseResult parseExpression(mlir::OpAsmParser &parser, UnresolvedOperands &operands, SymbolicInt &expression);
/// Parses one expression without operands, for types.
mlir::ParseResult parseExpression(mlir::AsmParser &parser, SymbolicInt &expression);
/// Prints an expression in the syntax that the parser accepts.
std::string extentText(const SymbolicInt &extent);
} // namespace perpend::tile

#endif
