//===- Pieces.h - steps with large constants, cut along them ----*- C++ -*-===//
//
// A product with a large constant would wait until LLB has all of it, and LLB would have nothing else. Such a step is
// cut along a loop that its result and the constant have, so that each piece reads a part of the constant, which comes
// to LLB while earlier pieces compute (Prefetch.h).
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_PIECES_H
#define PERPEND_TARGET_QUOIN_COMPILE_PIECES_H

#include "target/quoin/compile/Decisions.h"
#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

struct Piece {
  Step step;             ///< the whole one, or with one nest and a part of a constant
  Step *whole = nullptr; ///< of main
  bool isPart = false;
  std::optional<unsigned> rolled = {}; ///< an input that comes to LLB in chunks while the step runs (Rolling.h)
};

/// The steps of main in order, some of them in pieces.
std::vector<Piece> piecesOf(MainProgram &main, const Config &config, const Decisions &decisions);

/// Lists of nests that compute the same, the best ones first.
std::vector<std::vector<Nest>> waysOf(const Step &step, const Decisions &decisions);

} // namespace perpend::quoin

#endif
