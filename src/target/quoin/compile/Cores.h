//===- Cores.h - which core computes what -----------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_CORES_H
#define PERPEND_TARGET_QUOIN_COMPILE_CORES_H

#include "target/quoin/compile/Nest.h"

#include <array>

namespace perpend::quoin {

/// Ways to divide a nest among at most `cores` cores: nests which together are this one, ranges of one of its loops or
/// of two, as even as possible. No two of them write to the same line of memory. places: of buffers.
std::vector<std::vector<Nest>> divisionsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned cores);

/// For loops whose iterations end within lines of memory, as rows of an image with a border and columns of a matrix do:
/// two lists of nests. The first list has all but the first iterations of each core's part, which write a line or more.
/// The second has these, and runs when the first list is done. No two nests of a list write to the same line. nullopt:
/// no loop has such iterations.
std::optional<std::array<std::vector<Nest>, 2>> divisionInTurns(const Nest &nest, unsigned cores);

/// For loops that write one range together, where lines end within iterations of the outer ones, as they do in a stack
/// of matrices with rows of any length: parts of the range, as even as possible, each of which is some nests. No two
/// parts write to the same line. At most one part: no loops do that.
std::vector<std::vector<Nest>> rangesOf(const Nest &nest, const Spot &place, unsigned cores);

/// Iterations of a loop between which lines of the result end; 0: the loop is no one to divide.
int64_t iterationsOfLines(const Nest &nest, unsigned loop, const Spot &place);

/// Leaves iterations from `begin` to `end`, which is behind the last one.
void cut(Nest &nest, unsigned loop, int64_t begin, int64_t end);
/// The same for borders alone.
void cutBorders(Nest &nest, unsigned loop, int64_t begin, int64_t end);

/// Of an operand that changes with both loops of a border: the least and the greatest distance from its first element.
/// None, if all iterations lie in the border.
std::optional<std::pair<int64_t, int64_t>> reachOf(const accelerator::Border &border, int64_t stride, int64_t reduced);

} // namespace perpend::quoin

#endif
