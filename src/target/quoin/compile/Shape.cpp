//===- Shape.cpp - the extents of an instruction ---------------------------===//
//
// Cycles depend on the rows of an instruction: a row of 3 elements takes as long as one of 64. What a nest says in the
// order of its loops may be said in fewer and longer rows.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Shape.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace perpend::quoin {
namespace {

/// An extent above 1, and the distance of its elements in each operand.
struct Dim {
  uint32_t extent = 1;
  std::array<uint32_t, numOperands> stride = {0, 0, 0, 0};
};
using Dims = llvm::SmallVector<Dim, 3>;

} // namespace

static constexpr Opcode loads[] = {Opcode::ld_1d, Opcode::ld_2d, Opcode::ld_3d},
                        stores[] = {Opcode::st_1d, Opcode::st_2d, Opcode::st_3d};

static bool isOf(llvm::ArrayRef<Opcode> opcodes, const Instruction &instruction) {
  return llvm::is_contained(opcodes, instruction.opcode);
}

/// Whether it does the same with each element, wherever that is.
static bool isElementwise(const Instruction &instruction) {
  const InstructionInfo &info = instruction.info();
  if (info.cycleKind != CycleKind::Vector || !info.has(FieldInner) || info.has(FieldAxis) ||
      instruction.mode == Operands::Row || instruction.mode == Operands::Column)
    return false;
  return llvm::all_of(info.operands, [](const OperandInfo &operand) {
    return operand.shape == Shape::Full || operand.shape == Shape::Nothing;
  });
}

static Dims dimsOf(const Instruction &instruction) {
  Dims dims;
  const std::array<uint32_t, numOperands> *strides[] = {&instruction.inner, &instruction.stride1, &instruction.stride2};
  for (auto [extent, stride] : llvm::zip_equal(instruction.extent, strides))
    if (extent > 1)
      dims.push_back({extent, *stride});
  return dims;
}

/// Whether `outer` goes on where `inner` ends, in the operands that exist.
static bool isOne(const Instruction &instruction, const Dim &inner, const Dim &outer) {
  for (unsigned operand = 0; operand < numOperands; ++operand)
    if (instruction.operands[operand].space != Space::None &&
        outer.stride[operand] != uint64_t{inner.stride[operand]} * inner.extent)
      return false;
  return true;
}

/// `isOrdered`: the order stays, so that rows stay rows.
static void join(const Instruction &instruction, Dims &dims, bool isOrdered) {
  const auto &most = instruction.info().maxExtent;
  for (size_t inner = 0; inner < dims.size();) {
    size_t outer = 0;
    while (outer < dims.size() &&
           (outer == inner || (isOrdered && outer < inner) || !isOne(instruction, dims[inner], dims[outer]) ||
            uint64_t{dims[inner].extent} * dims[outer].extent > most[isOrdered ? inner : 0]))
      ++outer;
    if (outer == dims.size()) {
      ++inner;
      continue;
    }
    dims[inner].extent *= dims[outer].extent;
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(outer));
    inner = 0;
  }
}

/// Extents that are left out are 1 where the instruction has them.
static void setDims(Instruction &instruction, llvm::ArrayRef<Dim> dims) {
  std::array<uint32_t, numOperands> *strides[] = {&instruction.inner, &instruction.stride1, &instruction.stride2};
  for (unsigned dim = 0; dim < 3; ++dim) {
    const bool exists = dim < dims.size();
    if (instruction.info().maxExtent[dim] == 0)
      continue;
    instruction.extent[dim] = exists ? dims[dim].extent : 1;
    for (unsigned operand = 0; operand < numOperands; ++operand) {
      const bool hasStride = exists && instruction.operands[operand].space != Space::None;
      (*strides[dim])[operand] = hasStride ? dims[dim].stride[operand] : dim == 0;
    }
  }
}

/// Elements of a row lie together in both memories.
static void joinTransfer(Instruction &instruction) {
  Dims dims = dimsOf(instruction);
  if (dims.size() < 2 || dims[0].stride[Dst] != 1 || dims[0].stride[Src0] != 1)
    return;
  join(instruction, dims, /*isOrdered=*/true);
  for (llvm::ArrayRef<Opcode> opcodes : {llvm::ArrayRef(loads), llvm::ArrayRef(stores)})
    if (isOf(opcodes, instruction)) {
      instruction.opcode = opcodes[dims.size() - 1];
      instruction.extent = {0, 0, 0};
      instruction.stride1 = instruction.stride2 = {0, 0, 0, 0};
    }
  setDims(instruction, dims);
}

static Instruction orderVector(const Instruction &instruction, const Config &config) {
  Dims dims = dimsOf(instruction);
  if (dims.size() < 2)
    return instruction;
  join(instruction, dims, /*isOrdered=*/false);
  llvm::SmallVector<unsigned, 3> order;
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    order.push_back(dim);
  Instruction best = instruction;
  uint64_t least = cycles(instruction, config);
  do {
    Dims ordered;
    for (unsigned dim : order)
      ordered.push_back(dims[dim]);
    Instruction other = instruction;
    setDims(other, ordered);
    if (const uint64_t taken = cycles(other, config); taken < least && check(other, config).empty()) {
      best = other;
      least = taken;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

Instruction inBestShape(Instruction instruction, const Config &config) {
  if (isOf(loads, instruction) || isOf(stores, instruction) || instruction.opcode == Opcode::ld_cvt ||
      instruction.opcode == Opcode::st_cvt)
    joinTransfer(instruction);
  else if (isElementwise(instruction))
    return orderVector(instruction, config);
  return instruction;
}

} // namespace perpend::quoin
