//===- HostRun.cpp - one run of a host program ----------------------------===//

#include "interp/HostRun.h"

#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "host/Arena.h"
#include "host/Events.h"
#include "support/MappedFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cstring>

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

/// All bits set: NaN for floats, -1 for integers.
static constexpr int poison = 0xff;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FailureOr<HostRun::Bytes> HostRun::allocate(Operation *op, int64_t size, StringRef memory) {
  if (size < 0)
    return op->emitError("expected a size of at least 0 bytes, got ") << size;
  Bytes bytes{nullptr, size};
  if (memory == host::hostMemory) {
    FailureOr<Tensor> tensor = environment.allocate(op, IntegerType::get(op->getContext(), 8), {size});
    if (failed(tensor))
      return failure();
    bytes.data = tensor->bytes;
  } else if (!(bytes.data = driver.allocate(memory, size))) {
    return op->emitError("expected ") << size << " bytes in '" << memory << "', which has not so many";
  }
  std::memset(bytes.data.get(), poison, size);
  return bytes;
}

LogicalResult HostRun::createArenas() {
  host::LiveRanges ranges = host::liveRangesOf(entry);
  return success(llvm::all_of(host::arenaMemoriesOf(entry),
                              [&](StringRef memory) { return succeeded(createArena(memory, ranges)); }));
}

/// Offsets are those of the plan, or what binding would choose for one thread.
LogicalResult HostRun::createArena(StringRef memory, const host::LiveRanges &ranges) {
  auto sizeOf = [&](host::BufferOp buffer) -> std::optional<int64_t> {
    FailureOr<int64_t> size = evaluate(buffer, buffer.getBytes()), most = evaluate(buffer, buffer.getParts());
    return succeeded(size) && succeeded(most) ? llvm::checkedMul(*size, host::partsOf(buffer, *most)) : std::nullopt;
  };
  std::optional<host::Arena> arena = host::planArena(entry, memory, ranges, sizeOf);
  if (!arena)
    return failure();
  FailureOr<Bytes> bytes = allocate(entry, arena->bytes, memory);
  if (failed(bytes))
    return failure();
  for (auto [buffer, size, offset] : llvm::zip_equal(arena->buffers, arena->sizes, arena->offsets))
    memories[host::BufferOp(buffer).getMemory()] = {
        {std::shared_ptr<std::byte>(bytes->data, bytes->data.get() + offset), size}};
  return success();
}

FailureOr<Tensor> HostRun::tensorAt(Operation *op, Value place) {
  RankedTensorType type = cast<host::PlaceType>(place.getType()).getTensor();
  FailureOr<Extents> shape = environment.shapeOf(op, type);
  if (failed(shape))
    return failure();
  const Bytes &bytes = memories.at(place).bytes;
  Tensor tensor{type.getElementType(), *shape, bytes.data};
  if (tensor.sizeBytes() > static_cast<uint64_t>(bytes.size))
    return op->emitError("expected a place of ") << tensor.sizeBytes() << " bytes, got memory of " << bytes.size;
  return tensor;
}

FailureOr<Tensors> HostRun::tensorsAt(Operation *op, ValueRange places) {
  Tensors tensors;
  for (Value place : places) {
    FailureOr<Tensor> tensor = tensorAt(op, place);
    if (failed(tensor))
      return failure();
    tensors.push_back(*tensor);
  }
  return tensors;
}

/// The file is mapped once for each constant in it.
FailureOr<HostRun::Bytes> HostRun::bytesInFile(host::ConstantOp op, host::SegmentOp segment) {
  auto opened = support::mapFile(segment.getFile()->str());
  if (!opened)
    return op.emitError("segment '") << op.getSegment() << "': cannot read the file '" << *segment.getFile()
                                     << "': " << opened.getError().message()
                                     << graph::Hint("paths are from the current folder");
  std::shared_ptr<llvm::MemoryBuffer> file = std::move(*opened);
  const uint64_t offset = *segment.getFileOffset(), bytes = *segment.getFileBytes(), size = file->getBufferSize();
  if (offset > size || bytes > size - offset)
    return op.emitError("segment '") << op.getSegment() << "': expected " << bytes << " bytes at " << offset
                                     << " of the file '" << *segment.getFile() << "', which has " << size;
  auto *data = reinterpret_cast<std::byte *>(const_cast<char *>(file->getBufferStart())) + offset;
  return Bytes{std::shared_ptr<std::byte>(file, data), static_cast<int64_t>(bytes)};
}

