//===- FunctionRun.cpp - runs a function of the graph level ---------------===//

#include "interp/FunctionRun.h"

#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "support/Inequality.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

static int64_t integerIn(const Tensor &tensor) {
  int64_t value = 0;
  readElements(tensor.format(), tensor.data(), 1, &value);
  return value;
}

Tensors FunctionRun::lookup(ValueRange operands) const {
  return llvm::map_to_vector<6>(operands, [&](Value value) { return values.find(value)->second; });
}

FailureOr<Tensors> FunctionRun::callKernel(CallKernelOp op, ArrayRef<Tensor> inputs) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
  if (!kernel || kernel.isExternal())
    return op.emitError("no kernel named '") << op.getKernel() << "' with a body in this module";
  Environment own = environment;
  FailureOr<func::FuncOp> entered = enterKernel(op, kernel, symbolsAt(op, kernel), environment, own);
  if (failed(entered))
    return failure();
  kernel = *entered;
  if (!llvm::any_of(kernel.getArgumentTypes(), [](Type type) { return isa<MemRefType>(type); }) &&
      kernel.getNumResults() == op.getNumResults()) {
    InterpreterOptions silent;
    return FunctionRun(own, silent).run(kernel, inputs);
  }
  Tensors results;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    FailureOr<Tensor> result = environment.allocateResult(op, i);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  if (failed(runKernel(kernel, inputs, results, own)))
    return failure();
  return results;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

LogicalResult FunctionRun::measure(MeasureOp op) {
  int64_t value = integerIn(values.find(op.getCount())->second);
  if (value < 0)
    return op.emitError("expected a size of at least 0, got ") << value;
  environment.symbols[op.getSymbol()] = value;
  return success();
}

LogicalResult FunctionRun::require(RequireOp op) {
  SymbolicInt expression = op.getValue().values()[0];
  support::Inequality inequality(expression);
  FailureOr<int64_t> value = environment.evaluate(op, expression), left = environment.evaluate(op, inequality.left);
  if (failed(value) || failed(left))
    return failure();
  if (*value < 0)
    return op.emitError() << op.getMessage() << ": expected " << inequality.text << ", got " << *left;
  return success();
}

void FunctionRun::follow(ArrayRef<StringAttr> symbols, TypeRange types, ArrayRef<Tensor> tensors) {
  for (auto [type, tensor] : llvm::zip(types, tensors))
    for (auto [extent, value] : llvm::zip(shapeOf(cast<RankedTensorType>(type)), tensor.shape))
      for (StringAttr symbol : symbols)
        if (extent == SymbolicInt::symbol(symbol.str()))
          environment.symbols[symbol] = value;
}

