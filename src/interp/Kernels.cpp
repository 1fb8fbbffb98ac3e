//===- Kernels.cpp - runs kernels of the tile level -----------------------===//
//
// The arguments of a tiled kernel are described in tile/kernel/KernelAbi.h. Its attribute `tile.extent` (a
// #graph.shape) is the number of its units, or the extents of its grid.
//
//===----------------------------------------------------------------------===//

#include "interp/Program.h"

#include "graph/KernelSymbols.h"
#include "tile/Attributes.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/Variants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace perpend::interp {

/// One extent, or with tile.grid one for each level.
static FailureOr<Extents> parallelExtents(Operation *kernel, const Environment &environment) {
  auto extents = kernel->getAttrOfType<graph::ShapeAttr>(tile::extentAttribute);
  auto levels = kernel->getAttrOfType<ArrayAttr>(tile::gridAttribute);
  size_t count = levels ? levels.size() : 1;
  if (!extents || extents.getDims().size() != count)
    return kernel->emitError("expected the attribute tile.extent, a #graph.shape of one expression")
           << (levels ? " for each level" : "");
  return environment.evaluate(kernel, extents.values());
}

static std::vector<int64_t> symbolValues(Operation *kernel, const Environment &environment) {
  std::vector<int64_t> values;
  for (StringRef name : graph::symbolsOfKernel(kernel))
    values.push_back(environment.symbols.lookup(name));
  return values;
}

FailureOr<func::FuncOp> enterKernel(Operation *call, func::FuncOp kernel,
                                    const llvm::StringMap<graph::SymbolicInt> &values, const Environment &environment,
                                    Environment &own) {
  own.symbols.clear();
  for (const auto &[name, expression] : values) {
    FailureOr<int64_t> value = environment.evaluate(call, expression);
    if (failed(value))
      return failure();
    own.symbols[name] = *value;
  }
  return tile::functionFor(kernel, [&](StringRef symbol) { return own.symbols.lookup(symbol); });
}

/// Binds a tensor as a kernel's 1-D buffer.
static LogicalResult bind(Operation *kernel, Executor &executor, const Slot &slot, Type type, const Tensor &tensor) {
  auto buffer = dyn_cast<MemRefType>(type);
  std::optional<ElementFormat> format = buffer ? formatOf(buffer) : std::nullopt;
  ElementFormat stored = tensor.format(); // bool and i4 may lie in buffers of i8
  bool isSame = format && format->kind == stored.kind && format->bytes() == stored.bytes() &&
                format->isBrain == stored.isBrain && (!stored.isFloat() || format->width == stored.width);
  if (!isSame || buffer.getRank() != 1)
    return kernel->emitError("expected a 1-D buffer of ") << tensor.elementType << ", got " << type;
  if (buffer.hasStaticShape() && buffer.getNumElements() != tensor.elementCount())
    return kernel->emitError("expected a buffer of ") << tensor.elementCount() << " elements, got " << type;
  executor.memory(slot) = {tensor.bytes.get(), *format, {tensor.elementCount()}, tensor.bytes};
  return success();
}

/// Clears the upper bits of elements narrower than a byte, which a kernel may have set.
static void normalise(Tensor &tensor) {
  ElementFormat format = tensor.format();
  for (int64_t i = 0; format.width < 8 && i < tensor.elementCount(); ++i) {
    int64_t value;
    readElements(format, tensor.data() + i, 1, &value);
    writeElements(format, &value, 1, tensor.mutableData() + i);
  }
}