LogicalResult HostRun::defineConstant(host::ConstantOp op) {
  auto segment = SymbolTable::lookupNearestSymbolFrom<host::SegmentOp>(op, op.getSegmentAttr());
  FailureOr<Bytes> bytes = failure();
  if (segment && segment.isInFile())
    bytes = bytesInFile(op, segment);
  else if (auto tensor = segment ? Tensor::fromAttribute(*segment.getValue()) : std::nullopt)
    bytes = Bytes{tensor->bytes, static_cast<int64_t>(tensor->sizeBytes())};
  else
    return op.emitError("expected a segment with dense elements, got '") << op.getSegment() << "'";
  if (failed(bytes))
    return failure();
  memories[op] = {*bytes};
  StringRef memory = op.getPlace().getType().getMemory();
  if (memory == host::hostMemory)
    return success();
  FailureOr<Bytes> copy = allocate(op, bytes->size, memory);
  if (failed(copy))
    return failure();
  std::memcpy(copy->data.get(), bytes->data.get(), bytes->size);
  memories[op] = {*copy};
  return success();
}

LogicalResult HostRun::definePlace(host::PlaceOp op) {
  FailureOr<int64_t> offset = evaluate(op, op.getOffset());
  if (failed(offset))
    return failure();
  const Bytes source = memories.at(op.getSource()).bytes;
  if (*offset < 0 || *offset > source.size)
    return op.emitError("expected an offset inside ") << source.size << " bytes, got " << *offset;
  memories[op] = {{std::shared_ptr<std::byte>(source.data, source.data.get() + *offset), source.size - *offset}};
  return success();
}

LogicalResult HostRun::defineScalar(host::ScalarOp op) {
  FailureOr<int64_t> value = evaluate(op, op.getValue());
  FailureOr<Bytes> bytes = allocate(op, sizeof(int64_t));
  if (failed(value) || failed(bytes))
    return failure();
  std::memcpy(bytes->data.get(), &*value, sizeof(int64_t));
  memories[op] = {*bytes};
  return success();
}

LogicalResult HostRun::reserve(host::ReserveOp op) {
  host::PlaceType type = op.getPlace().getType();
  FailureOr<Extents> shape = environment.shapeOf(op, type.getTensor());
  if (failed(shape))
    return failure();
  Tensor wanted{type.getTensor().getElementType(), *shape, nullptr};
  FailureOr<Bytes> bytes = allocate(op, static_cast<int64_t>(wanted.sizeBytes()));
  if (failed(bytes))
    return failure();
  Bytes &held = room(op.getRoom());
  if (op.getKept()) {
    FailureOr<int64_t> kept = evaluate(op, *op.getKept());
    if (failed(kept))
      return failure();
    int64_t rows = shape->front(), size = rows ? bytes->size / rows * *kept : 0;
    if (size > held.size || size > bytes->size)
      return op.emitError("expected at most ") << held.size << " bytes to keep, got " << size;
    std::memcpy(bytes->data.get(), held.data.get(), size);
  }
  held = *bytes;
  memories[op] = {held};
  return success();
}

//===----------------------------------------------------------------------===//
// What runs
//===----------------------------------------------------------------------===//

Asynchrony::Ranges HostRun::rangesOf(Operation *op) {
  Asynchrony::Ranges ranges;
  for (const host::Touched &touched : host::touchedBy(op)) {
    bool isRoom = isa<host::RoomType>(touched.value.getType());
    const Bytes &bytes = isRoom ? room(touched.value) : memories.at(touched.value).bytes;
    ranges.push_back({bytes.data.get(), bytes.size, touched.isWritten});
  }
  return ranges;
}

LogicalResult HostRun::give(Command command, bool isOfDevice) {
  Value event = host::eventOf(command.op);
  if (!event && !isOfDevice && asynchrony.isIdle())
    return command.interpret();
  SmallVector<Driver::Event> after =
      llvm::map_to_vector(host::eventsBefore(command.op), [&](Value before) { return events.at(before); });
  // Places may be larger than what is read and written there.
  Asynchrony::Ranges ranges = rangesOf(command.op);
  for (auto [range, tensor] : llvm::zip(ranges, command.tensors))
    range.bytes = static_cast<int64_t>(tensor.sizeBytes());
  if (failed(asynchrony.check(command.op, ranges, after)))
    return failure();
  if (!event && !isOfDevice)
    return command.interpret();
  Driver::Event started = asynchrony.start(std::move(command), std::move(ranges), after);
  if (!event)
    return asynchrony.wait(started);
  return events[event] = started, success();
}

LogicalResult HostRun::wait(host::WaitOp op) {
  return success(
      llvm::all_of(op.getEvents(), [&](Value event) { return succeeded(asynchrony.wait(events.at(event))); }));
}

