//===- Blocks.cpp - runs loops, blocks and buffers ------------------------===//
//
// Runs kernels of blocks before their buffers are flattened, that is before and
// after every step of a schedule. Loops run in order, whatever their kind; what
// the text promises beyond that is checked at each access (Accesses.h).
//
//===----------------------------------------------------------------------===//

#include "interp/Program.h"

#include "tile/ir/VerifyKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::interp {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

namespace {
/// The expression lists of an operation, and the first of their operands.
struct ExpressionLists {
  SmallVector<graph::ShapeAttr, 2> lists;
  unsigned firstOperand = 0;
};
} // namespace

static ExpressionLists expressionsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, ExpressionLists>(op)
      .Case([](tile::ForOp loop) { return ExpressionLists{{loop.getExtent()}}; })
      .Case([](tile::BlockOp block) { return ExpressionLists{{block.getConditions(), block.getBindings()}}; })
      .Case([](tile::IndexOp index) { return ExpressionLists{{index.getExpression()}}; })
      .Case([](tile::AllocOp alloc) { return ExpressionLists{{alloc.getBuffer().getType().getShape()}}; })
      .Case([](tile::LoadOp load) { return ExpressionLists{{load.getIndices()}, 1}; })
      .Case([](tile::StoreOp store) { return ExpressionLists{{store.getIndices()}, 2}; })
      .Default([](Operation *) { return ExpressionLists(); });
}

LogicalResult compileExpressions(Instruction &instruction, const Environment &environment) {
  ExpressionLists expressions = expressionsOf(instruction.op);
  instruction.firstIndex = expressions.firstOperand;
  for (graph::ShapeAttr list : expressions.lists)
    for (const graph::SymbolicInt &expression : list.values()) {
      FailureOr<IndexCode> code = IndexCode::compile(instruction.op, expression, environment);
      if (failed(code))
        return failure();
      instruction.expressions.push_back(std::move(*code));
    }
  return success();
}

/// The values of the expressions [begin, end); false after an error.
static bool evaluate(Executor &executor, const Instruction &instruction, size_t begin, size_t end, Extents &values) {
  Extents operands;
  for (const Slot &slot : ArrayRef(instruction.operands).drop_front(instruction.firstIndex)) {
    operands.push_back(executor.integer(slot));
    if (operands.back() < 0) { // simplification assumes nonnegative symbols
      instruction.op->emitError() << executor.accesses->place()
                                  << "expected index values of at least 0 in expressions, got " << operands.back();
      return false;
    }
  }
  for (size_t i = begin; i < end; ++i) {
    std::optional<int64_t> value = instruction.expressions[i].evaluate(operands);
    if (!value) {
      instruction.op->emitError() << executor.accesses->place() << "cannot evaluate expression " << i
                                  << ": overflow or division by zero";
      return false;
    }
    values.push_back(*value);
  }
  return true;
}

static bool evaluate(Executor &executor, const Instruction &instruction, Extents &values) {
  return evaluate(executor, instruction, 0, instruction.expressions.size(), values);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The row-major position of the access; nullopt after an error.
static std::optional<int64_t> positionOf(Executor &executor, const Instruction &instruction, const MemoryView &view) {
  Extents index;
  if (!evaluate(executor, instruction, index))
    return std::nullopt;
  int64_t position = 0;
  for (size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim] < 0 || index[dim] >= view.shape[dim]) {
      instruction.op->emitError() << executor.accesses->place() << "expected the index of dimension " << dim
                                  << " of the buffer '" << view.tracked->name << "' inside an extent of "
                                  << view.shape[dim] << ", got " << index[dim];
      return std::nullopt;
    }
    position = position * view.shape[dim] + index[dim];
  }
  return position;
}

static bool executeLoad(Executor &executor, const Instruction &instruction) {
  MemoryView &view = executor.memory(instruction.operands[0]);
  std::optional<int64_t> position = positionOf(executor, instruction, view);
  auto load = cast<tile::LoadOp>(instruction.op);
  if (!position || failed(executor.accesses->read(load, load.getBuffer(), *view.tracked, *position)))
    return false;
  readElements(view.format, view.data + *position * view.format.bytes(), 1, executor.registers(instruction.results[0]));
  return true;
}

