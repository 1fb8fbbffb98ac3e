//===- Feed.cpp - operands of the matrix unit from L1 ----------------------===//

#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Fractals.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {
namespace {
/// Fills fractals of `rows` rows of k elements: zeros, then element (row, k) by `store(to, row, k)`.
template <typename Store>
void fillFractals(const Call &call, uint64_t rows, uint64_t k, Store store) {
  FractalLayout layout{k, call.size(Dst)};
  std::memset(call.at[Dst], 0, layout.bytes(rows));
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t index = 0; index < k; ++index)
      store(call.at[Dst] + layout.offset(row, index), row, index);
}

/// From a source whose rows are the fractals' rows, 32 bytes at a time.
void copyRowsToFractals(const Call &call, uint64_t rows, uint64_t k) {
  unsigned size = call.size(Dst);
  FractalLayout layout{k, size};
  std::memset(call.at[Dst], 0, layout.bytes(rows));
  uint64_t rowBytes = k * size;
  for (uint64_t row = 0; row < rows; ++row) {
    const uint8_t *from = call.element(Src0, 0, row);
    for (uint64_t byte = 0; byte < rowBytes; byte += 32)
      std::memcpy(call.at[Dst] + layout.offset(row, byte / size), from + byte, std::min<uint64_t>(32, rowBytes - byte));
  }
}

template <typename T>
void copyColumnsToFractals(const Call &call, uint64_t rows, uint64_t k) {
  fillFractals(call, rows, k, [&](uint8_t *to, uint64_t row, uint64_t index) {
    std::memcpy(to, call.element(Src0, row, index), sizeof(T));
  });
}

void copyColumns(const Call &call, uint64_t rows, uint64_t k) {
  unsigned size = call.size(Dst);
  if (size == 1)
    copyColumnsToFractals<uint8_t>(call, rows, k);
  else if (size == 2)
    copyColumnsToFractals<uint16_t>(call, rows, k);
  else
    copyColumnsToFractals<uint32_t>(call, rows, k);
}

void feedImage(const Call &call) {
  const Instruction &instruction = call.instruction;
  uint8_t border[4];
  storeImmediate(border, instruction.dstType, instruction.imm[0]);
  fillFractals(call, call.extent(1), call.extent(0), [&](uint8_t *to, uint64_t pixel, uint64_t k) {
    const uint8_t *from = imageElement(call, Src0, pixel, k);
    std::memcpy(to, from ? from : border, call.size(Dst));
  });
}

void feedDequantised(const Call &call, bool isLeft) {
  const Instruction &instruction = call.instruction;
  uint64_t rows = isLeft ? call.extent(1) : call.extent(0), k = isLeft ? call.extent(0) : call.extent(1);
  bool hasScales = !isLeft && instruction.mode == Operands::Row;
  fillFractals(call, rows, k, [&](uint8_t *to, uint64_t row, uint64_t index) {
    const uint8_t *from = isLeft ? call.element(Src0, index, row) : call.element(Src0, row, index);
    float scale = hasScales ? loadAs<float>(call.at[Src1] + 4 * row) : instruction.immFloat(0);
    storeFloat(to, instruction.dstType, (float(loadInt(from, instruction.src0Type)) - instruction.immFloat(1)) * scale);
  });
}

/// Rows of accumulators; `pitched`: each row has its own source, otherwise all have the first.
void feedAccumulators(const Call &call, bool pitched) {
  const Instruction &instruction = call.instruction;
  std::memset(call.at[Dst], 0, tilesBytes(call.extent(1), call.extent(0)));
  for (uint64_t row = 0; row < call.extent(1); ++row)
    for (uint64_t column = 0; column < call.extent(0); ++column) {
      uint8_t *to = call.at[Dst] + tileOffset(row, column, call.extent(0));
      const uint8_t *from = call.element(Src0, column, pitched ? row : 0);
      if (instruction.dstType == DType::F32)
        storeFloat(to, DType::F32, loadFloat(from, instruction.src0Type));
      else
        std::memcpy(to, from, 4);
    }
}
} // namespace

uint8_t *imageElement(const Call &call, unsigned operand, uint64_t pixel, uint64_t k) {
  const Window &window = call.instruction.window;
  uint64_t width = call.extent(2), at = window.start + pixel;
  uint64_t channel = k % window.channels, tap = k / window.channels;
  int64_t y = int64_t(at / width * window.strideHeight + tap / window.kernelWidth * window.dilationHeight) - window.padTop;
  int64_t x = int64_t(at % width * window.strideWidth + tap % window.kernelWidth * window.dilationWidth) - window.padLeft;
  if (y < 0 || x < 0 || y >= window.inputHeight || x >= window.inputWidth)
    return nullptr;
  const Instruction &instruction = call.instruction;
  return call.at[operand] + (channel + x * instruction.stride1[operand] + y * instruction.stride2[operand]) * call.size(operand);
}

Result executeFeed(const Call &call) {
  uint64_t e0 = call.extent(0), e1 = call.extent(1);
  switch (call.instruction.opcode) {
  case Opcode::fd_a:
    copyRowsToFractals(call, e1, e0);
    break;
  case Opcode::fd_a_tr:
    copyColumns(call, e1, e0);
    break;
  case Opcode::fd_a_im2col:
    feedImage(call);
    break;
  case Opcode::fd_a_dq:
    feedDequantised(call, true);
    break;
  case Opcode::fd_b:
    copyColumns(call, e0, e1);
    break;
  case Opcode::fd_b_tr:
    copyRowsToFractals(call, e0, e1);
    break;
  case Opcode::fd_b_frac:
    std::memcpy(call.at[Dst], call.at[Src0], FractalLayout{e1, call.size(Dst)}.bytes(e0));
    break;
  case Opcode::fd_b_dq:
    feedDequantised(call, false);
    break;
  default:
    feedAccumulators(call, call.instruction.opcode == Opcode::fd_c);
  }
  return std::nullopt;
}

} // namespace perpend::quoin
