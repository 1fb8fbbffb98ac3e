//===- Words.h - what the words of intrinsics can hold ----------*- C++ -*-===//
//
// A step of an intrinsic (Intrinsic.h) adds the products of a word's elements to a sum. Passes ask here which types
// such steps multiply; the target emits the code.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_WORDS_H
#define PERPEND_TILE_INTRINSICS_WORDS_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// The first step on vectors that the target supports and that divides this number of lanes; null if there is none.
const Intrinsic::Step *stepFor(const Intrinsic &intrinsic, int64_t lanes, const target::Machine &target);

/// Whether a step for bytes in groups takes two numbers of 16 bits in the place of four bytes; stepFor() finds none of
/// these.
bool takesPairs(const Intrinsic &intrinsic, const Intrinsic::Step &step);
/// The first step of that kind, likewise.
const Intrinsic::Step *pairStepFor(const Intrinsic &intrinsic, int64_t lanes, const target::Machine &target);

/// Words in the first operand of a step that takes those of several steps, and the number of the one to multiply; 0: it
/// takes a word in all lanes.
int64_t wordsOfRow(const Intrinsic &intrinsic, const Intrinsic::Step &step);
/// The first step of that kind that the target supports, with exactly this number of lanes; null if there is none.
const Intrinsic::Step *rowStepFor(const Intrinsic &intrinsic, int64_t lanes, const target::Machine &target);

/// Rows that a step on matrices multiplies: the words of two rows, one behind the other, with those of half as many
/// columns as it has sums. These are a matrix, its rows one behind the other:
///   func.func private @step(%rows: vector<16xi8>, %columns: vector<16xi8>, %sums: vector<4xi32>) -> vector<4xi32>
inline constexpr int64_t rowsOfStep = 2;
bool isOnMatrices(const Intrinsic &intrinsic, const Intrinsic::Step &step);
/// The first step of that kind that the target supports; null if there is none.
const Intrinsic::Step *matrixStepFor(const Intrinsic &intrinsic, const target::Machine &target);

/// Intrinsics with a step on the target that adds products of several elements to each of `lanes` sums of this type.
llvm::SmallVector<const Intrinsic *> intrinsicsOfWords(mlir::Type sum, int64_t lanes, const target::Machine &target);
/// Pairs of factor types for which these intrinsics add more products at once than for `left` and `right`, or as many
/// with narrower elements; the most first.
llvm::SmallVector<std::pair<mlir::Type, mlir::Type>> betterFactors(mlir::Type left, mlir::Type right, mlir::Type sum,
                                                                   int64_t lanes, const target::Machine &target);
/// Whether the words of an intrinsic can hold all such factors, in this order.
bool wordsHold(const Intrinsic &intrinsic, mlir::Type left, mlir::Type right);
} // namespace perpend::tile

#endif
