//===- WordProducts.h - multiply-adds of words -------------------*- C++ -*-===//
//
// What a micro-kernel does with one word of the operand in rows and a vector of
// words of the one in panels: in each lane, the products of the word's elements
// are added to a sum. That is a step of the intrinsic's text, of as many lanes or
// fewer; without one it is what the description says, on vectors.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_WORDPRODUCTS_H
#define PERPEND_TILE_INTRINSICS_WORDPRODUCTS_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::tile {

class WordProducts {
public:
  /// Of an intrinsic with panels, in vectors of `lanes` words.
  WordProducts(mlir::ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t lanes,
               const target::TargetInfo &target);

  /// The first step that the target has and that makes up so many lanes; null: none.
  static const Intrinsic::Step *stepFor(const Intrinsic &intrinsic, int64_t lanes, const target::TargetInfo &target);

  /// The intrinsics with a step on the target that adds products of several elements to each of `lanes` such sums.
  static llvm::SmallVector<const Intrinsic *> available(mlir::Type sum, int64_t lanes,
                                                        const target::TargetInfo &target);
  /// Types of two factors of whose products these intrinsics add more at once than of `left` and `right`, or as many of
  /// narrower elements; the most first.
  static llvm::SmallVector<std::pair<mlir::Type, mlir::Type>>
  betterFactors(mlir::Type left, mlir::Type right, mlir::Type sum, int64_t lanes, const target::TargetInfo &target);
  /// Whether the words of an intrinsic hold all such factors, in this order.
  static bool holds(const Intrinsic &intrinsic, mlir::Type left, mlir::Type right);

  /// Elements of a word, sums of a column, and the vector of sums.
  int64_t group, parts;
  mlir::VectorType sumType;

  mlir::Value loadWord(mlir::Value buffer, mlir::Value index);   ///< the word at an element, in every lane
  mlir::Value loadRow(mlir::Value buffer, mlir::Value index);    ///< consecutive words of the operand in rows,
  mlir::Value loadVector(mlir::Value buffer, mlir::Value index); ///< and of the one in panels
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value index, int64_t words); ///< so many words, and zeros
  mlir::Value multiplyAdd(mlir::Value word, mlir::Value vector, mlir::Value sums);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sum(mlir::Value sums);     ///< of all lanes
  mlir::Value columns(mlir::Value sums); ///< one for each column

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
