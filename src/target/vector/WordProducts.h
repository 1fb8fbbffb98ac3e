//===- WordProducts.h - multiply-add of words -------------------*- C++ -*-===//
//
// Multiplies one word of the row-major operand with a vector of words of the operand in panels: each lane adds the
// products of the word's elements to a sum. Uses a step of the intrinsic's text (tile/intrinsics/Intrinsic.h) with at
// most as many lanes; without one, expands the description on vectors.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_WORDPRODUCTS_H
#define PERPEND_TARGET_VECTOR_WORDPRODUCTS_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::target {

/// A unit of machines whose instructions take one element of a vector for all lanes: a vector of words is loaded once,
/// and no word is broadcast.
inline constexpr llvm::StringLiteral laneUnit = "lanes";

/// Inlines the code of a step, or its fold, for `lanes` lanes: as often as needed for those that the step has, with
/// their part of each operand. The last operand are the sums, of which it returns the next ones.
mlir::Value inlinedInLanes(mlir::ImplicitLocOpBuilder &builder, const tile::Intrinsic::Step &step,
                           const tile::Intrinsic::Code &code, int64_t lanes, mlir::ValueRange operands);

/// The word of this number, of `elements` elements, of a vector in all of its lanes.
mlir::Value wordOfVector(mlir::ImplicitLocOpBuilder &builder, mlir::Value vector, int64_t elements, int64_t number);

class WordProducts {
public:
  /// For an intrinsic with panels, on vectors of `lanes` words.
  WordProducts(mlir::ImplicitLocOpBuilder &builder, const tile::Intrinsic &intrinsic, int64_t lanes,
               const Machine &target);

  /// Elements per word, sums per column, and the type of the vector of sums.
  int64_t group, parts;
  mlir::VectorType sumType;

  mlir::Value loadWord(mlir::Value buffer, mlir::Value index); ///< broadcasts a word, or an extended one, to all lanes
  mlir::Value loadRow(mlir::Value buffer, mlir::Value index);  ///< loads consecutive words of the operand in rows,
  mlir::Value loadVector(mlir::Value buffer, mlir::Value index);               ///< and of the operand in panels
  mlir::Value wordOf(mlir::Value row, int64_t number);                         ///< a word of a row, in all lanes
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value index, int64_t words); ///< `words` words, then zeros
  /// Whether words of the operand in rows are single floats of a narrower type than the sums; and extends them to it.
  bool areNarrow() const;
  mlir::Value extend(mlir::Value words);
  bool hasStep() const { return step; }
  mlir::Value multiplyAdd(mlir::Value word, mlir::Value vector, mlir::Value sums);
  /// Words of a row that are loaded at once for a step that selects one of them; 0: there is no such step.
  int64_t wordsOfRow() const;
  mlir::Value loadWords(mlir::Value buffer, mlir::Value index);
  mlir::Value multiplyAddOfRow(mlir::Value row, int64_t number, mlir::Value vector, mlir::Value sums);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sum(mlir::Value sums);     ///< the sum of all lanes
  mlir::Value columns(mlir::Value sums); ///< one sum per column

private:
  mlir::VectorType leftWords(int64_t words) const { return mlir::VectorType::get(words * group, left); }
  mlir::Value described(mlir::Value word, mlir::Value vector, mlir::Value sums);

  mlir::ImplicitLocOpBuilder &builder;
  const tile::Intrinsic &intrinsic;
  const tile::Intrinsic::Step *step, *rowStep;
  mlir::Type left, right;
  int64_t lanes;
};
} // namespace perpend::target

#endif