LogicalResult FunctionRun::checkShapes(Operation *op, TypeRange types, ArrayRef<Tensor> tensors, StringRef what) {
  for (auto [index, type] : llvm::enumerate(types)) {
    FailureOr<Extents> expected = environment.shapeOf(op, type);
    if (failed(expected))
      return failure();
    if (ArrayRef<int64_t>(*expected) != ArrayRef<int64_t>(tensors[index].shape))
      return op->emitError() << what << " " << index << ": expected the shape " << describe(*expected) << ", got "
                             << describe(tensors[index].shape);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

FailureOr<Tensors> FunctionRun::runIf(IfOp op) {
  Region &taken = integerIn(values.find(op.getCondition())->second) != 0 ? op.getThenRegion() : op.getElseRegion();
  FailureOr<Tensors> results = runBlock(taken.front(), {}, false);
  if (failed(results))
    return failure();
  follow(op.definedSymbols(), op.getResultTypes(), *results);
  if (failed(checkShapes(op, op.getResultTypes(), *results, "result")))
    return failure();
  return results;
}

/// Stacks the elements of a scan result.
static FailureOr<Tensor> stack(LoopOp op, unsigned result, ArrayRef<Tensor> elements, const Environment &environment) {
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  FailureOr<Extents> shape = elements.empty() ? environment.shapeOf(op, type) : Extents{};
  if (failed(shape))
    return failure();
  if (!elements.empty())
    *shape = elements.front().shape;
  for (const Tensor &element : elements)
    if (element.shape != elements.front().shape)
      return op.emitError("result ") << result << ": expected elements of one shape, got "
                                     << describe(elements.front().shape) << " and " << describe(element.shape);
  if (!elements.empty())
    shape->insert(shape->begin(), static_cast<int64_t>(elements.size()));
  FailureOr<Tensor> stacked = environment.allocate(op, type.getElementType(), *shape);
  if (failed(stacked))
    return failure();
  std::byte *target = stacked->mutableData();
  for (const Tensor &element : elements) {
    std::memcpy(target, element.data(), element.sizeBytes());
    target += element.sizeBytes();
  }
  return stacked;
}

FailureOr<Tensors> FunctionRun::runIterations(LoopOp op, std::optional<int64_t> limit) {
  Tensors carried = lookup(op.getInitial());
  SmallVector<Tensors> elements(op.scanResults().size());
  SmallVector<StringAttr> symbols = op.definedSymbols();
  bool goesOn = !op.getCondition() || integerIn(values.find(op.getCondition())->second) != 0;
  int64_t iteration = 0;
  follow(symbols, op.carriedArguments().getTypes(), carried);
  for (; goesOn && (!limit || iteration < *limit); ++iteration) {
    Tensors arguments{Tensor::of<int64_t>(
        cast<RankedTensorType>(op.getBody().getArgument(0).getType()).getElementType(), {}, iteration)};
    arguments.append(carried);
    FailureOr<Tensors> yielded = runBlock(op.getBody().front(), arguments, false);
    if (failed(yielded))
      return failure();
    ArrayRef<Tensor> next(*yielded);
    if (op.getCondition()) {
      goesOn = integerIn(next.front()) != 0;
      next = next.drop_front();
    }
    carried.assign(next.begin(), next.begin() + op.carriedCount());
    for (auto [list, element] : llvm::zip_equal(elements, next.drop_front(op.carriedCount())))
      list.push_back(element);
    follow(symbols, op.carriedArguments().getTypes(), carried);
    if (failed(checkShapes(op, op.carriedArguments().getTypes(), carried, "carried value")))
      return failure();
  }
  if (!op.countIsKnown())
    environment.symbols[op.getCount().getDims()[0]] = iteration;
  SmallVector<StringAttr> free = op.elementSymbols();
  for (StringAttr symbol : free)
    environment.symbols[symbol] = 0;
  for (auto [index, list] : llvm::enumerate(elements)) {
    FailureOr<Tensor> stacked = stack(op, op.carriedCount() + index, list, environment);
    if (failed(stacked))
      return failure();
    if (!list.empty())
      follow(free, op.scanResults()[index].getType(), *stacked);
    carried.push_back(*stacked);
  }
  return carried;
}

FailureOr<Tensors> FunctionRun::runLoop(LoopOp op) {
  std::optional<int64_t> limit;
  if (op.getLimit())
    limit = integerIn(values.find(op.getLimit())->second);
  if (op.countIsKnown()) {
    FailureOr<int64_t> count = environment.evaluate(op, op.getCount().values()[0]);
    if (failed(count))
      return failure();
    limit = *count;
  }
  FailureOr<Tensors> results = runIterations(op, limit);
  if (failed(results) || failed(checkShapes(op, op.getResultTypes(), *results, "result")))
    return failure();
  return results;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

FailureOr<Tensors> FunctionRun::runOperation(Operation &op) {
  if (options.operatorLimit && ++operators > options.operatorLimit)
    return op.emitError("more than ") << options.operatorLimit << " operators were run";
  if (auto branch = dyn_cast<IfOp>(op))
    return runIf(branch);
  if (auto loop = dyn_cast<LoopOp>(op))
    return runLoop(loop);
  if (auto size = dyn_cast<MeasureOp>(op))
    return failed(measure(size)) ? FailureOr<Tensors>() : Tensors();
  if (auto requirement = dyn_cast<RequireOp>(op))
    return failed(require(requirement)) ? FailureOr<Tensors>() : Tensors();
  Tensors operands = lookup(op.getOperands());
  if (auto call = dyn_cast<CallKernelOp>(op))
    return callKernel(call, operands);
  if (auto call = dyn_cast<CallLibraryOp>(op)) {
    FailureOr<Tensors> results = callLibrary(LibraryCall(call), operands, environment);
    if (failed(results))
      return failure();
    follow(call.definedSymbols(), op.getResultTypes(), *results);
    return failed(checkShapes(&op, op.getResultTypes(), *results, "result")) ? FailureOr<Tensors>() : results;
  }
  FailureOr<Tensor> result = evaluatePrimitive(&op, operands, environment);
  if (failed(result))
    return failure();
  return Tensors{*result};
}

/// Frees values whose last use is `op` or an operator inside it, and unused results. Values defined in an outer block
/// stay, since a loop may use them again.
void FunctionRun::freeAfter(Operation &op) {
  Block *block = op.getBlock();
  auto isLastUser = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      return ancestor && !op.isBeforeInBlock(ancestor);
    });
  };
  SetVector<Value> used(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), used);
  for (Value operand : used)
    if (operand.getParentBlock() == block && isLastUser(operand))
      values.erase(operand);
  for (Value result : op.getResults())
    if (result.use_empty())
      values.erase(result);
}

FailureOr<Tensors> FunctionRun::runBlock(Block &block, ArrayRef<Tensor> arguments, bool isObserved) {
  for (auto [argument, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = tensor;
  for (Operation &op : block.without_terminator()) {
    FailureOr<Tensors> results = runOperation(op);
    if (failed(results))
      return failure();
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results))
      values[value] = tensor;
    if (isObserved && options.observer)
      options.observer(&op, *results);
    freeAfter(op);
  }
  Tensors yielded = lookup(block.getTerminator()->getOperands());
  for (Value operand : block.getTerminator()->getOperands())
    if (operand.getParentBlock() == &block)
      values.erase(operand);
  for (Value argument : block.getArguments())
    values.erase(argument);
  return yielded;
}

FailureOr<Tensors> FunctionRun::run(func::FuncOp function, ArrayRef<Tensor> inputs) {
  if (function.getNumArguments() != inputs.size() || !llvm::hasSingleElement(function.getBody()))
    return function.emitError("expected one block with ") << inputs.size() << " arguments";
  return runBlock(function.getBody().front(), inputs, true);
}

FailureOr<Tensors> FunctionRun::run(Operation &op, llvm::DenseMap<Value, Tensor> known) {
  values = std::move(known);
  return runOperation(op);
}
} // namespace perpend::interp
