//===- Model.h - what tensor instructions mean, in plain loops --*- C++ -*-===//
//
// A second description of every tensor instruction, written without the simulator's sources: elements are read one by
// one as numbers, by their index, and there is no care for speed.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEST_QUOIN_MODEL_H
#define PERPEND_TEST_QUOIN_MODEL_H

#include "target/quoin/Instruction.h"

#include <map>

namespace perpend::quoin::test {

using Memories = std::map<Space, std::vector<uint8_t>>;

/// Changes the memories as the instruction does, with addresses without generators. Its L1 and others are one core's.
void execute(const Instruction &instruction, Memories &memories, uint64_t *sregs);

/// Instructions whose results may differ by 1 unit in the last place of f32, as functions of the C library do.
bool isApproximate(Opcode opcode, Activation activation);

float floatFrom(const uint8_t *bytes, DType type);

} // namespace perpend::quoin::test

#endif