LogicalResult HostRun::launch(host::LaunchOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
  if (!kernel || kernel.isExternal())
    return op.emitError("no kernel named '") << op.getKernel() << "' with a body in this module";
  Environment own = environment;
  FailureOr<func::FuncOp> entered = enterKernel(op, kernel, op.symbolsOf(kernel), environment, own);
  FailureOr<Tensors> inputs = tensorsAt(op, op.getInputs()), outputs = tensorsAt(op, op.getOutputs());
  if (failed(entered) || failed(inputs) || failed(outputs))
    return failure();
  Command command{op, *entered, *inputs, {}, {}, {}};
  llvm::append_range(command.tensors, *outputs);
  for (StringRef name : symbolsOfKernel(*entered))
    command.symbols.push_back(own.symbols.lookup(name));
  if (auto extents = op.getExtents()) {
    FailureOr<Extents> values = environment.evaluate(op, extents->values());
    if (failed(values))
      return failure();
    command.extents = *values;
  }
  command.interpret = [kernel = *entered, inputs = *inputs, outputs = *outputs, own]() mutable {
    for (Tensor &output : outputs) // what the kernel does not write is poison
      std::memset(output.mutableData(), poison, output.sizeBytes());
    return runKernel(kernel, inputs, outputs, own);
  };
  return give(std::move(command), op.getDevice().has_value());
}

LogicalResult HostRun::call(host::CallOp op) {
  FailureOr<Tensors> inputs = tensorsAt(op, op.getInputs());
  if (failed(inputs))
    return failure();
  LibraryCall described(op);
  FailureOr<Tensors> results = callLibrary(described, *inputs, environment);
  if (failed(results))
    return failure();
  for (auto [type, result] : llvm::zip_equal(described.results, *results))
    for (auto [extent, value] : llvm::zip_equal(shapeOf(type), result.shape))
      for (StringAttr symbol : described.symbols)
        if (extent == SymbolicInt::symbol(symbol.str()))
          environment.symbols[symbol] = value;
  for (auto [type, result, output] : llvm::zip_equal(described.results, *results, op.getOutputs())) {
    FailureOr<Extents> expected = environment.shapeOf(op, type);
    if (failed(expected))
      return failure();
    if (ArrayRef<int64_t>(*expected) != ArrayRef<int64_t>(result.shape))
      return op.emitError("expected a result of shape ") << describe(*expected) << ", got " << describe(result.shape);
    Bytes given{result.bytes, static_cast<int64_t>(result.sizeBytes())};
    if (isa<host::RoomType>(output.getType())) {
      room(output) = given;
      continue;
    }
    FailureOr<Tensor> target = tensorAt(op, output);
    if (failed(target))
      return failure();
    std::memcpy(target->mutableData(), given.data.get(), given.size);
  }
  return success();
}

LogicalResult HostRun::copy(host::CopyOp op) {
  FailureOr<Tensor> source = tensorAt(op, op.getSource());
  if (failed(source))
    return failure();
  const Bytes &target = memories.at(op.getTarget()).bytes;
  if (source->sizeBytes() > static_cast<uint64_t>(target.size))
    return op.emitError("expected a target of ") << source->sizeBytes() << " bytes, got " << target.size;
  Tensor end{source->elementType, source->shape, target.data};
  Command command{op, nullptr, {*source, end}, {}, {}, {}};
  command.interpret = [from = *source, to = target.data] {
    std::memmove(to.get(), from.data(), from.sizeBytes());
    return success();
  };
  return give(std::move(command), false);
}

LogicalResult HostRun::copyRows(host::CopyRowsOp op) {
  FailureOr<Tensor> source = tensorAt(op, op.getSource());
  FailureOr<int64_t> count = evaluate(op, op.getCount()), offset = evaluate(op, op.getOffset()),
                     distance = evaluate(op, op.getDistance());
  if (failed(source) || failed(count) || failed(offset) || failed(distance))
    return failure();
  const Bytes &target = memories.at(op.getTarget()).bytes;
  auto bytes = static_cast<int64_t>(source->sizeBytes()), row = *count > 0 ? bytes / *count : 0;
  if (!row)
    return success();
  if (*offset < 0 || *distance < row || *offset > target.size - row ||
      (*count - 1) > (target.size - row - *offset) / *distance)
    return op->emitError("expected ") << *count << " rows of " << row << " bytes inside of " << target.size
                                      << " bytes, got them at " << *offset << " and every " << *distance;
  for (int64_t i = 0; i < *count; ++i)
    std::memcpy(target.data.get() + *offset + i * *distance, source->data() + i * row, row);
  return success();
}

