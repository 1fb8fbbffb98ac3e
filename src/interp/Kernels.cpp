//===- Kernels.cpp - running kernels of the tile level --------------------===//
//
// A tiled kernel has the arguments (inputs, outputs, %symbols, %begin, %end).
// Its attribute `tile.extent` (an expression, as text) is its outermost parallel
// extent; `tile.symbols` of the kernel or of the module orders %symbols, which
// otherwise follow their first appearance in the inputs of the main function.
//
//===----------------------------------------------------------------------===//

#include "interp/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace perpend::interp {

static FailureOr<int64_t> parallelExtent(Operation *kernel, const Environment &environment) {
  auto text = kernel->getAttrOfType<StringAttr>("tile.extent");
  std::string error = "no attribute";
  std::optional<graph::SymbolicInt> extent = text ? graph::SymbolicInt::parse(text, &error) : std::nullopt;
  if (!extent)
    return kernel->emitError("expected the attribute tile.extent, an expression as text: ") << error;
  return environment.evaluate(kernel, *extent);
}

static FailureOr<std::vector<int64_t>> symbolValues(Operation *kernel, const Environment &environment) {
  SmallVector<std::string> names = environment.symbolOrder;
  auto order = kernel->getAttrOfType<ArrayAttr>("tile.symbols");
  if (!order && kernel->getParentOp())
    order = kernel->getParentOp()->getAttrOfType<ArrayAttr>("tile.symbols");
  if (order)
    names = llvm::map_to_vector(order.getAsRange<StringAttr>(), [](StringAttr name) { return name.str(); });
  std::vector<int64_t> values;
  for (const std::string &name : names) {
    FailureOr<int64_t> value = environment.evaluate(kernel, graph::SymbolicInt::symbol(name));
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

/// A tensor as the 1-D buffer of a kernel.
static LogicalResult bind(Operation *kernel, Executor &executor, const Slot &slot, Type type, const Tensor &tensor) {
  auto buffer = dyn_cast<MemRefType>(type);
  std::optional<ElementFormat> format = buffer ? formatOf(buffer) : std::nullopt;
  if (!format || buffer.getRank() != 1 || *format != tensor.format())
    return kernel->emitError("expected a 1-D buffer of ") << tensor.elementType << ", got " << type;
  if (buffer.hasStaticShape() && buffer.getNumElements() != tensor.elementCount())
    return kernel->emitError("expected a buffer of ") << tensor.elementCount() << " elements, got " << type;
  executor.memory(slot) = {tensor.bytes.get(), *format, {tensor.elementCount()}, tensor.bytes};
  return success();
}

LogicalResult runKernel(Operation *kernel, ArrayRef<Tensor> inputs, MutableArrayRef<Tensor> results,
                        const Environment &environment) {
  ProgramCache functions(environment);
  Program *program = functions.compile(kernel);
  FailureOr<int64_t> extent = parallelExtent(kernel, environment);
  FailureOr<std::vector<int64_t>> symbols = symbolValues(kernel, environment);
  if (!program || failed(extent) || failed(symbols))
    return failure();
  SmallVector<Tensor> buffers(inputs);
  llvm::append_range(buffers, results);
  ArrayRef<Slot> arguments = program->code.arguments;
  if (arguments.size() != buffers.size() + 3)
    return kernel->emitError("expected the arguments (")
           << inputs.size() << " inputs, " << results.size() << " outputs, symbols, begin, end), got " << arguments.size();
  Executor executor(*program, environment, &functions);
  ArrayRef<Type> types = cast<func::FuncOp>(kernel).getArgumentTypes();
  for (size_t i = 0; i < buffers.size(); ++i)
    if (failed(bind(kernel, executor, arguments[i], types[i], buffers[i])))
      return failure();
  executor.memory(arguments[buffers.size()]) = {
      reinterpret_cast<std::byte *>(symbols->data()), ElementFormat{}, {static_cast<int64_t>(symbols->size())}, nullptr};
  int64_t parts = std::max<int64_t>(1, environment.kernelParts), size = llvm::divideCeil(static_cast<uint64_t>(*extent), static_cast<uint64_t>(parts));
  for (int64_t begin = 0; begin < *extent; begin += size) {
    executor.integer(arguments.drop_back().back()) = begin;
    executor.integer(arguments.back()) = std::min(begin + size, *extent);
    if (!executor.run(program->code))
      return failure();
  }
  return success();
}
} // namespace perpend::interp
