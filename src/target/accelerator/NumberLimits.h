//===- NumberLimits.h - checks of numbers that a run computes ---*- C++ -*-===//
//
// What a model asks of its data, such as tokens of the vocabulary, is a number that a kernel counts and a comparison
// with a constant (host.read, host.check). Where nothing else depends on the number, it decides no size and no order:
// the scalar core compares it in its place among the steps.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_ACCELERATOR_NUMBERLIMITS_H
#define PERPEND_TARGET_ACCELERATOR_NUMBERLIMITS_H

#include "host/Host.h"

#include <set>

namespace perpend::accelerator {

/// `symbol` is from `least` to `most`, or the run ends with the message and the number.
struct NumberLimits {
  std::string symbol;
  int64_t least, most;
  std::string message;
};

/// nullopt: the check compares something else than one number with a constant, or not always.
std::optional<NumberLimits> limitsOf(host::CheckOp check);

/// The symbols of data that are read and compared, and nothing else.
std::set<std::string> limitedSymbolsOf(host::EntryOp entry);

} // namespace perpend::accelerator

#endif
