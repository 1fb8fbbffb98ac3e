//===- FarFunctions.h - functions of numbers that few numbers need -*- C++ -*-===//
//
// (x, near) -> f(x) of |x| >= leastFar, near of others and of NaN. tile-expand-math calls them after it has computed
// `near`, which holds for others; in a loop of vectors each is a call after one test of all lanes (target/cpu/Lanes.h).
//
// remainder: (x, y, near) -> near where |x| < |y| * leastQuotient, fmod(x, y) of others and of NaN.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TILE_PASSES_FARFUNCTIONS_H
#define PERPEND_TILE_PASSES_FARFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

namespace perpend::tile {

inline constexpr llvm::StringLiteral farSineFunction = "perpend.far_sine";
inline constexpr llvm::StringLiteral farCosineFunction = "perpend.far_cosine";
inline constexpr llvm::StringLiteral farTangentFunction = "perpend.far_tangent";
/// From here on, products of pi / 2 with the number of quarter turns are not exact in f64.
inline constexpr double leastFar = 0x1p28;
/// The same for functions of f64, whose products have fewer bits.
inline constexpr llvm::StringLiteral farSineFunctionDouble = "perpend.far_sine_double";
inline constexpr llvm::StringLiteral farCosineFunctionDouble = "perpend.far_cosine_double";
inline constexpr llvm::StringLiteral farTangentFunctionDouble = "perpend.far_tangent_double";
inline constexpr double leastFarDouble = 0x1p20;
inline constexpr llvm::StringLiteral remainderFunction = "perpend.remainder";
inline constexpr llvm::StringLiteral remainderFunctionDouble = "perpend.remainder_double";
/// Below, f64 holds the integer part of the quotient, and its product with a divisor of f32, exactly.
inline constexpr double leastQuotient = 0x1p28;
/// The same of two numbers of f64, whose product is part of a fused operation.
inline constexpr double leastQuotientDouble = 0x1p52;

} // namespace perpend::tile

#endif
