//===- Verifier.h - what a program does whatever its data are ---*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_VERIFIER_H
#define PERPEND_TARGET_QUOIN_VERIFIER_H

#include "target/quoin/Trap.h"
#include "target/quoin/Simulator.h"

namespace perpend::quoin {

struct Finding {
  Trap trap;
  std::string choices; ///< numbers of iterations and branches that lead to it; empty: all do
};

struct Verification {
  std::vector<Finding> findings;
  std::vector<std::string> limits; ///< what could not be verified, and why
};

/// Executes the program without data: bounds, alignments, initialised reads, races, balance of flags, deadlocks. Units
/// of a core take tokens of a flag in the order in which they were set, so one order of events stands for all.
/// Loops and branches that depend on registers run 0, 1, 2 and 3 times: a loop whose body keeps the balance for these
/// keeps it for all numbers, as each iteration adds the same tokens.
Verification verify(const Program &program);

} // namespace perpend::quoin

#endif
