//===- Memory.cpp - loads and stores, scalar and vector -------------------===//
//
// Every access is checked. An access out of bounds is an error at the
// operation, which exposes wrong index arithmetic of passes.
//
//===----------------------------------------------------------------------===//

#include "interp/Program.h"

#include "graph/Graph.h"
#include "tile/ir/Tile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;

namespace perpend::interp {

static bool failOutside(const Instruction &instruction, size_t dim, int64_t index, int64_t extent) {
  instruction.op->emitError("expected index ") << dim << " inside an extent of " << extent << ", got " << index;
  return false;
}

/// Offsets, in elements, of the accesses of one block.
static bool computeOffsets(Executor &executor, const Instruction &instruction, const MemoryView &view,
                           ArrayRef<Slot> indices, int64_t *offsets) {
  std::fill_n(offsets, executor.count, 0);
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    auto *index = static_cast<const int64_t *>(executor.registers(indices[dim]));
    int64_t extent = view.shape[dim];
    for (int64_t i = 0; i < executor.count; ++i) {
      if (index[i] < 0 || index[i] >= extent)
        return failOutside(instruction, dim, index[i], extent);
      offsets[i] = offsets[i] * extent + index[i];
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// graph.load and memref.load: memory, indices.
static bool executeLoad(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[0]);
  int64_t offsets[Program::maxBlockSize];
  if (!computeOffsets(executor, instruction, view, ArrayRef(instruction.operands).drop_front(), offsets))
    return false;
  auto *result = static_cast<std::byte *>(executor.registers(instruction.results[0]));
  unsigned bytes = view.format.bytes(), registerBytes = view.format.registerBytes();
  bool isCopy = view.format.isFloat() && bytes == registerBytes;
  for (int64_t i = 0; i < executor.count; ++i) {
    const std::byte *source = view.data + offsets[i] * bytes;
    if (isCopy)
      std::memcpy(result + i * registerBytes, source, bytes);
    else
      readElements(view.format, source, 1, result + i * registerBytes);
  }
  return true;
}

/// memref.store: value, memory, indices.
static bool executeStore(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[1]);
  int64_t offset[Program::maxBlockSize];
  if (!computeOffsets(executor, instruction, view, ArrayRef(instruction.operands).drop_front(2), offset))
    return false;
  writeElements(view.format, executor.registers(instruction.operands[0]), 1, view.data + *offset * view.format.bytes());
  return true;
}

static bool executeAllocation(Executor &executor, const Instruction &instruction) {
  auto type = cast<MemRefType>(instruction.op->getResult(0).getType());
  Extents shape(type.getShape());
  unsigned next = 0;
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = executor.integer(instruction.operands[next++]);
  FailureOr<Tensor> tensor = executor.environment.allocate(instruction.op, type.getElementType(), shape);
  if (failed(tensor))
    return false;
  executor.memory(instruction.results[0]) = {tensor->mutableData(), tensor->format(), shape, tensor->bytes};
  return true;
}

static bool executeDim(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[0]);
  int64_t dim = executor.integer(instruction.operands[1]), rank = static_cast<int64_t>(view.shape.size());
  if (dim < 0 || dim >= rank)
    return failOutside(instruction, 0, dim, rank);
  executor.integer(instruction.results[0]) = view.shape[dim];
  return true;
}

static bool executeCast(Executor &executor, const Instruction &instruction) {
  executor.copy(instruction.results, instruction.operands);
  return true;
}

static bool executeNothing(Executor &, const Instruction &) { return true; }

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// The address of `lanes` consecutive elements; null after an error.
static std::byte *vectorAddress(Executor &executor, const Instruction &instruction, const MemoryView &view,
                                ArrayRef<Slot> indices, int64_t lanes) {
  int64_t offset[Program::maxBlockSize] = {0};
  if (lanes > 0 && !computeOffsets(executor, instruction, view, indices, offset))
    return nullptr;
  int64_t end = indices.empty() ? 0 : executor.integer(indices.back()) + lanes;
  if (lanes > 0 && (indices.empty() || end > view.shape.back())) {
    failOutside(instruction, indices.empty() ? 0 : indices.size() - 1, end - 1,
                indices.empty() ? 1 : view.shape.back());
    return nullptr;
  }
  return view.data + *offset * view.format.bytes();
}

