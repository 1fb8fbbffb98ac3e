//===- Move.cpp - loads, stores and moves between DDR and LLB --------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Fractals.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {
namespace {
void copyRows(const Call &call, uint8_t *to) {
  const Instruction &instruction = call.instruction;
  uint64_t bytes = call.extent(0) * call.size(Src0);
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1) {
      uint64_t offset = (i1 * instruction.stride1[Dst] + i2 * instruction.stride2[Dst]) * call.size(Dst);
      std::memmove(to + offset, call.element(Src0, 0, i1, i2), bytes);
    }
}

void fill(const Call &call, unsigned operand, std::array<uint64_t, 3> counts) {
  for (uint64_t i2 = 0; i2 < counts[2]; ++i2)
    for (uint64_t i1 = 0; i1 < counts[1]; ++i1)
      for (uint64_t i0 = 0; i0 < counts[0]; ++i0)
        storeImmediate(call.element(operand, i0, i1, i2), call.instruction.dstType, call.instruction.imm[0]);
}

void loadPadded(const Call &call) {
  const Window &window = call.instruction.window;
  fill(call, Dst, {call.extent(0) + window.padLeft + window.padRight, call.extent(1) + window.padTop + window.padBottom, 1});
  copyRows(call, call.element(Dst, window.padLeft, window.padTop));
}

void convert(const Call &call) {
  const Instruction &instruction = call.instruction;
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        convertElement(call.element(Dst, i0, i1, i2), instruction.dstType, call.element(Src0, i0, i1, i2), instruction.src0Type,
                       instruction.saturate);
}

void addElements(const Call &call) {
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0) {
        uint8_t *to = call.element(Dst, i0, i1, i2);
        const uint8_t *from = call.element(Src0, i0, i1, i2);
        if (call.instruction.dstType == DType::F32)
          storeFloat(to, DType::F32, loadAs<float>(to) + loadAs<float>(from));
        else
          storeAs(to, loadAs<uint32_t>(to) + loadAs<uint32_t>(from));
      }
}

Result copyMasked(const Call &call) {
  unsigned size = call.size(Dst);
  for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
    for (uint64_t i0 = 0; i0 < call.extent(0); ++i0) {
      if (!*call.element(Src1, i0, i1))
        continue;
      uint8_t *to = call.element(Dst, i0, i1);
      if (Result found = call.useRow(Dst, to - call.at[Dst], size))
        return found;
      std::memcpy(to, call.element(Src0, i0, i1), size);
    }
  return std::nullopt;
}

void storeFractals(const Call &call) {
  bool isAccumulator = call.instruction.src(0).space == Space::L0C;
  unsigned size = call.size(Dst);
  FractalLayout left{call.extent(0), size};
  for (uint64_t row = 0; row < call.extent(1); ++row)
    for (uint64_t column = 0; column < call.extent(0); ++column) {
      uint64_t offset = isAccumulator ? tileOffset(row, column, call.extent(0)) : left.offset(row, column);
      std::memcpy(call.element(Dst, column, row), call.at[Src0] + offset, size);
    }
}

void loadFractals(const Call &call) {
  unsigned size = call.size(Dst);
  FractalLayout layout{call.extent(0), size};
  std::memset(call.at[Dst], 0, layout.bytes(call.extent(1)));
  for (uint64_t row = 0; row < call.extent(1); ++row)
    for (uint64_t k = 0; k < call.extent(0); ++k)
      std::memcpy(call.at[Dst] + layout.offset(row, k), call.element(Src0, k, row), size);
}
} // namespace

Result gatherRows(const Call &call) {
  uint64_t bytes = call.extent(0) * call.size(Src0), rows = call.instruction.imm[0];
  for (uint64_t row = 0; row < call.extent(1); ++row) {
    int32_t index = loadAs<int32_t>(call.at[Src1] + 4 * row);
    if (index < 0 || uint64_t(index) >= rows)
      return Violation{TrapCode::INDEX, "index " + std::to_string(index) + " of row " + std::to_string(row) + " in a table of " +
                                            std::to_string(rows) + " rows"};
    const uint8_t *from = call.element(Src0, 0, index);
    if (Result found = call.useRow(Src0, from - call.at[Src0], bytes))
      return found;
    std::memcpy(call.element(Dst, 0, row), from, bytes);
  }
  return std::nullopt;
}

Result scatterRows(const Call &call) {
  uint64_t bytes = call.extent(0) * call.size(Dst), rows = call.instruction.imm[0];
  for (uint64_t row = 0; row < call.extent(1); ++row) {
    int32_t index = loadAs<int32_t>(call.at[Src1] + 4 * row);
    if (index < 0 || uint64_t(index) >= rows)
      return Violation{TrapCode::INDEX, "index " + std::to_string(index) + " of row " + std::to_string(row) + " in a table of " +
                                            std::to_string(rows) + " rows"};
    uint8_t *to = call.element(Dst, 0, index);
    if (Result found = call.useRow(Dst, to - call.at[Dst], bytes))
      return found;
    std::memcpy(to, call.element(Src0, 0, row), bytes);
  }
  return std::nullopt;
}

void transpose(const Call &call) {
  unsigned size = call.size(Dst);
  for (uint64_t i2 = 0; i2 < call.extent(2); ++i2)
    for (uint64_t i1 = 0; i1 < call.extent(1); ++i1)
      for (uint64_t i0 = 0; i0 < call.extent(0); ++i0)
        std::memcpy(call.element(Dst, i1, i0, i2), call.element(Src0, i0, i1, i2), size);
}

Result executeMove(const Call &call) {
  switch (call.instruction.opcode) {
  case Opcode::ld_pad2:
    loadPadded(call);
    return std::nullopt;
  case Opcode::ld_gather:
    return gatherRows(call);
  case Opcode::st_scatter:
    return scatterRows(call);
  case Opcode::ld_tr:
  case Opcode::st_tr:
    transpose(call);
    return std::nullopt;
  case Opcode::ld_cvt:
  case Opcode::st_cvt:
    convert(call);
    return std::nullopt;
  case Opcode::ld_fill:
    fill(call, Dst, {call.extent(0), call.extent(1), call.extent(2)});
    return std::nullopt;
  case Opcode::ld_frac:
    loadFractals(call);
    return std::nullopt;
  case Opcode::st_frac:
    storeFractals(call);
    return std::nullopt;
  case Opcode::st_add:
    addElements(call);
    return std::nullopt;
  case Opcode::st_mask:
    return copyMasked(call);
  default: // ld.bcast is called once for each core
    copyRows(call, call.at[Dst]);
    return std::nullopt;
  }
}

} // namespace perpend::quoin
