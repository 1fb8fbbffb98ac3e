//===- EmitRun.cpp - generates perpend_run --------------------------------===//

#include "target/cpu/ModuleFunctions.h"
#include "target/cpu/RunEmitter.h"
#include "tile/Attributes.h"

#include "graph/KernelSymbols.h"
#include "graph/Symbols.h"
#include "support/Inequality.h"
#include "tile/CheckedAccesses.h"
#include "tile/KernelAbi.h"
#include "tile/Schedule.h"
#include "tile/Scratch.h"
#include "tile/Variants.h"

#include "perpend_module.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cstddef>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using graph::shapeOf;
using graph::SymbolicInt;
using tile::Place;
using tile::Space;

void perpend::target::emitRun(func::FuncOp main) { RunEmitter(main).run(); }

SmallVector<Place> perpend::target::placesIn(Operation *op, StringRef attribute) {
  ArrayRef<int64_t> pairs = op->getAttrOfType<DenseI64ArrayAttr>(attribute);
  SmallVector<Place> list;
  for (size_t i = 0; i < pairs.size(); i += 2)
    list.push_back({static_cast<Space>(pairs[i]), pairs[i + 1]});
  return list;
}

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

RunEmitter::RunEmitter(func::FuncOp main)
    : main(main), module(main->getParentOfType<ModuleOp>()), names(graph::symbolsOf(main)),
      f(module, "perpend_run", runType(module), main.getLoc()), leave(new Block) {
  leave->addArgument(f.builder.getI32Type(), f.loc);
  frame = f.argument(0);
  loadFrame();
  int64_t most = 1, mostExtents = 1, mostSymbols = 1;
  main.walk([&](Operation *op) {
    if (!isa<graph::CallKernelOp, graph::CallLibraryOp>(op))
      return;
    int64_t scratch = 0;
    if (auto call = dyn_cast<graph::CallKernelOp>(op))
      for (func::FuncOp function : functionsOf(call))
        scratch = std::max<int64_t>(scratch, tile::KernelAbi::scratchCountOf(function));
    most = std::max<int64_t>(most, op->getNumOperands() + op->getNumResults() + scratch);
    mostSymbols = std::max<int64_t>(mostSymbols, graph::symbolValuesAt(op).size());
    int64_t ranks = 0;
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        ranks += cast<RankedTensorType>(type).getRank();
    mostExtents = std::max(mostExtents, ranks);
  });
  int64_t slotCount = main->getAttrOfType<IntegerAttr>(tile::slotsAttribute).getInt();
  int64_t listed = most + 3; // plus symbols, address of scratch memory, number of its parts
  if (llvm::any_of(module.getOps<func::FuncOp>(), tile::isChecked)) {
    record = f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, f.i64,
                                              f.integer(tile::recordedMemories(most) * tile::recordWords));
    listed += 1 + most; // plus the record, and an extent for each buffer
  }
  list = f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, f.pointer, f.integer(listed));
  kernelSymbols = f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, f.i64, f.integer(mostSymbols));
  extents = f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, f.i64, f.integer(mostExtents));
  slots = f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, f.pointer, f.integer(slotCount + 1));
  counters = f.builder.create<LLVM::AllocaOp>(f.loc, f.pointer, f.i64, f.integer(slotCount + 1));
}

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

void RunEmitter::run() {
  Block &body = main.getBody().front();
  emitOperators(body);
  emitResults(body.getTerminator());
  f.builder.create<func::ReturnOp>(f.loc, f.half(0));
  f.function.getBody().push_back(leave);
  f.builder.setInsertionPointToStart(leave);
  f.builder.create<func::ReturnOp>(f.loc, leave->getArgument(0));
}

void RunEmitter::emitOperators(Block &block) {
  for (Operation &op : block.without_terminator())
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](graph::CallKernelOp call) { emitCall(call); })
        .Case([&](graph::CallLibraryOp call) { emitLibrary(call); })
        .Case([&](graph::MeasureOp measure) { emitMeasure(measure); })
        .Case([&](graph::RequireOp require) { emitRequire(require); })
        .Case([&](graph::IfOp op) { emitIf(op); })
        .Case([&](graph::LoopOp loop) { emitLoop(loop); });
}

/// Copies results that could not be computed in place, and reports the sizes of those whose extents depend on data.
void RunEmitter::emitResults(Operation *terminator) {
  std::vector<std::string> dataSymbols = graph::dataSymbolsOf(main);
  SmallVector<Place> sources = placesIn(terminator);
  int64_t dim = 0;
  for (auto [number, type] : llvm::enumerate(main.getResultTypes())) {
    graph::Shape shape = shapeOf(cast<RankedTensorType>(type));
    bool isFromData = graph::mentionsAny(shape, dataSymbols);
    copy({isFromData ? Space::Growing : Space::Output, static_cast<int64_t>(number)}, sources[number], type);
    for (const SymbolicInt &extent : shape) {
      if (isFromData)
        f.store(evaluate(extent), outputDims, dim);
      ++dim;
    }
  }
}

