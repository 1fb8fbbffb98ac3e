//===- Access.cpp - which bytes an instruction touches ---------------------===//

#include "target/quoin/Access.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::divideCeil;

namespace perpend::quoin {
namespace {
/// Extents that are not used count as 1.
std::array<uint64_t, 3> extentsOf(const Instruction &instruction) {
  std::array<uint64_t, 3> extents;
  for (unsigned index = 0; index < 3; ++index)
    extents[index] = std::max<uint64_t>(1, instruction.extent[index]);
  return extents;
}

/// Bytes of so many rows or columns of k elements as fractals.
uint64_t fractalsBytes(uint64_t rows, uint64_t k, uint64_t elementBytes) {
  return divideCeil(rows, 16) * divideCeil(k * elementBytes, 32) * fractalBytes;
}

uint64_t tilesBytes(uint64_t rows, uint64_t columns) {
  return divideCeil(rows, 16) * divideCeil(columns, 16) * tileBytes;
}

void setBytes(Access &access, uint64_t bytes) {
  access.elementBytes = 1;
  access.count = {bytes, 1, 1};
  access.pitchBytes = {1, 0, 0};
}

/// Of the fractal shapes; they are contiguous.
uint64_t contiguousBytes(Shape shape, const Access &access, const Instruction &instruction) {
  auto [e0, e1, e2] = extentsOf(instruction);
  unsigned size = sizeOf(instruction.typeOf(access.operand));
  bool isMatrix = instruction.info().family == 'E';
  uint64_t batch = instruction.opcode == Opcode::bmm ? instruction.axis : 1;
  switch (shape) {
  case Shape::FractalA:
    return batch * fractalsBytes(e1, isMatrix ? e2 : e0, size);
  case Shape::FractalB:
    return batch * fractalsBytes(e0, isMatrix ? e2 : e1, size);
  case Shape::FractalTaps:
    return fractalsBytes(e1, e2 * e0, size);
  case Shape::Fractal:
    return access.space == Space::L0C ? tilesBytes(e1, e0) : fractalsBytes(e1, e0, size);
  case Shape::TileC:
    return batch * tilesBytes(e1, e0);
  case Shape::ZeroPoints:
    return 4 * (instruction.variant0 ? e1 : e0);
  case Shape::Pairs:
    return 8 * e0;
  case Shape::Pairs1:
    return 8 * e1;
  case Shape::PairsBoth:
    return 8 * (e0 + e1);
  default:
    return 0;
  }
}

void setReduced(Access &access, const Instruction &instruction, bool isPair) {
  auto [e0, e1, e2] = extentsOf(instruction);
  if (isPair)
    access.elementBytes *= 2;
  if (instruction.axis == 0)
    access.count = {1, e1, e2};
  else if (instruction.axis == 1)
    access.count = {e0, 1, e2};
  else
    access.count = {1, 1, e2};
}

void setImage(Access &access, const Instruction &instruction) {
  const Window &window = instruction.window;
  uint64_t channels = instruction.info().has(FieldChannels) ? window.channels : instruction.extent[0];
  auto [first, last] = imageRows(instruction);
  access.byte += first * access.pitchBytes[2];
  access.count = {channels, window.inputWidth, last - first};
}

/// Three extents with the operand's strides; the mode may leave some of them out.
void setStrided(Access &access, const Instruction &instruction, Shape shape) {
  auto [e0, e1, e2] = extentsOf(instruction);
  const Window &window = instruction.window;
  bool hasMode = instruction.info().modes && instruction.info().modeOperand == access.operand;
  access.count = {e0, e1, e2};
  if (hasMode && instruction.mode == Operands::Row)
    access.count = {e0, 1, 1};
  if (hasMode && instruction.mode == Operands::Column)
    access.count = {1, e1, e2};
  if (hasMode && instruction.mode == Operands::Scalar)
    access.count = {1, 1, 1};
  if (shape == Shape::Plane)
    access.count = {e0, e1, 1};
  if (shape == Shape::Line)
    access.count = {e0, 1, 1};
  if (shape == Shape::Index)
    access.count = {e1, 1, 1};
  if (shape == Shape::Table256)
    access.count = {256, 1, 1};
  if (shape == Shape::Transposed)
    access.count = {e1, e0, e2};
  if (shape == Shape::Padded)
    access.count = {e0 + window.padLeft + window.padRight, e1 + window.padTop + window.padBottom, 1};
  if (shape == Shape::PaddedRows)
    access.count = {e0, e1 + window.padLeft + window.padRight, e2 + window.padTop + window.padBottom};
  if (shape == Shape::Table) {
    access.count = {e0, instruction.imm[0], 1};
    access.usedRows = e1;
  }
  if (shape == Shape::Element)
    access.count = {1, 1, 1};
  if (shape == Shape::Permuted) // a code that is no permutation is refused elsewhere
    for (unsigned dimension = 0; dimension < 3; ++dimension)
      access.count[dimension] = extentsOf(instruction)[std::min(2u, instruction.axis >> 2 * dimension & 3)];
}

void setElements(Access &access, const Instruction &instruction, Shape shape) {
  DType type = instruction.typeOf(access.operand);
  if (shape == Shape::FullI32 || shape == Shape::Index)
    type = DType::I32;
  if (shape == Shape::Table256 || shape == Shape::Element)
    type = instruction.dstType;
  access.elementBytes = sizeOf(type);
  access.pitchBytes = {instruction.inner[access.operand] * access.elementBytes,
                       instruction.stride1[access.operand] * access.elementBytes,
                       instruction.stride2[access.operand] * access.elementBytes};
  if (uint64_t bytes = contiguousBytes(shape, access, instruction))
    setBytes(access, bytes);
  else if (shape == Shape::Reduced || shape == Shape::ReducedPair)
    setReduced(access, instruction, shape == Shape::ReducedPair);
  else if (shape == Shape::Image)
    setImage(access, instruction);
  else
    setStrided(access, instruction, shape);
}

bool readsResult(const Instruction &instruction, bool begins) {
  switch (instruction.opcode) {
  case Opcode::mm_acc:
  case Opcode::mm_zp:
  case Opcode::gemv:
  case Opcode::bmm:
  case Opcode::dwconv:
    return !begins;
  case Opcode::st_add:
  case Opcode::col2im:
    return true;
  default:
    return false;
  }
}
} // namespace

uint64_t Access::rowBytes() const { return (count[0] - 1) * pitchBytes[0] + elementBytes; }

uint64_t Access::sizeBytes() const {
  if (count[0] == 0 || count[1] == 0 || count[2] == 0)
    return 0;
  return rowBytes() + (count[1] - 1) * pitchBytes[1] + (count[2] - 1) * pitchBytes[2];
}

std::pair<unsigned, unsigned> imageRows(const Instruction &instruction) {
  const Window &window = instruction.window;
  bool byPixels = instruction.info().has(FieldStart);
  if (!instruction.info().has(FieldKernel))
    return {0, window.inputHeight};
  uint64_t firstOut = 0, lastOut = std::max(1u, instruction.extent[2]) - 1;
  if (byPixels) {
    uint64_t width = std::max(1u, instruction.extent[2]);
    firstOut = window.start / width;
    lastOut = (window.start + std::max(1u, instruction.extent[1]) - 1) / width;
  }
  int64_t first = int64_t(firstOut * window.strideHeight) - window.padTop;
  int64_t last =
      int64_t(lastOut * window.strideHeight) - window.padTop + (window.kernelHeight - 1) * window.dilationHeight + 1;
  int64_t height = window.inputHeight;
  first = std::clamp<int64_t>(first, 0, height);
  return {unsigned(first), unsigned(std::clamp(last, first, height))};
}

llvm::SmallVector<Access, 4> accessesOf(const Instruction &instruction, bool begins) {
  llvm::SmallVector<Access, 4> accesses;
  const InstructionInfo &info = instruction.info();
  for (unsigned index = 0; index < numOperands; ++index) {
    const OperandInfo &operand = info.operands[index];
    const Operand &value = instruction.operands[index];
    if (operand.shape == Shape::Nothing || operand.shape == Shape::Address || value.space == Space::None)
      continue;
    Access access;
    access.operand = OperandIndex(index);
    access.space = value.space;
    access.core = value.core;
    access.byte = value.byte;
    access.isWritten = operand.isWritten;
    access.isRead = !operand.isWritten || readsResult(instruction, begins);
    access.isAdded = index == Dst && instruction.opcode == Opcode::st_add;
    access.isIndexed =
        operand.shape == Shape::Table ||
        (index == Dst && (instruction.opcode == Opcode::st_mask || instruction.opcode == Opcode::compress));
    setElements(access, instruction, operand.shape);
    accesses.push_back(access);
  }
  return accesses;
}

uint64_t footprint(const Instruction &instruction, unsigned operand) {
  for (const Access &access : accessesOf(instruction))
    if (access.operand == operand)
      return access.sizeBytes();
  return 0;
}

bool mayOverlap(const Access &left, const Access &right) {
  if (left.space != right.space || left.core != right.core || !left.sizeBytes() || !right.sizeBytes())
    return false;
  if (left.byte + left.sizeBytes() <= right.byte || right.byte + right.sizeBytes() <= left.byte)
    return false;
  // Columns of one matrix: rows of the same pitch that lie beside each other.
  uint64_t pitch = left.count[1] > 1 ? left.pitchBytes[1] : right.pitchBytes[1];
  auto fits = [&](const Access &access) {
    bool rows = access.count[1] == 1 || access.pitchBytes[1] == pitch;
    bool planes = access.count[2] == 1 || (pitch && access.pitchBytes[2] % pitch == 0);
    return rows && planes && access.rowBytes() <= pitch;
  };
  if (pitch == 0 || !fits(left) || !fits(right))
    return true;
  uint64_t distance =
      right.byte >= left.byte ? (right.byte - left.byte) % pitch : (pitch - (left.byte - right.byte) % pitch) % pitch;
  return distance < left.rowBytes() || distance + right.rowBytes() > pitch;
}

} // namespace perpend::quoin