static bool executeStore(Executor &executor, const Instruction &instruction) {
  MemoryView &view = executor.memory(instruction.operands[1]);
  std::optional<int64_t> position = positionOf(executor, instruction, view);
  if (!position || failed(executor.accesses->write(instruction.op, *view.tracked, *position)))
    return false;
  writeElements(view.format, executor.registers(instruction.operands[0]), 1,
                view.data + *position * view.format.bytes());
  return true;
}

static bool executeAlloc(Executor &executor, const Instruction &instruction) {
  auto alloc = cast<tile::AllocOp>(instruction.op);
  Extents shape;
  if (!evaluate(executor, instruction, shape))
    return false;
  FailureOr<Tensor> tensor = executor.environment.allocate(alloc, alloc.getBuffer().getType().getElementType(), shape);
  if (failed(tensor))
    return false;
  executor.memory(instruction.results[0]) = {
      tensor->mutableData(), tensor->format(), shape, tensor->bytes,
      std::make_shared<TrackedBuffer>(alloc.getName().str(), shape, /*isInput=*/false)};
  return true;
}

static bool executeIndex(Executor &executor, const Instruction &instruction) {
  Extents value;
  if (!evaluate(executor, instruction, value))
    return false;
  executor.integer(instruction.results[0]) = value.front();
  return true;
}

//===----------------------------------------------------------------------===//
// Loops and blocks
//===----------------------------------------------------------------------===//

static bool executeFor(Executor &executor, const Instruction &instruction) {
  auto loop = cast<tile::ForOp>(instruction.op);
  bool hasOrder = loop.getKind() == tile::LoopKind::Serial || loop.getKind() == tile::LoopKind::Unrolled;
  const CodeBlock &body = instruction.regions[0];
  AccessTracker &accesses = *executor.accesses;
  Extents extent;
  if (!evaluate(executor, instruction, extent))
    return false;
  uint64_t execution = accesses.beginLoop();
  bool succeeds = true;
  for (int64_t i = 0; i < extent.front() && succeeds; ++i) {
    executor.integer(body.arguments[0]) = i;
    if (!hasOrder)
      accesses.enterIteration(loop, execution, i);
    succeeds = executor.run(body);
    if (!hasOrder)
      accesses.leaveIteration();
  }
  return succeeds;
}

/// The block's init runs first if all reduced iterators are 0.
static bool runInstance(Executor &executor, const CodeBlock &body, tile::BlockOp block, ArrayRef<int64_t> point) {
  bool isFirst = true;
  for (auto [i, value] : llvm::enumerate(point))
    isFirst &= block.kind(i) != tile::IteratorKind::Reduced || value == 0;
  for (const Instruction &inner : body.instructions)
    if (isFirst && isa<tile::InitOp>(inner.op) && !executor.run(inner.regions[0]))
      return false;
  return executor.run(body);
}

static bool executeBlock(Executor &executor, const Instruction &instruction) {
  auto block = cast<tile::BlockOp>(instruction.op);
  const CodeBlock &body = instruction.regions[0];
  size_t conditions = block.getConditions().getDims().size();
  Extents sides, point;
  if (!evaluate(executor, instruction, 0, conditions, sides))
    return false;
  for (size_t i = 0; i < conditions; i += 2)
    if (sides[i] >= sides[i + 1])
      return true;
  if (!evaluate(executor, instruction, conditions, instruction.expressions.size(), point) ||
      failed(executor.accesses->enterInstance(block, point)))
    return false;
  for (auto [argument, value] : llvm::zip_equal(body.arguments, point))
    executor.integer(argument) = value;
  bool succeeds = runInstance(executor, body, block, point);
  executor.accesses->leaveInstance();
  return succeeds;
}

/// An init runs with its block.
static bool executeInit(Executor &, const Instruction &) { return true; }