static bool executeVectorLoad(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[0]);
  const Slot &result = instruction.results[0];
  ArrayRef<Slot> indices = ArrayRef(instruction.operands).drop_front();
  std::byte *address = vectorAddress(executor, instruction, view, indices, result.lanes);
  if (!address)
    return false;
  readElements(view.format, address, result.lanes, executor.registers(result));
  return true;
}

static bool executeVectorStore(Executor &executor, const Instruction &instruction) {
  const Slot &value = instruction.operands[0];
  const MemoryView &view = executor.memory(instruction.operands[1]);
  ArrayRef<Slot> indices = ArrayRef(instruction.operands).drop_front(2);
  std::byte *address = vectorAddress(executor, instruction, view, indices, value.lanes);
  if (!address)
    return false;
  writeElements(view.format, executor.registers(value), value.lanes, address);
  return true;
}

/// The number of lanes up to the last one that a mask enables.
static int64_t lastLane(const int64_t *mask, int64_t lanes) {
  while (lanes > 0 && !mask[lanes - 1])
    --lanes;
  return lanes;
}

/// Operands: memory, indices, mask, values of the disabled lanes.
static bool executeMaskedLoad(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[0]);
  ArrayRef<Slot> operands = instruction.operands;
  const Slot &result = instruction.results[0];
  auto *mask = static_cast<const int64_t *>(executor.registers(operands.drop_back().back()));
  int64_t lanes = lastLane(mask, result.lanes);
  std::byte *address = vectorAddress(executor, instruction, view, operands.drop_front().drop_back(2), lanes);
  if (!address)
    return false;
  executor.copyFrom(result, executor, operands.back());
  auto *values = static_cast<std::byte *>(executor.registers(result));
  for (int64_t i = 0; i < lanes; ++i)
    if (mask[i])
      readElements(view.format, address + i * view.format.bytes(), 1, values + i * view.format.registerBytes());
  return true;
}

/// Operands: memory, indices, mask, value.
static bool executeMaskedStore(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[0]);
  ArrayRef<Slot> operands = instruction.operands;
  auto *mask = static_cast<const int64_t *>(executor.registers(operands.drop_back().back()));
  int64_t lanes = lastLane(mask, operands.back().lanes);
  std::byte *address = vectorAddress(executor, instruction, view, operands.drop_front().drop_back(2), lanes);
  if (!address)
    return false;
  auto *values = static_cast<const std::byte *>(executor.registers(operands.back()));
  for (int64_t i = 0; i < lanes; ++i)
    if (mask[i])
      writeElements(view.format, values + i * view.format.registerBytes(), 1, address + i * view.format.bytes());
  return true;
}

/// Operands: memory with one dimension, index, indices behind it, mask, values of the disabled lanes.
static bool executeGather(Executor &executor, const Instruction &instruction) {
  const MemoryView &view = executor.memory(instruction.operands[0]);
  ArrayRef<Slot> operands = instruction.operands;
  if (operands.size() != 5) {
    instruction.op->emitError("the interpreter expects a memory with one dimension");
    return false;
  }
  const Slot &result = instruction.results[0];
  auto *behind = static_cast<const int64_t *>(executor.registers(operands[2]));
  auto *mask = static_cast<const int64_t *>(executor.registers(operands[3]));
  executor.copyFrom(result, executor, operands[4]);
  auto *values = static_cast<std::byte *>(executor.registers(result));
  for (uint32_t i = 0; i < result.lanes; ++i) {
    int64_t index = executor.integer(operands[1]) + behind[i];
    if (!mask[i])
      continue;
    if (index < 0 || index >= view.shape[0])
      return failOutside(instruction, 0, index, view.shape[0]);
    readElements(view.format, view.data + index * view.format.bytes(), 1, values + i * view.format.registerBytes());
  }
  return true;
}