/// The kernel's variants in order, then the kernel.
SmallVector<func::FuncOp, 2> RunEmitter::functionsOf(graph::CallKernelOp call) {
  auto kernel = module.lookupSymbol<func::FuncOp>(call.getKernel());
  SmallVector<func::FuncOp, 2> functions = tile::variantsOf(kernel);
  functions.push_back(kernel);
  return functions;
}

void RunEmitter::emitCall(graph::CallKernelOp call) {
  SmallVector<Place> places = placesIn(call);
  for (auto [output, place] : llvm::zip(call.getOutputs(), ArrayRef(places).take_back(call.getOutputs().size())))
    prepare(place, output.getType());
  for (auto [number, place] : llvm::enumerate(places))
    f.store(addressOf(place), list, number);
  for (auto [number, value] : llvm::enumerate(graph::symbolValuesAt(call)))
    f.store(evaluate(value), kernelSymbols, number);
  f.store(kernelSymbols, list, places.size()); // order of tile/KernelAbi.h
  SmallVector<func::FuncOp, 2> functions = functionsOf(call);
  Block *after = functions.size() > 1 ? f.function.addBlock() : nullptr;
  for (func::FuncOp variant : ArrayRef(functions).drop_back()) {
    Block *otherwise = f.function.addBlock();
    f.proceedIf(isInRange(call, variant), otherwise);
    emitCall(call, variant);
    f.builder.create<cf::BranchOp>(f.loc, after);
    f.builder.setInsertionPointToStart(otherwise);
  }
  emitCall(call, functions.back());
  if (after) {
    f.builder.create<cf::BranchOp>(f.loc, after);
    f.builder.setInsertionPointToStart(after);
  }
}

Value RunEmitter::isInRange(graph::CallKernelOp call, func::FuncOp variant) {
  support::SymbolRange range = tile::rangeOf(variant);
  Value value = evaluate(graph::symbolsAt(call, variant).lookup(range.symbol));
  Value holds = f.compare(arith::CmpIPredicate::sge, value, f.integer(range.least));
  if (!range.most)
    return holds;
  Value isBelow = f.compare(arith::CmpIPredicate::sle, value, f.integer(*range.most));
  return f.builder.create<arith::AndIOp>(f.loc, holds, isBelow);
}

/// The argument list already has the addresses and symbols.
void RunEmitter::emitCall(graph::CallKernelOp call, func::FuncOp kernel) {
  if (tile::isChecked(kernel))
    prepareRecord(call, kernel);
  SymbolicInt extent = kernel->getAttrOfType<graph::ShapeAttr>(tile::extentAttribute).values()[0];
  Value units = evaluate(extent.substitute(graph::symbolsAt(call, kernel)));
  if (tile::hasScratch(kernel))
    prepareScratch(call, kernel, units);
  std::string entryName = (kernel.getSymName() + "_entry").str();
  auto entry = module.lookupSymbol<func::FuncOp>(entryName);
  Value function = f.builder.create<func::ConstantOp>(f.loc, entry.getFunctionType(), entryName);
  Value address = f.builder.create<UnrealizedConversionCastOp>(f.loc, f.pointer, function).getResult(0);
  Value index = f.half(kernel->getAttrOfType<IntegerAttr>(tile::numberAttribute).getInt());
  tile::Schedule numbers = tile::Schedule::of(kernel);
  int64_t grain = std::max<int64_t>(1, numbers.grain);
  this->call(parallel, LLVM::LLVMVoidType::get(main.getContext()),
             {frame, index, address, list, units, f.integer(numbers.isEstimate ? -grain : grain)});
  if (tile::isChecked(kernel))
    checkRecord(call, kernel);
}

