//===- EmitRun.cpp - generates perpend_run --------------------------------===//

#include "target/cpu/ModuleFunctions.h"
#include "target/cpu/RunEmitter.h"

#include "graph/KernelSymbols.h"
#include "tile/Attributes.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/CheckedAccesses.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/Partition.h"
#include "tile/kernel/Scratch.h"
#include "tile/kernel/Variants.h"

#include "perpend_module.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cstddef>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::shapeOf;
using graph::SymbolicInt;

void perpend::target::emitRun(host::EntryOp entry, StringRef suffix, const Machine &machine) {
  RunEmitter(entry, suffix, machine).run();
}

std::string perpend::target::suffixOfEntry(size_t number) { return number ? "_" + std::to_string(number) : ""; }

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

// Types of the frame's functions, as calls pass them.
static_assert(std::is_same_v<decltype(perpend_module::run), int32_t (*)(perpend_frame *)>);
static_assert(std::is_same_v<decltype(perpend_frame::parallel),
                             void (*)(perpend_frame *, int32_t, perpend_kernel, void *const *, int64_t, int64_t)>);
static_assert(std::is_same_v<decltype(perpend_frame::reserve), int32_t (*)(perpend_buffer *, int64_t, int64_t)>);
static_assert(std::is_same_v<decltype(perpend_frame::refuse), int32_t (*)(const char *, int64_t)>);

static FunctionType runType(ModuleOp module) {
  MLIRContext *context = module.getContext();
  return FunctionType::get(context, {FunctionEmitter::pointerType(module)}, {IntegerType::get(context, 32)});
}

RunEmitter::RunEmitter(host::EntryOp entry, StringRef suffix, const Machine &machine)
    : entry(entry), machine(machine), module(entry->getParentOfType<ModuleOp>()), names(entry.symbolNames()),
      f(module, ("perpend_run" + suffix).str(), runType(module), entry.getLoc()), leave(new Block) {
  leave->addArgument(f.builder.getI32Type(), f.loc);
  frame = f.argument(0);
  loadFrame();
  numberSymbols();
  allocateLists();
  for (auto buffer : entry.getBody().getOps<host::BufferOp>())
    bufferNumbers.try_emplace(buffer, static_cast<int64_t>(bufferNumbers.size()));
}

static_assert(sizeof(perpend_frame) == 12 * sizeof(void *), "fields of a frame are addresses");

void RunEmitter::loadFrame() {
  const std::pair<Value *, size_t> fields[] = {
      {&inputs, offsetof(perpend_frame, inputs)},           {&outputs, offsetof(perpend_frame, outputs)},
      {&weights, offsetof(perpend_frame, weights)},         {&arena, offsetof(perpend_frame, arena)},
      {&offsets, offsetof(perpend_frame, offsets)},         {&symbols, offsetof(perpend_frame, symbols)},
      {&parallel, offsetof(perpend_frame, parallel)},       {&growing, offsetof(perpend_frame, growing)},
      {&reserveFunction, offsetof(perpend_frame, reserve)}, {&refuseFunction, offsetof(perpend_frame, refuse)},
      {&outputDims, offsetof(perpend_frame, outputDims)}};
  for (auto [value, offset] : fields)
    *value = f.loadPointer(frame, static_cast<int64_t>(offset / sizeof(void *)));
}

void RunEmitter::numberSymbols() {
  for (const std::string &name : names)
    numbers.try_emplace(name, static_cast<int64_t>(numbers.size()));
  auto add = [&](StringRef name) { numbers.try_emplace(name, static_cast<int64_t>(numbers.size())); };
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](host::ReadOp read) { add(read.getSymbol()); })
        .Case([&](host::LoopOp loop) { add(loop.getIteration()); })
        .Case([&](host::SetOp set) { llvm::for_each(set.getSymbols().getAsRange<StringAttr>(), add); });
  });
}

