//===- RandomInstruction.h - legal instructions of a seed -------*- C++ -*-===//

#ifndef PERPEND_TEST_QUOIN_RANDOMINSTRUCTION_H
#define PERPEND_TEST_QUOIN_RANDOMINSTRUCTION_H

#include "target/quoin/Instruction.h"

#include <optional>
#include <random>

namespace perpend::quoin::test {

/// An instruction of that opcode, type rule and mode that `check` accepts on the configuration, of small extents, with
/// random strides, addresses and fields. None: after some tries there was no legal one.
std::optional<Instruction> randomInstruction(Opcode opcode, const TypeRule *rule, Operands mode, const Config &config, std::mt19937_64 &random);

} // namespace perpend::quoin::test

#endif
