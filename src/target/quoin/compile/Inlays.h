//===- Inlays.h - values that lie inside of larger ones ---------*- C++ -*-===//
//
// A step that copies a value into a larger one (a concatenation) needs no copy if the value lies there from the
// beginning: who writes and who reads it then has rows that are farther apart. The larger value may lie inside of
// another one in turn.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_INLAYS_H
#define PERPEND_TARGET_QUOIN_COMPILE_INLAYS_H

#include "target/quoin/compile/Decisions.h"
#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

/// Lays values in LLB inside of those into which steps copy them, and drops the copies, as far as LLB then holds what
/// it held before. False: nothing has changed.
bool layInside(MainProgram &main, const Config &config, const Decisions &decisions);

/// Whether the scalar core runs a step that has values with rows farther apart, which only nests know.
bool hasRefusedInlays(const MainProgram &main);

} // namespace perpend::quoin

#endif