/// Memory that calls share, large enough for each.
void RunEmitter::allocateLists() {
  int64_t most = 1, mostExtents = 1, mostSymbols = 1, scalarPlaces = 0;
  entry.walk([&](Operation *op) {
    scalarPlaces += isa<host::ScalarOp>(op);
    if (auto launch = dyn_cast<host::LaunchOp>(op)) {
      int64_t scratch = 0;
      for (func::FuncOp function : functionsOf(launch))
        scratch = std::max<int64_t>(scratch, tile::KernelAbi::scratchCountOf(function));
      most = std::max<int64_t>(most, op->getNumOperands() + scratch);
      mostSymbols = std::max<int64_t>(mostSymbols, launch.getSymbols().getDims().size());
    } else if (auto call = dyn_cast<host::CallOp>(op)) {
      int64_t ranks = 0;
      for (Value input : call.getInputs())
        ranks += cast<host::PlaceType>(input.getType()).getTensor().getRank();
      for (auto type : call.getTypes().getAsValueRange<TypeAttr>())
        ranks += cast<RankedTensorType>(type).getRank();
      most = std::max<int64_t>(most, op->getNumOperands());
      mostExtents = std::max(mostExtents, ranks);
    }
  });
  auto allocate = [&](Type type, int64_t count) -> Value {
    return f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, type, f.integer(count));
  };
  int64_t listed = most + 3; // plus symbols, address of scratch memory, number of its parts
  if (llvm::any_of(module.getOps<func::FuncOp>(), tile::isChecked)) {
    record = allocate(f.i64, tile::recordedMemories(most) * tile::recordWords);
    listed += 1 + most; // plus the record, and an extent for each buffer
  }
  list = allocate(f.i64, listed); // slots of kernels, or addresses for a library call
  kernelSymbols = allocate(f.i64, mostSymbols);
  extents = allocate(f.i64, mostExtents);
  ownSymbols = allocate(f.i64, static_cast<int64_t>(numbers.size() - names.size()) + 1);
  scalars = allocate(f.i64, scalarPlaces + 1);
}

void RunEmitter::run() {
  emitBlock(entry.getBody().front());
  f.builder.create<func::ReturnOp>(f.loc, f.half(0));
  f.function.getBody().push_back(leave);
  f.builder.setInsertionPointToStart(leave);
  f.builder.create<func::ReturnOp>(f.loc, leave->getArgument(0));
}

void RunEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](host::LaunchOp launch) { emitLaunch(launch); })
        .Case([&](host::CallOp call) { emitCall(call); })
        .Case([&](host::ReserveOp reserve) { emitReserve(reserve); })
        .Case([&](host::PlaceOp place) { emitPlace(place); })
        .Case([&](host::ContentOp content) { emitContent(content); })
        .Case([&](host::ScalarOp scalar) { emitScalar(scalar); })
        .Case([&](host::CopyOp copy) { emitCopy(copy); })
        .Case([&](host::CopyRowsOp copy) { emitCopyRows(copy); })
        .Case([&](host::CopySlicesOp scatter) { emitCopySlices(scatter); })
        .Case([&](host::ExchangeOp exchange) { emitExchange(exchange); })
        .Case([&](host::ReadOp read) { emitRead(read); })
        .Case([&](host::SetOp set) { emitSet(set); })
        .Case([&](host::CheckOp check) { emitCheck(check); })
        .Case([&](host::IfOp op) { emitIf(op); })
        .Case([&](host::LoopOp loop) { emitLoop(loop); })
        .Case([&](host::ReturnOp) { emitReturn(); });
}

