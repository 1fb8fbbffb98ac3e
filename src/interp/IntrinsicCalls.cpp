//===- IntrinsicCalls.cpp - calls of tensor intrinsics --------------------===//
//
// A call executes the intrinsic's description on copies of the parts of buffers
// that it is given.
//
//===----------------------------------------------------------------------===//

#include "interp/Program.h"

#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/Nests.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace perpend::interp {
namespace {
/// A part of a buffer, and a copy of it.
struct Part {
  MemoryView *view = nullptr;
  int64_t base = 0;
  Extents strides;
  Tensor copy;

  bool isInside() const {
    int64_t low = base, high = base;
    for (auto [extent, stride] : llvm::zip_equal(copy.shape, strides)) {
      if (extent == 0)
        return true;
      (stride < 0 ? low : high) += (extent - 1) * stride;
    }
    return low >= 0 && high < *countElements(view->shape);
  }
  void read() {
    copyStrided(copy.mutableData(), rowMajorStrides(copy.shape), view->data + base * view->format.bytes(), strides,
                copy.shape, view->format.bytes());
  }
  void write() {
    copyStrided(view->data + base * view->format.bytes(), strides, copy.data(), rowMajorStrides(copy.shape), copy.shape,
                view->format.bytes());
  }
};

class Call {
public:
  Call(Executor &executor, const Instruction &instruction)
      : executor(executor), op(cast<tile::CallIntrinsicOp>(instruction.op)), operands(instruction.operands),
        environment(executor.environment) {}

  bool run();

private:
  bool readParts(const tile::Intrinsic &intrinsic);
  bool compute(const tile::Intrinsic &intrinsic);
  int64_t next() { return executor.integer(operands[nextOperand++]); }

  Executor &executor;
  tile::CallIntrinsicOp op;
  ArrayRef<Slot> operands;
  size_t nextOperand = 0;
  Environment environment;
  SmallVector<Part> parts;
};
} // namespace

bool Call::readParts(const tile::Intrinsic &intrinsic) {
  for (size_t i = 0; i < intrinsic.strides.size(); ++i)
    parts.emplace_back().view = &executor.memory(operands[nextOperand++]);
  for (Part &part : parts)
    part.base = next();
  for (auto [number, part] : llvm::enumerate(parts))
    for (unsigned dim = 0; dim < intrinsic.rank(number); ++dim)
      part.strides.push_back(next());
  for (const std::string &parameter : intrinsic.parameters)
    environment.symbols[parameter] = next();
  for (auto [number, part] : llvm::enumerate(parts)) {
    tile::BufferType type = intrinsic.bufferType(number);
    FailureOr<Extents> shape = environment.evaluate(op, type.extents());
    FailureOr<Tensor> copy =
        succeeded(shape) ? environment.allocate(op, type.getElementType(), *shape) : FailureOr<Tensor>(failure());
    if (failed(copy))
      return false;
    part.copy = *copy;
    if (!part.isInside()) {
      op.emitError() << "'" << op.getName() << "' leaves its buffer " << number << " of " << describe(part.view->shape)
                     << " elements";
      return false;
    }
    part.read();
  }
  return true;
}

/// An empty sum has the value of its init.
static bool isEmptySum(tile::BlockOp block, const Environment &environment) {
  for (auto [i, extent] : llvm::enumerate(block.getDomain().values()))
    if (block.kind(i) == tile::IteratorKind::Reduced && *environment.evaluate(block, extent) == 0)
      return bool(block.init());
  return false;
}

bool Call::compute(const tile::Intrinsic &intrinsic) {
  SmallVector<Tensor> inputs;
  for (const Part &part : parts)
    inputs.push_back(part.copy);
  Tensor result = inputs.pop_back_val();
  OwningOpRef<func::FuncOp> empty;
  if (isEmptySum(intrinsic.block, environment)) {
    empty = cast<func::FuncOp>(intrinsic.description->clone());
    tile::BlockOp block;
    empty->walk([&](tile::BlockOp found) { block = found; });
    std::string why;
    (void)tile::decomposeReduction(*empty, block, tile::loopsAround(block).front(), why);
  }
  return succeeded(runBlocks(empty ? *empty : intrinsic.description, inputs, result, environment,
                             /*haveValues=*/!intrinsic.block.init()));
}

bool Call::run() {
  const tile::Intrinsic *intrinsic = tile::IntrinsicLibrary::of(op.getContext()).find(op.getName());
  if (!intrinsic) {
    op.emitError("'") << op.getName() << "' is no known intrinsic";
    return false;
  }
  if (op.getBuffers().size() != intrinsic->strides.size() || op.getExtents().size() != intrinsic->parameters.size()) {
    op.emitError("'") << op.getName() << "': expected " << intrinsic->strides.size() << " buffers and "
                      << intrinsic->parameters.size() << " extents, got " << op.getBuffers().size() << " and "
                      << op.getExtents().size();
    return false;
  }
  if (!readParts(*intrinsic) || !compute(*intrinsic))
    return false;
  parts.back().write();
  return true;
}

bool executeIntrinsicCall(Executor &executor, const Instruction &instruction) {
  return Call(executor, instruction).run();
}
} // namespace perpend::interp