Execute findBlockOperation(Operation *op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (!kernel || !tile::isOnBlocks(kernel))
    return nullptr;
  return llvm::TypeSwitch<Operation *, Execute>(op)
      .Case([](tile::ForOp) { return executeFor; })
      .Case([](tile::BlockOp) { return executeBlock; })
      .Case([](tile::InitOp) { return executeInit; })
      .Case([](tile::LoadOp) { return executeLoad; })
      .Case([](tile::StoreOp) { return executeStore; })
      .Case([](tile::IndexOp) { return executeIndex; })
      .Case([](tile::AllocOp) { return executeAlloc; })
      .Default([](Operation *) { return nullptr; });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Views a tensor as the kernel's buffer.
static FailureOr<MemoryView> viewOf(func::FuncOp kernel, unsigned argument, const std::string &name, bool isInput,
                                    const Tensor &tensor, const Environment &environment) {
  auto type = dyn_cast<tile::BufferType>(kernel.getArgumentTypes()[argument]);
  if (!type || type.getElementType() != tensor.elementType)
    return kernel.emitError("kernel '") << kernel.getSymName() << "': expected " << name << " to be a buffer of "
                                        << tensor.elementType << ", got " << kernel.getArgumentTypes()[argument];
  FailureOr<Extents> shape = environment.evaluate(kernel, type.extents());
  if (failed(shape))
    return failure();
  if (ArrayRef<int64_t>(*shape) != ArrayRef<int64_t>(tensor.shape))
    return kernel.emitError("kernel '") << kernel.getSymName() << "': expected " << name << " to have the shape "
                                        << describe(*shape) << ", got " << describe(tensor.shape);
  return MemoryView{tensor.bytes.get(), tensor.format(), *shape, tensor.bytes,
                    std::make_shared<TrackedBuffer>(name, *shape, isInput)};
}

static LogicalResult addBlocks(func::FuncOp kernel, const Environment &environment, AccessTracker &accesses) {
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](tile::BlockOp block) {
    FailureOr<Extents> domain = environment.evaluate(block, block.getDomain().values());
    if (failed(domain))
      return WalkResult::interrupt();
    accesses.addBlock(block, *domain);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkWritten(func::FuncOp kernel, const TrackedBuffer &result) {
  for (auto [position, element] : llvm::enumerate(result.elements))
    if (!element.write.exists())
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "': nothing writes the " << result.describe(static_cast<int64_t>(position));
  return success();
}

LogicalResult runBlocks(Operation *op, ArrayRef<Tensor> inputs, ArrayRef<Tensor> results,
                        const Environment &environment, bool haveValues) {
  auto kernel = cast<func::FuncOp>(op);
  if (kernel.getNumArguments() != inputs.size() + results.size())
    return kernel.emitError("kernel '") << kernel.getSymName() << "': expected a buffer for each of " << inputs.size()
                                        << " inputs and " << results.size() << " results, got "
                                        << kernel.getNumArguments() << " arguments";
  ProgramCache functions(environment);
  Program *program = functions.compile(kernel);
  AccessTracker accesses(environment.checksInstances);
  if (!program || failed(addBlocks(kernel, environment, accesses)))
    return failure();
  Executor executor(*program, environment, &functions);
  executor.accesses = &accesses;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    bool isInput = i < inputs.size();
    size_t number = isInput ? i : i - inputs.size();
    FailureOr<MemoryView> view = viewOf(kernel, i, (isInput ? "input " : "result ") + std::to_string(number), isInput,
                                        isInput ? inputs[number] : results[number], environment);
    if (failed(view))
      return failure();
    executor.memory(program->code.arguments[i]) = *view;
    for (size_t element = 0; haveValues && element < view->tracked->elements.size(); ++element)
      if (failed(accesses.write(kernel, *view->tracked, static_cast<int64_t>(element))))
        return failure();
  }
  if (!executor.run(program->code) || failed(accesses.finish()))
    return failure();
  for (const Slot &slot : ArrayRef(program->code.arguments).drop_front(inputs.size()))
    if (failed(checkWritten(kernel, *executor.memory(slot).tracked)))
      return failure();
  return success();
}
} // namespace perpend::interp