/// Reports the sizes of outputs whose extents depend on data.
void RunEmitter::emitReturn() {
  int64_t dim = 0;
  for (unsigned output = 0; output < entry.outputCount(); ++output) {
    bool isRoom = isa<host::RoomType>(entry.output(output).getType());
    for (const SymbolicInt &extent : shapeOf(entry.tensorOf(entry.inputCount() + output))) {
      if (isRoom)
        f.store(evaluate(extent), outputDims, dim);
      ++dim;
    }
  }
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The kernel's variants in order, then the kernel.
SmallVector<func::FuncOp, 2> RunEmitter::functionsOf(host::LaunchOp launch) {
  auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
  SmallVector<func::FuncOp, 2> functions = tile::variantsOf(kernel);
  functions.push_back(kernel);
  return functions;
}

void RunEmitter::emitLaunch(host::LaunchOp launch) {
  int64_t number = 0;
  for (ValueRange places : {ValueRange(launch.getInputs()), ValueRange(launch.getOutputs())})
    for (Value place : places)
      f.storeSlot(addressOf(place), list, number++);
  for (auto [position, value] : llvm::enumerate(launch.getSymbols().values()))
    f.store(evaluate(value), kernelSymbols, position);
  f.storeSlot(kernelSymbols, list, number); // order of tile/kernel/KernelAbi.h
  SmallVector<func::FuncOp, 2> functions = functionsOf(launch);
  Block *after = functions.size() > 1 ? f.function.addBlock() : nullptr;
  for (func::FuncOp variant : ArrayRef(functions).drop_back()) {
    Block *otherwise = f.function.addBlock();
    f.proceedIf(isInRange(launch, variant), otherwise);
    emitLaunch(launch, variant);
    f.builder.create<cf::BranchOp>(f.loc, after);
    f.builder.setInsertionPointToStart(otherwise);
  }
  emitLaunch(launch, functions.back());
  if (after) {
    f.builder.create<cf::BranchOp>(f.loc, after);
    f.builder.setInsertionPointToStart(after);
  }
}

Value RunEmitter::isInRange(host::LaunchOp launch, func::FuncOp variant) {
  support::SymbolRange range = tile::rangeOf(variant);
  Value value = evaluate(launch.symbolsOf(variant).lookup(range.symbol));
  Value holds = f.compare(arith::CmpIPredicate::sge, value, f.integer(range.least));
  if (!range.most)
    return holds;
  Value isBelow = f.compare(arith::CmpIPredicate::sle, value, f.integer(*range.most));
  return f.builder.create<arith::AndIOp>(f.loc, holds, isBelow);
}

/// Its addresses and symbols are in the list.
void RunEmitter::emitLaunch(host::LaunchOp launch, func::FuncOp kernel) {
  if (tile::isChecked(kernel))
    prepareRecord(launch, kernel);
  SymbolicInt extent = kernel->getAttrOfType<graph::ShapeAttr>(tile::extentAttribute).values()[0];
  Value units = evaluate(extent.substitute(launch.symbolsOf(kernel)));
  if (tile::hasScratch(kernel))
    prepareScratch(launch, kernel, units);
  std::string entryName = (kernel.getSymName() + "_entry").str();
  auto function = module.lookupSymbol<func::FuncOp>(entryName);
  Value constant = f.builder.create<func::ConstantOp>(f.loc, function.getFunctionType(), entryName);
  Value address = f.builder.create<UnrealizedConversionCastOp>(f.loc, f.pointer, constant).getResult(0);
  Value index = f.half(kernel->getAttrOfType<IntegerAttr>(tile::numberAttribute).getInt());
  tile::Partition schedule = tile::Partition::of(kernel);
  int64_t grain = std::max<int64_t>(1, schedule.grain);
  call(parallel, LLVM::LLVMVoidType::get(entry.getContext()),
       {frame, index, address, list, units, f.integer(schedule.isEstimate ? -grain : grain)});
  if (tile::isChecked(kernel))
    checkRecord(launch, kernel);
}

/// Appends the address of the kernel's scratch memory and the number of its parts to the argument list; marks all parts
/// free.
void RunEmitter::prepareScratch(host::LaunchOp launch, func::FuncOp kernel, Value units) {
  Value count = f.partCount(units, f.threads(symbols, names)), memory = addressOf(launch.getScratch());
  if (isa<host::RoomType>(launch.getScratch().getType())) {
    SymbolicInt bytes = tile::Scratch::of(kernel).plannedBytes().substitute(launch.symbolsOf(kernel));
    reserve(memory, f.partedBytes(evaluateOr(bytes, -1), count), f.integer(0));
    memory = f.loadPointer(memory, 0);
  }
  auto position = static_cast<int64_t>(launch.getInputs().size() + launch.getOutputs().size()) + 1;
  f.storeSlot(memory, list, position);
  f.storeSlot(count, list, position + 1);
  Value isFree = f.builder.create<arith::ConstantIntOp>(f.loc, 0, 8);
  f.builder.create<LLVM::MemsetOp>(f.loc, memory, isFree, count, /*isVolatile=*/false);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

std::pair<Value, int64_t> RunEmitter::wordOf(StringRef symbol) {
  int64_t number = numbers.at(symbol), listed = static_cast<int64_t>(names.size());
  return number < listed ? std::pair(symbols, number) : std::pair(ownSymbols, number - listed);
}

void RunEmitter::setSymbol(StringRef name, Value value) {
  auto [base, number] = wordOf(name);
  f.store(value, base, number);
}

Value RunEmitter::evaluate(const SymbolicInt &value, Value *isTooLarge) {
  auto symbol = [&](StringRef name) {
    auto [base, number] = wordOf(name);
    return f.toIndex(f.load(f.i64, base, number));
  };
  return f.toInteger(graph::emitSymbolicInt(f.builder, f.loc, value, symbol, isTooLarge));
}

Value RunEmitter::evaluateOr(const SymbolicInt &value, int64_t otherwise) {
  Value isTooLarge, result = evaluate(value, &isTooLarge);
  return isTooLarge ? f.builder.create<arith::SelectOp>(f.loc, isTooLarge, f.integer(otherwise), result) : result;
}

void RunEmitter::emitRead(host::ReadOp read) {
  Type element = read.getPlace().getType().getTensor().getElementType();
  Value address = addressOf(read.getPlace());
  if (element.isInteger(64))
    return setSymbol(read.getSymbol(), f.load(f.i64, address, 0));
  Value byte = f.load(f.builder.getI8Type(), address, 0);
  setSymbol(read.getSymbol(), f.builder.create<arith::ExtUIOp>(f.loc, f.i64, byte));
}

void RunEmitter::emitSet(host::SetOp set) {
  SmallVector<Value> values;
  for (const SymbolicInt &value : set.getValues().values())
    values.push_back(evaluate(value));
  for (auto [symbol, value] : llvm::zip_equal(set.getSymbols().getAsRange<StringAttr>(), values))
    setSymbol(symbol, value);
}

void RunEmitter::emitCheck(host::CheckOp op) {
  auto predicate = op.getIsEqual() ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
  Value holds = f.compare(predicate, evaluate(op.getValue()), evaluate(op.getExpected()));
  if (auto unless = op.getUnless()) {
    Value isZero = f.compare(arith::CmpIPredicate::eq, evaluate(*unless), f.integer(0));
    holds = f.builder.create<arith::OrIOp>(f.loc, holds, isZero);
  }
  check(holds, op, op.getMessage(), evaluate(op.getGot()));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A perpend_buffer is two words: the address, also where that is shorter, then the capacity.
static_assert(offsetof(perpend_buffer, data) == 0 && offsetof(perpend_buffer, capacityBytes) == 8 &&
              sizeof(perpend_buffer) == 16);

Value RunEmitter::addressOf(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (number < entry.inputCount())
    return f.loadPointer(inputs, number);
  unsigned output = number - entry.inputCount();
  return isa<host::RoomType>(argument.getType()) ? f.element(growing, f.i64, 2 * output)
                                                 : f.loadPointer(outputs, output);
}

Value RunEmitter::addressOf(Value value) {
  if (Value known = addresses.lookup(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return addressOf(argument);
  return llvm::TypeSwitch<Operation *, Value>(value.getDefiningOp())
      .Case(
          [&](host::BufferOp buffer) { return f.bytesAfter(arena, f.load(f.i64, offsets, bufferNumbers.at(buffer))); })
      .Case([&](host::RoomOp room) { return f.element(growing, f.i64, 2 * static_cast<int64_t>(room.getNumber())); })
      .Case([&](host::ConstantOp constant) {
        auto segment = module.lookupSymbol<host::SegmentOp>(constant.getSegment());
        return f.bytesAfter(weights, f.integer(static_cast<int64_t>(segment.getOffset())));
      })
      .Case([&](host::ContentOp content) { return f.loadPointer(addressOf(content.getRoom()), 0); })
      .Case([&](host::ReserveOp reserve) { return f.loadPointer(addressOf(reserve.getRoom()), 0); })
      .Case([&](host::PlaceOp place) {
        SymbolicInt offset = place.getOffset().values()[0];
        Value source = addressOf(place.getSource());
        return offset == SymbolicInt(0) ? source : f.bytesAfter(source, evaluate(offset));
      })
      .Default([](Operation *) -> Value { llvm_unreachable("an operation that gives memory"); });
}

/// An offset that symbols decide is computed here, since they may change before a use.
void RunEmitter::emitPlace(host::PlaceOp place) {
  if (auto source = dyn_cast<host::PlaceType>(place.getSource().getType()); source && !place.isWithinSource()) {
    Value offset = evaluate(place.getOffset()), bytes = bytesOf(place.getPlace().getType());
    Value rest = f.builder.create<arith::SubIOp>(f.loc, bytesOf(source), offset);
    Value isBehind = f.compare(arith::CmpIPredicate::sge, offset, f.integer(0));
    Value ends = f.compare(arith::CmpIPredicate::sle, bytes, rest);
    check(f.builder.create<arith::AndIOp>(f.loc, isBehind, ends), place, "expected a value inside of its memory",
          bytes);
  }
  if (!place.getOffset().values()[0].isConstant())
    addresses[place] = addressOf(place.getPlace());
}

void RunEmitter::emitContent(host::ContentOp content) {
  Value bytes = bytesOf(content.getPlace().getType()), capacity = f.load(f.i64, addressOf(content.getRoom()), 1);
  check(f.compare(arith::CmpIPredicate::sle, bytes, capacity), content, "expected a value inside of its memory", bytes);
}

void RunEmitter::emitScalar(host::ScalarOp scalar) {
  Value address = f.element(scalars, f.i64, scalarCount++);
  f.store(evaluate(scalar.getValue()), address, 0);
  addresses[scalar] = address;
}

Value RunEmitter::bytesOf(host::PlaceType place) {
  RankedTensorType tensor = place.getTensor();
  int64_t constant = tile::elementBytes(tensor.getElementType());
  for (int64_t extent : tensor.getShape())
    constant *= ShapedType::isDynamic(extent) ? 1 : extent;
  OpBuilder &b = f.builder;
  Value product = f.integer(constant), isBad;
  auto note = [&](Value bad) { isBad = isBad ? b.create<arith::OrIOp>(f.loc, isBad, bad).getResult() : bad; };
  for (const SymbolicInt &extent : shapeOf(tensor)) {
    if (extent.isConstant())
      continue;
    Value factor = evaluate(extent);
    note(f.compare(arith::CmpIPredicate::slt, factor, f.integer(0)));
    auto full = b.create<arith::MulSIExtendedOp>(f.loc, product, factor);
    Value sign = b.create<arith::ShRSIOp>(f.loc, full.getLow(), f.integer(63));
    note(f.compare(arith::CmpIPredicate::ne, full.getHigh(), sign));
    product = full.getLow();
  }
  if (!isBad)
    return product;
  return b.create<arith::SelectOp>(f.loc, isBad, f.integer(std::numeric_limits<int64_t>::max()), product);
}

void RunEmitter::reserve(Value room, Value bytes, Value keptBytes) {
  Value status = call(reserveFunction, f.builder.getI32Type(), {room, bytes, keptBytes});
  f.proceedIf(f.compare(arith::CmpIPredicate::eq, status, f.half(0)), leave, status);
}

void RunEmitter::emitReserve(host::ReserveOp op) {
  host::PlaceType type = op.getPlace().getType();
  Value kept = f.integer(0);
  if (auto slices = op.getKept()) {
    graph::Shape shape = type.extents();
    shape[0] = slices->values()[0];
    kept = bytesOf(host::PlaceType::get(graph::tensorType(shape, type.getTensor().getElementType())));
  }
  reserve(addressOf(op.getRoom()), bytesOf(type), kept);
}

void RunEmitter::emitCopy(host::CopyOp copy) {
  Value source = addressOf(copy.getSource()), target = addressOf(copy.getTarget());
  bool mayMeet =
      isa<BlockArgument>(copy.getSource()) || isa_and_nonnull<host::LoopOp>(copy.getSource().getDefiningOp());
  Block *after = mayMeet ? f.function.addBlock() : nullptr;
  if (mayMeet) {
    Value differ = f.builder.create<LLVM::ICmpOp>(f.loc, LLVM::ICmpPredicate::ne, source, target);
    f.proceedIf(differ, after);
  }
  host::PlaceType from = copy.getSource().getType(), to = copy.getTarget().getType();
  Value bytes = bytesOf(from);
  if (!(to.bytes() - from.bytes()).knownNonNegative())
    check(f.compare(arith::CmpIPredicate::sle, bytes, bytesOf(to)), copy, "expected a target as large as the value",
          bytes);
  f.builder.create<LLVM::MemcpyOp>(f.loc, target, source, bytes, /*isVolatile=*/false);
  if (!mayMeet)
    return;
  f.builder.create<cf::BranchOp>(f.loc, after);
  f.builder.setInsertionPointToStart(after);
}

/// The two words of each room.
void RunEmitter::emitExchange(host::ExchangeOp exchange) {
  Value first = addressOf(exchange.getFirst()), second = addressOf(exchange.getSecond());
  for (int64_t word : {0, 1}) {
    Value a = f.load(f.i64, first, word), b = f.load(f.i64, second, word);
    f.store(b, first, word);
    f.store(a, second, word);
  }
}

//===----------------------------------------------------------------------===//
// Calls and errors
//===----------------------------------------------------------------------===//

Value RunEmitter::call(Value function, Type result, ValueRange arguments) {
  SmallVector<Type> types(arguments.getTypes());
  SmallVector<Value> operands{function};
  llvm::append_range(operands, arguments);
  auto op = f.builder.create<LLVM::CallOp>(f.loc, LLVM::LLVMFunctionType::get(result, types), operands);
  return op->getNumResults() ? op->getResult(0) : Value();
}

std::string perpend::target::nodeText(Operation *op) {
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return "node '" + name.getName().str() + "'";
  return op->getName().getStringRef().str();
}

void RunEmitter::check(Value condition, Operation *op, const Twine &text, Value got) {
  Block *refused = f.function.addBlock();
  f.proceedIf(condition, refused);
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(refused);
  Value address = f.text(nodeText(op) + ": " + text.str());
  Value status = call(refuseFunction, f.builder.getI32Type(), {address, got});
  f.builder.create<cf::BranchOp>(f.loc, leave, status);
}
