//===- WordProducts.h - multiply-adds of words of 32 bits --------*- C++ -*-===//
//
// What a micro-kernel does with one word of a and a vector of words of b: a word
// is one f32, two i16, or four bytes (unsigned in a, signed in b). Products of
// integers are tile.dot, which the target turns into its instructions.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_WORDPRODUCTS_H
#define PERPEND_TILE_PASSES_WORDPRODUCTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::tile {

class WordProducts {
public:
  /// Vectors of `lanes` words of `group` elements.
  WordProducts(mlir::ImplicitLocOpBuilder &builder, mlir::Type element, int64_t group, int64_t lanes);

  /// Elements of a word, and the vector of sums.
  int64_t group;
  mlir::VectorType sumType;

  mlir::Value loadWord(mlir::Value buffer, mlir::Value index);   ///< the word at an element, in every lane
  mlir::Value loadVector(mlir::Value buffer, mlir::Value index); ///< consecutive words
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value index, int64_t words); ///< so many words, and zeros
  mlir::Value multiplyAdd(mlir::Value word, mlir::Value vector, mlir::Value sums);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sum(mlir::Value sums); ///< of all lanes

private:
  mlir::VectorType vectorOf(int64_t words) const;

  mlir::ImplicitLocOpBuilder &builder;
  mlir::Type element;
  int64_t lanes;
};
} // namespace perpend::tile

#endif