LogicalResult HostRun::copySlices(host::CopySlicesOp op) {
  FailureOr<Tensor> source = tensorAt(op, op.getSource()), positions = tensorAt(op, op.getPositions()),
                    target = tensorAt(op, op.getTarget());
  if (failed(source) || failed(positions) || failed(target))
    return failure();
  std::vector<int64_t> numbers(positions->elementCount());
  readElements(positions->format(), positions->data(), static_cast<int64_t>(numbers.size()), numbers.data());
  unsigned depth = op.depth();
  int64_t elements = *countElements(ArrayRef(target->shape).drop_front(depth));
  uint64_t slice = static_cast<uint64_t>(elements) * target->format().bytes(), tuples = numbers.size() / depth;
  if (slice * tuples != source->sizeBytes())
    return op->emitError("expected ") << tuples << " slices of " << slice << " bytes, got " << source->sizeBytes();
  for (uint64_t tuple = 0; tuple < tuples; ++tuple) {
    bool isInside = true;
    int64_t number = 0;
    for (unsigned dim = 0; dim < depth; ++dim) {
      int64_t position = numbers[tuple * depth + dim];
      isInside &= position >= 0 && position < target->shape[dim];
      number = isInside ? number * target->shape[dim] + position : 0;
    }
    if (isInside)
      std::memcpy(target->mutableData() + number * slice, source->data() + tuple * slice, slice);
  }
  return success();
}

LogicalResult HostRun::read(host::ReadOp op) {
  FailureOr<Tensor> tensor = tensorAt(op, op.getPlace());
  if (failed(tensor))
    return failure();
  int64_t value = 0;
  readElements(tensor->format(), tensor->data(), 1, &value);
  bool isFlag = op.getPlace().getType().getTensor().getElementType().isInteger(1);
  environment.symbols[op.getSymbol()] = isFlag ? value != 0 : value;
  return success();
}

LogicalResult HostRun::set(host::SetOp op) {
  FailureOr<Extents> values = environment.evaluate(op, op.getValues().values());
  if (failed(values))
    return failure();
  for (auto [symbol, value] : llvm::zip_equal(op.getSymbols().getAsRange<StringAttr>(), *values))
    environment.symbols[symbol] = value;
  return success();
}

LogicalResult HostRun::check(host::CheckOp op) {
  if (op.getUnless()) {
    FailureOr<int64_t> unless = evaluate(op, *op.getUnless());
    if (failed(unless) || *unless == 0)
      return LogicalResult(unless);
  }
  FailureOr<int64_t> value = evaluate(op, op.getValue()), expected = evaluate(op, op.getExpected());
  FailureOr<int64_t> got = evaluate(op, op.getGot());
  if (failed(value) || failed(expected) || failed(got))
    return failure();
  if (op.getIsEqual() ? *value == *expected : *value >= *expected)
    return success();
  return op.emitError() << op.getMessage() << ", got " << *got;
}

LogicalResult HostRun::choose(host::IfOp op) {
  FailureOr<int64_t> condition = evaluate(op, op.getCondition());
  if (failed(condition))
    return failure();
  return runBlock((*condition ? op.getThen() : op.getOtherwise()).front());
}

LogicalResult HostRun::loop(host::LoopOp op) {
  std::optional<int64_t> limit;
  if (op.getBelow()) {
    FailureOr<int64_t> below = evaluate(op, *op.getBelow());
    if (failed(below))
      return failure();
    limit = *below;
  }
  SmallVector<Memory> carried = llvm::map_to_vector(op.getInitial(), [&](Value place) { return memories.at(place); });
  Block &body = op.getBody().front();
  int64_t iteration = 0;
  for (;; ++iteration) {
    environment.symbols[op.getIteration()] = iteration;
    if (op.getCondition()) {
      FailureOr<int64_t> condition = evaluate(op, *op.getCondition());
      if (failed(condition))
        return failure();
      if (!*condition)
        break;
    }
    if (limit && iteration >= *limit)
      break;
    for (auto [argument, memory] : llvm::zip_equal(body.getArguments(), carried))
      memories[argument] = memory;
    if (failed(runBlock(body)))
      return failure();
    carried = llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value place) { return memories.at(place); });
  }
  for (auto [result, memory] : llvm::zip_equal(op.getResults(), carried))
    memories[result] = memory;
  return success();
}

