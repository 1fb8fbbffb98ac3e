//===- WordProducts.h - multiply-adds of words of 32 bits --------*- C++ -*-===//
//
// What a micro-kernel does with one word of a and a vector of words of b: a word
// is one f32, two i16, or four bytes (unsigned in a, signed in b). Integers go
// through the instructions that sum their products exactly, modulo 2^32:
//
//   i16   vpdpwssd with VNNI, else pmaddwd and an addition (-32768 * -32768 * 2 wraps to what it is modulo 2^32)
//   i8    vpdpbusd, which does not saturate; there is none without VNNI
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_WORDPRODUCTS_H
#define PERPEND_TILE_PASSES_WORDPRODUCTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace perpend::tile {

class WordProducts {
public:
  /// Vectors of `lanes` words whose elements are `element`. `hasVnni`: the target multiplies quadruples of bytes.
  WordProducts(mlir::ImplicitLocOpBuilder &builder, mlir::Type element, int64_t lanes, bool hasVnni);

  /// Whether there is an instruction for vectors of this many lanes.
  static bool exist(mlir::Type element, int64_t lanes, bool hasVnni);

  /// Elements of a word, and the vector of sums.
  int64_t group;
  mlir::VectorType sumType;

  mlir::Value loadWord(mlir::Value buffer, mlir::Value index);   ///< the word at an element, in every lane
  mlir::Value loadVector(mlir::Value buffer, mlir::Value index); ///< consecutive words
  mlir::Value multiplyAdd(mlir::Value word, mlir::Value vector, mlir::Value sums);
  mlir::Value add(mlir::Value x, mlir::Value y);

private:
  mlir::VectorType vectorOf(int64_t words) const;
  mlir::Value call(const llvm::Twine &intrinsic, mlir::ValueRange operands);

  mlir::ImplicitLocOpBuilder &builder;
  mlir::Type element;
  int64_t lanes;
  bool hasVnni;
};
} // namespace perpend::tile

#endif