static bool executeCreateMask(Executor &executor, const Instruction &instruction) {
  if (instruction.operands.size() != 1) {
    instruction.op->emitError("the interpreter expects a mask with one dimension");
    return false;
  }
  auto *mask = static_cast<int64_t *>(executor.registers(instruction.results[0]));
  for (int64_t i = 0; i < instruction.results[0].lanes; ++i)
    mask[i] = i < executor.integer(instruction.operands[0]) ? -1 : 0;
  return true;
}

/// Repeats the source's lanes, which is right for scalars and for new leading dimensions.
static bool executeBroadcast(Executor &executor, const Instruction &instruction) {
  const Slot &source = instruction.operands[0], &result = instruction.results[0];
  size_t size = source.lanes * source.format.registerBytes();
  auto *values = static_cast<std::byte *>(executor.registers(result));
  for (uint32_t lane = 0; lane < result.lanes; lane += source.lanes)
    std::memcpy(values + lane * source.format.registerBytes(), executor.registers(source), size);
  return true;
}

/// Copies lane `from` of `source` to lane `to` of `target`.
static void copyLane(Executor &executor, const Slot &target, int64_t to, const Slot &source, int64_t from) {
  unsigned size = source.format.registerBytes();
  std::memcpy(static_cast<std::byte *>(executor.registers(target)) + to * size,
              static_cast<const std::byte *>(executor.registers(source)) + from * size, size);
}

static bool executeFromElements(Executor &executor, const Instruction &instruction) {
  for (auto [i, element] : llvm::enumerate(instruction.operands))
    copyLane(executor, instruction.results[0], static_cast<int64_t>(i), element, 0);
  return true;
}

static bool executeExtract(Executor &executor, const Instruction &instruction) {
  auto op = cast<vector::ExtractOp>(instruction.op);
  if (op.hasDynamicPosition() || op.getSourceVectorType().getRank() != 1) {
    op.emitError("the interpreter expects the number of a lane");
    return false;
  }
  copyLane(executor, instruction.results[0], 0, instruction.operands[0], op.getStaticPosition().front());
  return true;
}

static bool executeShuffle(Executor &executor, const Instruction &instruction) {
  const Slot &first = instruction.operands[0], &second = instruction.operands[1];
  for (auto [i, lane] : llvm::enumerate(cast<vector::ShuffleOp>(instruction.op).getMask())) {
    int64_t number = cast<IntegerAttr>(lane).getInt();
    bool isFirst = number < first.lanes;
    copyLane(executor, instruction.results[0], static_cast<int64_t>(i), isFirst ? first : second,
             isFirst ? number : number - first.lanes);
  }
  return true;
}

Execute findMemoryOperation(Operation *op) {
  return llvm::TypeSwitch<Operation *, Execute>(op)
      .Case<graph::LoadOp, memref::LoadOp>([](auto) { return executeLoad; })
      .Case([](memref::StoreOp) { return executeStore; })
      .Case<memref::AllocaOp, memref::AllocOp>([](auto) { return executeAllocation; })
      .Case([](memref::DimOp) { return executeDim; })
      .Case([](memref::CastOp) { return executeCast; })
      .Case<memref::DeallocOp, memref::PrefetchOp, memref::AssumeAlignmentOp>([](auto) { return executeNothing; })
      .Case([](vector::LoadOp) { return executeVectorLoad; })
      .Case([](vector::StoreOp) { return executeVectorStore; })
      .Case([](vector::MaskedLoadOp) { return executeMaskedLoad; })
      .Case([](vector::MaskedStoreOp) { return executeMaskedStore; })
      .Case([](vector::GatherOp) { return executeGather; })
      .Case([](vector::CreateMaskOp) { return executeCreateMask; })
      .Case<vector::BroadcastOp, vector::SplatOp>([](auto) { return executeBroadcast; })
      .Case([](vector::ExtractOp) { return executeExtract; })
      .Case([](vector::FromElementsOp) { return executeFromElements; })
      .Case([](vector::ShuffleOp) { return executeShuffle; })
      .Case([](tile::CallIntrinsicOp) { return executeIntrinsicCall; })
      .Default([](Operation *) { return nullptr; });
}
} // namespace perpend::interp