/// Appends the address of the kernel's scratch memory and the number of its parts to the argument list; marks all parts
/// free.
void RunEmitter::prepareScratch(graph::CallKernelOp call, func::FuncOp kernel, Value units) {
  Place place = placesIn(call, tile::scratchPlaceAttribute)[0];
  Value count = f.partCount(units, f.threads(symbols, names));
  if (place.space == Space::Growing) {
    SymbolicInt bytes = tile::Scratch::of(kernel).plannedBytes().substitute(graph::symbolsAt(call, kernel));
    reserve(place, f.partedBytes(f.evaluateOr(bytes, symbols, names, -1), count), f.integer(0));
  }
  Value address = addressOf(place);
  int64_t position = call.getNumOperands() + call.getNumResults() + 1;
  f.store(address, list, position);
  f.store(count, list, position + 1);
  Value isFree = f.builder.create<arith::ConstantIntOp>(f.loc, 0, 8);
  f.builder.create<LLVM::MemsetOp>(f.loc, address, isFree, count, /*isVolatile=*/false);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

void RunEmitter::setSymbol(StringRef name, Value value) {
  f.store(value, symbols, llvm::find(names, name) - names.begin());
}

void RunEmitter::emitMeasure(graph::MeasureOp measure) {
  Value value = f.load(f.i64, addressOf(placesIn(measure)[0]), 0);
  check(f.compare(arith::CmpIPredicate::sge, value, f.integer(0)), measure,
        "expected a size of at least 0 for " + measure.getSymbol(), value);
  setSymbol(measure.getSymbol(), value);
}

void RunEmitter::emitRequire(graph::RequireOp require) {
  SymbolicInt expression = require.getValue().values()[0];
  support::Inequality inequality(expression);
  check(f.compare(arith::CmpIPredicate::sge, evaluate(expression), f.integer(0)), require,
        require.getMessage() + ": expected " + inequality.text, evaluate(inequality.left));
}

namespace {
/// An extent that replaces another.
struct ExtentPair {
  unsigned value, dim;
  SymbolicInt given, expected;
  std::string text() const {
    return ("value " + Twine(value) + ", dimension " + Twine(dim) + ": expected " + expected.str()).str();
  }
};
} // namespace

static SmallVector<ExtentPair> pairsOf(TypeRange given, TypeRange expected) {
  SmallVector<ExtentPair> pairs;
  for (unsigned value = 0; value < given.size(); ++value) {
    graph::Shape from = shapeOf(cast<RankedTensorType>(given[value]));
    graph::Shape to = shapeOf(cast<RankedTensorType>(expected[value]));
    for (unsigned dim = 0; dim < from.size(); ++dim)
      pairs.push_back({value, dim, from[dim], to[dim]});
  }
  return pairs;
}

void RunEmitter::checkExtents(Operation *op, TypeRange given, TypeRange expected, Names follow, Value exempt) {
  for (const ExtentPair &pair : pairsOf(given, expected))
    if (pair.given != pair.expected && !graph::mentionsAny(pair.expected, follow)) {
      Value got = evaluate(pair.given);
      Value isRight = f.compare(arith::CmpIPredicate::eq, got, evaluate(pair.expected));
      if (exempt)
        isRight = f.builder.create<arith::OrIOp>(f.loc, isRight, exempt);
      check(isRight, op, pair.text(), got);
    }
}

void RunEmitter::followExtents(Operation *op, TypeRange given, TypeRange expected, Names follow) {
  SmallVector<std::pair<ExtentPair, Value>> values; // all are computed before any symbol changes
  for (const ExtentPair &pair : pairsOf(given, expected))
    if (graph::mentionsAny(pair.expected, follow))
      values.emplace_back(pair, evaluate(pair.given));
  llvm::StringMap<SymbolicInt> defined;
  for (auto &[pair, value] : values)
    for (StringAttr symbol : follow)
      if (pair.expected == SymbolicInt::symbol(symbol.str()) && defined.try_emplace(symbol, pair.given).second)
        setSymbol(symbol, value);
  for (auto &[pair, value] : values) {
    auto known = defined.find(pair.expected.str());
    if (known == defined.end() || known->second != pair.given)
      check(f.compare(arith::CmpIPredicate::eq, value, evaluate(pair.expected)), op, pair.text(), value);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A perpend_buffer is two words: the address, then the capacity.
static_assert(offsetof(perpend_buffer, data) == 0 && offsetof(perpend_buffer, capacityBytes) == 8 &&
              sizeof(perpend_buffer) == 16);
Value RunEmitter::growingEntry(Place place) { return f.element(growing, f.i64, 2 * place.number); }

Value RunEmitter::addressOf(Place place) {
  switch (place.space) {
  case Space::Input:
    return f.loadPointer(inputs, place.number);
  case Space::Output:
    return f.loadPointer(outputs, place.number);
  case Space::Weights:
    return f.bytesAfter(weights, f.integer(place.number));
  case Space::Arena:
    return f.bytesAfter(arena, f.load(f.i64, offsets, place.number));
  case Space::Growing:
    return f.loadPointer(growingEntry(place), 0);
  case Space::Slot:
    return f.loadPointer(slots, place.number);
  }
  llvm_unreachable("a buffer space");
}

Value RunEmitter::bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
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

void RunEmitter::reserve(Place place, Value bytes, Value keptBytes) {
  Value status = call(reserveFunction, f.builder.getI32Type(), {growingEntry(place), bytes, keptBytes});
  f.proceedIf(f.compare(arith::CmpIPredicate::eq, status, f.half(0)), leave, status);
}

void RunEmitter::prepare(Place place, Type type) {
  if (place.space == Space::Growing)
    reserve(place, bytesOf(type), f.integer(0));
}

void RunEmitter::copyBytes(Value target, Value source, Value bytes) {
  f.builder.create<LLVM::MemcpyOp>(f.loc, target, source, bytes, /*isVolatile=*/false);
}

void RunEmitter::copy(Place target, Place source, Type type) {
  if (target == source)
    return;
  prepare(target, type);
  copyBytes(addressOf(target), addressOf(source), bytesOf(type));
}

Value RunEmitter::loadFlag(Place place) {
  Value byte = f.load(f.builder.getI8Type(), addressOf(place), 0);
  Value zero = f.builder.create<arith::ConstantIntOp>(f.loc, 0, 8);
  return f.compare(arith::CmpIPredicate::ne, byte, zero);
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
