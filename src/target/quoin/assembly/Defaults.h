//===- Defaults.h - what assembly may leave out -----------------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_ASSEMBLY_DEFAULTS_H
#define PERPEND_TARGET_QUOIN_ASSEMBLY_DEFAULTS_H

#include "target/quoin/Access.h"

namespace perpend::quoin {

/// The strides of an instruction whose operands are contiguous; the others of its fields must be final.
struct Strides {
  std::array<uint32_t, numOperands> stride1 = {}, stride2 = {};
};
inline Strides contiguousStrides(const Instruction &instruction) {
  Strides strides;
  const InstructionInfo &info = instruction.info();
  for (const Access &access : accessesOf(instruction)) {
    uint64_t unit = std::max<uint64_t>(1, access.elementBytes / std::max(1u, sizeOf(instruction.typeOf(access.operand))));
    bool isDense = access.elementBytes == 1 && access.pitchBytes[0] == 1 && access.pitchBytes[1] == 0 && access.count[1] == 1 && access.count[2] == 1;
    if (isDense)
      continue;
    uint64_t row = access.count[0] * unit * std::max(1u, instruction.inner[access.operand]);
    Shape shape = info.operands[access.operand].shape;
    bool isImage = shape == Shape::Image; // its rows in use depend on the window, its pitches do not
    if (info.has(FieldStride1) && (isImage || access.count[1] > 1))
      strides.stride1[access.operand] = uint32_t(row);
    if (info.has(FieldStride2) && (isImage || access.count[2] > 1))
      strides.stride2[access.operand] = uint32_t(row * access.count[1]);
  }
  return strides;
}

} // namespace perpend::quoin

#endif
