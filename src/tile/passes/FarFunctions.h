//===- FarFunctions.h - functions of numbers that few numbers need -*- C++ -*-===//
//
// (x: f32, near: f32) -> f32: f(x) of |x| >= leastFar, near of others and of NaN. tile-expand-math calls them behind
// what it computes for others; in a loop of vectors each is a call behind one test of all lanes (target/cpu/Lanes.h).
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
inline constexpr double leastFarDouble = 0x1p20;

} // namespace perpend::tile

#endif