/// Scratch memory is not cleared between parts, so a kernel must not read it before writing.
static LogicalResult bindScratch(Operation *kernel, Executor &executor, ArrayRef<Slot> slots, ArrayRef<Type> types,
                                 const Environment &environment) {
  auto counts = kernel->getAttrOfType<graph::ShapeAttr>(tile::scratchAttribute);
  for (auto [slot, type, count] : llvm::zip_equal(slots, types, counts.values())) {
    FailureOr<int64_t> elements = environment.evaluate(kernel, count);
    if (failed(elements))
      return failure();
    FailureOr<Tensor> memory = environment.allocate(kernel, cast<MemRefType>(type).getElementType(), *elements);
    if (failed(memory) || failed(bind(kernel, executor, slot, type, *memory)))
      return failure();
    std::memset(memory->mutableData(), 0xa5, memory->sizeBytes());
  }
  return success();
}

/// Calls `run` for each instance of a grid, the last one first: instances may not rely on an order.
static LogicalResult forEachInstance(const Extents &extents, llvm::function_ref<LogicalResult(ArrayRef<int64_t>)> run) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  Extents ids(extents.size());
  for (int64_t number = count; number-- > 0;) {
    int64_t rest = number;
    for (size_t level = extents.size(); level-- > 0; rest /= extents[level])
      ids[level] = rest % extents[level];
    if (failed(run(ids)))
      return failure();
  }
  return success();
}

LogicalResult runKernel(Operation *kernel, ArrayRef<Tensor> inputs, MutableArrayRef<Tensor> results,
                        const Environment &environment) {
  if (tile::isOnBlocks(cast<func::FuncOp>(kernel)))
    return runBlocks(kernel, inputs, results, environment);
  ProgramCache functions(environment);
  Program *program = functions.compile(kernel);
  FailureOr<Extents> extents = parallelExtents(kernel, environment);
  std::vector<int64_t> symbols = symbolValues(kernel, environment);
  if (!program || failed(extents))
    return failure();
  SmallVector<Tensor> buffers(inputs);
  llvm::append_range(buffers, results);
  ArrayRef<Slot> arguments = program->code.arguments;
  auto function = cast<func::FuncOp>(kernel);
  tile::KernelAbi abi(inputs.size(), results.size(), tile::KernelAbi::scratchCountOf(function),
                      tile::KernelAbi::unitCountOf(function));
  if (arguments.size() != abi.argumentCount())
    return kernel->emitError("expected the arguments (")
           << inputs.size() << " inputs, " << results.size() << " outputs, symbols, "
           << (abi.scratchCount() ? std::to_string(abi.scratchCount()) + " scratch buffers, " : "")
           << (kernel->hasAttr(tile::gridAttribute) ? "ids), got " : "begin, end), got ") << arguments.size();
  Executor executor(*program, environment, &functions);
  ArrayRef<Type> types = function.getArgumentTypes();
  for (size_t i = 0; i < buffers.size(); ++i)
    if (failed(bind(kernel, executor, arguments[i], types[i], buffers[i])))
      return failure();
  executor.memory(arguments[abi.symbols()]) = {
      reinterpret_cast<std::byte *>(symbols.data()), ElementFormat{}, {static_cast<int64_t>(symbols.size())}, nullptr};
  auto run = [&](ArrayRef<int64_t> units) -> LogicalResult {
    if (abi.scratchCount() && failed(bindScratch(kernel, executor, arguments.slice(abi.scratch(0), abi.scratchCount()),
                                                 types.slice(abi.scratch(0), abi.scratchCount()), environment)))
      return failure();
    for (auto [number, value] : llvm::enumerate(units))
      executor.integer(arguments[abi.begin() + number]) = value;
    return success(executor.run(program->code));
  };
  if (kernel->hasAttr(tile::gridAttribute)) {
    if (failed(forEachInstance(*extents, run)))
      return failure();
  } else {
    int64_t extent = extents->front(), parts = std::max<int64_t>(1, environment.kernelParts),
            size = llvm::divideCeil(static_cast<uint64_t>(extent), static_cast<uint64_t>(parts));
    for (int64_t begin = 0; begin < extent; begin += size)
      if (failed(run({begin, std::min(begin + size, extent)})))
        return failure();
  }
  llvm::for_each(results, normalise);
  return success();
}
} // namespace perpend::interp
