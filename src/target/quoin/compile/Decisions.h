//===- Decisions.h - what a target can leave out ----------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_DECISIONS_H
#define PERPEND_TARGET_QUOIN_COMPILE_DECISIONS_H

namespace perpend::quoin {

/// Which of what Decisions.def lists is done.
struct Decisions {
#define PERPEND_DECISION(name, member) bool member = true;
#include "target/quoin/compile/Decisions.def"
};

} // namespace perpend::quoin

#endif