LogicalResult HostRun::execute(Operation &op) {
  if (!asynchrony.isIdle() && !isa<host::LaunchOp, host::CopyOp>(op) && failed(asynchrony.check(&op, rangesOf(&op))))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](host::ConstantOp op) { return defineConstant(op); })
      .Case([&](host::PlaceOp op) { return definePlace(op); })
      .Case([&](host::ScalarOp op) { return defineScalar(op); })
      .Case([&](host::ReserveOp op) { return reserve(op); })
      .Case([&](host::ContentOp op) { return memories[op] = {room(op.getRoom())}, success(); })
      .Case([&](host::RoomOp op) { return memories[op] = {{}, op.getNumber()}, success(); })
      .Case([&](host::ExchangeOp op) { return std::swap(room(op.getFirst()), room(op.getSecond())), success(); })
      .Case([&](host::LaunchOp op) { return launch(op); })
      .Case([&](host::CallOp op) { return call(op); })
      .Case([&](host::CopyOp op) { return copy(op); })
      .Case([&](host::CopyRowsOp op) { return copyRows(op); })
      .Case([&](host::CopySlicesOp op) { return copySlices(op); })
      .Case([&](host::WaitOp op) { return wait(op); })
      .Case([&](host::ReadOp op) { return read(op); })
      .Case([&](host::SetOp op) { return set(op); })
      .Case([&](host::CheckOp op) { return check(op); })
      .Case([&](host::IfOp op) { return choose(op); })
      .Case([&](host::LoopOp op) { return loop(op); })
      .Default([](Operation *) { return success(); }); // binding, buffers and terminators
}

LogicalResult HostRun::runBlock(Block &block) {
  for (Operation &op : block)
    if (failed(execute(op)))
      return failure();
  return success();
}

FailureOr<Tensors> HostRun::results() {
  Tensors list;
  for (unsigned i = 0; i < entry.outputCount(); ++i) {
    RankedTensorType type = entry.tensorOf(entry.inputCount() + i);
    FailureOr<Extents> shape = environment.shapeOf(entry, type);
    if (failed(shape))
      return failure();
    Value output = entry.output(i);
    const Bytes &bytes = isa<host::RoomType>(output.getType()) ? room(output) : memories.at(output).bytes;
    list.push_back({type.getElementType(), *shape, bytes.data});
    if (list.back().sizeBytes() > static_cast<uint64_t>(bytes.size))
      return entry.emitError("output ") << i << ": expected " << list.back().sizeBytes() << " bytes, got "
                                        << bytes.size;
  }
  return list;
}

LogicalResult HostRun::createOutputs() {
  for (unsigned i = 0; i < entry.outputCount(); ++i) {
    Value output = entry.output(i);
    if (isa<host::RoomType>(output.getType())) {
      memories[output] = {{}, i};
      continue;
    }
    FailureOr<Extents> shape = environment.shapeOf(entry, entry.tensorOf(entry.inputCount() + i));
    if (failed(shape))
      return failure();
    Tensor wanted{entry.tensorOf(entry.inputCount() + i).getElementType(), *shape, nullptr};
    FailureOr<Bytes> bytes = allocate(entry, static_cast<int64_t>(wanted.sizeBytes()));
    if (failed(bytes))
      return failure();
    memories[output] = {*bytes};
  }
  return success();
}

LogicalResult HostRun::shareState(unsigned state) {
  unsigned count = entry.stateCount();
  Memory &input = memories[entry.input(entry.inputCount() - count + state)],
         &output = memories[entry.output(entry.outputCount() - count + state)];
  int64_t size = input.bytes.size;
  if (output.bytes.size < size) {
    FailureOr<Bytes> larger = allocate(entry, size);
    if (failed(larger))
      return failure();
    output.bytes.data = larger->data;
  }
  std::memcpy(output.bytes.data.get(), input.bytes.data.get(), size);
  input.bytes.data = output.bytes.data;
  return success();
}

FailureOr<Tensors> HostRun::run(ArrayRef<Tensor> given) {
  Tensors inputs(given);
  if (failed(bindInputs(entry, inputs, environment)) || failed(createArenas()) || failed(createOutputs()))
    return failure();
  for (auto [number, input] : llvm::enumerate(inputs))
    memories[entry.input(number)] = {{input.bytes, static_cast<int64_t>(input.sizeBytes())}};
  for (unsigned state = 0; state < entry.stateCount(); ++state)
    if (entry.isInPlace(state) && failed(shareState(state)))
      return failure();
  Block &body = entry.getBody().front();
  if (failed(runBlock(body)) || failed(asynchrony.finish(body.getTerminator())))
    return failure();
  return results();
}
} // namespace perpend::interp
