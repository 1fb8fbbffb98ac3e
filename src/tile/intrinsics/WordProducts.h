//===- WordProducts.h - multiply-add of words -------------------*- C++ -*-===//
//
// Multiplies one word of the operand in rows with a vector of words of the
// operand in panels: each lane adds the products of the word's elements to a sum.
// Uses a step of the intrinsic's text with as many lanes or fewer; without one,
// expands the description on vectors.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_WORDPRODUCTS_H
#define PERPEND_TILE_INTRINSICS_WORDPRODUCTS_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::tile {

class WordProducts {
public:
  /// For an intrinsic with panels, on vectors of `lanes` words.
  WordProducts(mlir::ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t lanes,
               const target::Machine &target);

  /// The first step that the target supports and that divides this number of lanes; null if there is none.
  static const Intrinsic::Step *stepFor(const Intrinsic &intrinsic, int64_t lanes, const target::Machine &target);

  /// Intrinsics with a step on the target that adds products of several elements to each of `lanes` sums of this type.
  static llvm::SmallVector<const Intrinsic *> available(mlir::Type sum, int64_t lanes, const target::Machine &target);
  /// Pairs of factor types for which these intrinsics add more products at once than for `left` and `right`, or as many
  /// with narrower elements; the most first.
  static llvm::SmallVector<std::pair<mlir::Type, mlir::Type>>
  betterFactors(mlir::Type left, mlir::Type right, mlir::Type sum, int64_t lanes, const target::Machine &target);
  /// Whether the words of an intrinsic can hold all such factors, in this order.
  static bool holds(const Intrinsic &intrinsic, mlir::Type left, mlir::Type right);

  /// Elements per word, sums per column, and the type of the vector of sums.
  int64_t group, parts;
  mlir::VectorType sumType;

  mlir::Value loadWord(mlir::Value buffer, mlir::Value index);   ///< broadcasts a word to all lanes
  mlir::Value loadRow(mlir::Value buffer, mlir::Value index);    ///< loads consecutive words of the operand in rows,
  mlir::Value loadVector(mlir::Value buffer, mlir::Value index); ///< and of the operand in panels
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value index, int64_t words); ///< `words` words, then zeros
  mlir::Value multiplyAdd(mlir::Value word, mlir::Value vector, mlir::Value sums);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sum(mlir::Value sums);     ///< the sum of all lanes
  mlir::Value columns(mlir::Value sums); ///< one sum per column

private:
  mlir::VectorType leftWords(int64_t words) const { return mlir::VectorType::get(words * group, left); }
  mlir::Value inSteps(mlir::Value word, mlir::Value vector, mlir::Value sums);
  mlir::Value described(mlir::Value word, mlir::Value vector, mlir::Value sums);

  mlir::ImplicitLocOpBuilder &builder;
  const Intrinsic &intrinsic;
  const Intrinsic::Step *step;
  mlir::Type left, right;
  int64_t lanes;
};
} // namespace perpend::tile

#endif
