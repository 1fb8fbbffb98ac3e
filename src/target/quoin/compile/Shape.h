//===- Shape.h - the extents of an instruction ------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_SHAPE_H
#define PERPEND_TARGET_QUOIN_COMPILE_SHAPE_H

#include "target/quoin/Instruction.h"

namespace perpend::quoin {

/// An instruction that does the same in the fewest cycles: extents that go on evenly are one, and those of a vector
/// instruction are in the order that makes the fullest passes. Others, such as those with an axis, stay as they are.
Instruction inBestShape(Instruction instruction, const Config &config);

} // namespace perpend::quoin

#endif
