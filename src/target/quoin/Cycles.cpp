//===- Cycles.cpp - how long an instruction keeps its unit busy ------------===//

#include "target/quoin/Access.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::divideCeil;

namespace perpend::quoin {
namespace {
constexpr uint64_t feedStart = 6, matrixStart = 8, vectorStart = 6;
constexpr uint64_t vectorBytes = 128, lineBytes = 64;

unsigned latencyOf(Space space, const Config &config) {
  if (space == Space::DDR)
    return config.ddrLatency;
  return space == Space::LLB ? config.llbLatency : config.l1Latency;
}

unsigned bytesPerCycle(Space space, const Config &config) {
  return space == Space::DDR ? config.ddrBytesPerCycle : config.llbBytesPerCycle;
}

/// The slower side counts: rows in lines of 64 bytes, and bytes at the memory's rate.
uint64_t transferCycles(llvm::ArrayRef<Access> accesses, const Config &config) {
  uint64_t latency = 0, busy = 0;
  for (const Access &access : accesses) {
    uint64_t rows = access.movedRows();
    uint64_t lines = rows * divideCeil(access.count[0] * access.elementBytes, lineBytes);
    latency = std::max<uint64_t>(latency, latencyOf(access.space, config));
    busy = std::max({busy, lines, divideCeil(access.movedBytes(), bytesPerCycle(access.space, config))});
  }
  return transferStart + latency + busy;
}

uint64_t feedCycles(const Instruction &instruction, llvm::ArrayRef<Access> accesses) {
  uint64_t bytes = 0;
  for (const Access &access : accesses)
    if (access.isWritten)
      bytes = access.sizeBytes();
  return feedStart + divideCeil(bytes, instruction.info().cycleRate);
}

uint64_t matrixCycles(const Instruction &instruction) {
  auto [n, m, k] = instruction.extent;
  unsigned size = sizeOf(instruction.src0Type);
  uint64_t step = size == 1 ? 16 : size == 2 ? 8 : 2;
  uint64_t batch = instruction.opcode == Opcode::bmm ? instruction.axis : 1;
  if (instruction.opcode == Opcode::dwconv) // columns have products of their own: no reuse of a row of A
    return matrixStart + divideCeil(m, 16) * divideCeil(n, 16) * k;
  uint64_t tiles = divideCeil(m, 16) * divideCeil(n, 16);
  if (instruction.opcode == Opcode::mm_mask) {
    int64_t diagonal = int32_t(instruction.imm[1]);
    tiles = 0;
    for (int64_t row = 0; row < m; row += 16) {
      int64_t columns = std::clamp<int64_t>(std::min<int64_t>(row + 15, m - 1) + diagonal + 1, 0, n);
      tiles += divideCeil(columns, 16);
    }
  }
  return matrixStart + batch * tiles * divideCeil(k, step);
}

unsigned log2OfLanes(unsigned elementBytes) {
  unsigned bits = 0;
  while ((elementBytes << (bits + 1)) <= vectorBytes)
    ++bits;
  return bits;
}

/// Passes over 128 bytes: twice where an operand is not aligned to 32 bytes or has an inner stride.
uint64_t vectorCycles(const Instruction &instruction, llvm::ArrayRef<Access> accesses) {
  uint64_t work = 0;
  unsigned rate = instruction.info().cycleRate, elementBytes = 1;
  bool isSlow = false;
  for (const Access &access : accesses) {
    uint64_t rows = access.movedRows();
    bool counts = access.isWritten || !instruction.info().has(FieldKernel); // of a window, the taps of the result count
    work = counts ? std::max(work, rows * divideCeil(access.count[0] * access.elementBytes, vectorBytes)) : work;
    isSlow |= access.byte % vectorAlignment != 0 || (access.count[0] > 1 && access.pitchBytes[0] > access.elementBytes);
    elementBytes = std::max<unsigned>(elementBytes, access.elementBytes);
  }
  if (instruction.info().has(FieldKernel))
    work *= instruction.window.kernelHeight * instruction.window.kernelWidth;
  uint64_t total = vectorStart + work * std::max(rate, isSlow ? 2u : 1u);
  bool reducesLanes = instruction.info().cycleKind == CycleKind::VectorReduce && instruction.axis != 1;
  if (!reducesLanes)
    return total;
  uint64_t results =
      std::max(1u, instruction.extent[2]) * (instruction.axis == 0 ? std::max(1u, instruction.extent[1]) : 1);
  return total + results * log2OfLanes(std::min(elementBytes, 4u));
}
} // namespace

uint64_t cycles(const Instruction &instruction, const Config &config) {
  llvm::SmallVector<Access, 4> accesses = accessesOf(instruction);
  switch (instruction.info().cycleKind) {
  case CycleKind::Control:
    return 1;
  case CycleKind::Transfer:
    return transferCycles(accesses, config);
  case CycleKind::Feed:
    return feedCycles(instruction, accesses);
  case CycleKind::Matrix:
    return matrixCycles(instruction);
  case CycleKind::Vector:
  case CycleKind::VectorReduce:
    return vectorCycles(instruction, accesses);
  case CycleKind::Scalar:
    return 1 + config.l1Latency; // of a call, the scalar core counts its instructions
  }
  return 1;
}

} // namespace perpend::quoin
