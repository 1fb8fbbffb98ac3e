//===- Host.cpp - the host dialect ------------------------------------------===//

#include "host/Host.h"

#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "tile/ir/IndexExpressions.h"
#include "tile/kernel/Buffers.h"

#include "perpend_module.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;
using graph::Shape;

//===----------------------------------------------------------------------===//
// Expressions: [n + 1, 4]
//===----------------------------------------------------------------------===//

static ParseResult parseExpressions(OpAsmParser &parser, ShapeAttr &list) {
  Shape values;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return tile::parseExpression(parser, values.emplace_back()); }))
    return failure();
  list = ShapeAttr::get(parser.getContext(), values);
  return success();
}

static void printExpressions(OpAsmPrinter &printer, Operation *, ShapeAttr list) {
  printer << "[";
  tile::printExpressions(printer, list.values(), {});
  printer << "]";
}

static ParseResult parseComparison(OpAsmParser &parser, BoolAttr &isEqual) {
  bool equals = succeeded(parser.parseOptionalKeyword("equals"));
  isEqual = parser.getBuilder().getBoolAttr(equals);
  return equals ? success() : parser.parseKeyword("at_least");
}

static void printComparison(OpAsmPrinter &printer, Operation *, BoolAttr isEqual) {
  printer << (isEqual.getValue() ? "equals" : "at_least");
}

/// `async`: the operation gives an event.
static ParseResult parseAsynchronous(OpAsmParser &parser, Type &event) {
  if (succeeded(parser.parseOptionalKeyword("async")))
    event = EventType::get(parser.getContext());
  return success();
}

static void printAsynchronous(OpAsmPrinter &printer, Operation *, Type event) {
  if (event)
    printer << " async";
}

#include "host/HostDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "host/HostTypes.cpp.inc"
#define GET_OP_CLASSES
#include "host/HostOps.cpp.inc"

void HostDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "host/HostTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "host/HostOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static ParseResult parseTensor(AsmParser &parser, Type &tensor) {
  Shape shape;
  Type elementType;
  auto parseExtent = [&] { return tile::parseExpression(parser, shape.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseExtent) || parser.parseKeyword("x") ||
      parser.parseType(elementType))
    return failure();
  tensor = graph::tensorType(shape, elementType);
  return success();
}

static void printTensor(AsmPrinter &printer, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  printer << "[";
  llvm::interleaveComma(graph::shapeOf(tensor), printer,
                        [&](const SymbolicInt &extent) { printer << tile::extentText(extent); });
  printer << "] x " << tensor.getElementType();
}

PlaceType PlaceType::get(RankedTensorType tensor, StringRef memory) {
  MLIRContext *context = tensor.getContext();
  return Base::get(context, tensor, StringAttr::get(context, memory));
}

Shape PlaceType::extents() const { return graph::shapeOf(getTensor()); }

SymbolicInt PlaceType::bytes() const {
  return graph::elementCount(extents()) * SymbolicInt(tile::elementBytes(getTensor().getElementType()));
}

Type PlaceType::parse(AsmParser &parser) {
  Type tensor;
  std::string memory = hostMemory.str();
  if (parser.parseLess() || parseTensor(parser, tensor) ||
      (succeeded(parser.parseOptionalComma()) && parser.parseKeywordOrString(&memory)) || parser.parseGreater())
    return {};
  return get(llvm::cast<RankedTensorType>(tensor), memory);
}

void PlaceType::print(AsmPrinter &printer) const {
  printer << "<";
  printTensor(printer, getTensor());
  if (getMemory() != hostMemory) {
    printer << ", ";
    printer.printKeywordOrString(getMemory().getValue());
  }
  printer << ">";
}

Type MemoryType::parse(AsmParser &parser) {
  std::string memory;
  if (parser.parseLess() || parser.parseKeywordOrString(&memory) || parser.parseGreater())
    return {};
  return MemoryType::get(parser.getContext(), parser.getBuilder().getStringAttr(memory));
}

void MemoryType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printKeywordOrString(getMemory().getValue());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void SegmentOp::build(OpBuilder &builder, OperationState &state, StringRef name, int64_t offset, ElementsAttr value) {
  build(builder, state, builder.getStringAttr(name), builder.getI64IntegerAttr(offset), value, StringAttr(),
        IntegerAttr(), IntegerAttr(), TypeAttr());
}

RankedTensorType SegmentOp::tensor() {
  if (std::optional<ElementsAttr> value = getValue())
    return cast<RankedTensorType>(value->getShapedType());
  return cast<RankedTensorType>(*getType());
}

int64_t SegmentOp::bytes() { return tensor().getNumElements() * tile::elementBytes(tensor().getElementType()); }

/// C2, of a part of a file.
static LogicalResult verifyFilePart(SegmentOp segment) {
  auto type = segment.getType() ? dyn_cast<RankedTensorType>(*segment.getType()) : RankedTensorType();
  if (segment.getValue() || !segment.getFileOffset() || !segment.getFileBytes() || !type || !type.hasStaticShape() ||
      graph::isHandle(type.getElementType()) || static_cast<int64_t>(*segment.getFileOffset()) < 0)
    return segment.emitOpError("C2: expected a part of a file with the type of a tensor of numbers, and no value");
  if (static_cast<int64_t>(*segment.getFileBytes()) == segment.bytes())
    return success();
  return segment.emitOpError("C2: expected the ")
         << segment.bytes() << " bytes of its type, got " << *segment.getFileBytes();
}

LogicalResult SegmentOp::verify() {
  if (!isInFile() && (!getValue() || !isa<RankedTensorType>(getValue()->getShapedType())))
    return emitOpError("C2: expected a value, or a part of a file");
  if (isInFile() && failed(verifyFilePart(*this)))
    return failure();
  const int64_t alignment = isInFile() ? PERPEND_SEGMENT_PAGE : PERPEND_ALIGNMENT;
  const int64_t rest = isInFile() ? static_cast<int64_t>(*getFileOffset()) % alignment : 0;
  if (position() >= 0 && position() % alignment == rest)
    return success();
  InFlightDiagnostic error = emitOpError("C1: expected an offset that is a multiple of ") << alignment;
  if (rest)
    error << " and " << rest << ", as in the file";
  return error << ", got " << position();
}

LogicalResult StateOp::verify() {
  auto place = dyn_cast<PlaceType>(getCapacity());
  if (!place || !place.getTensor().hasStaticShape())
    return emitOpError("C1: expected a place whose extents are numbers, got ") << getCapacity();
  ArrayRef<int64_t> extents = place.getTensor().getShape();
  uint64_t growing = getGrowing().value_or(0);
  bool isFirst = growing <= extents.size() &&
                 llvm::all_of(extents.take_front(growing), [](int64_t extent) { return extent == 1; });
  if (getGrowing() && (growing >= extents.size() || !isFirst))
    return emitOpError("C2: expected a dimension of ") << place << " that follows extents of 1, got " << growing;
  if (place.getMemory() != hostMemory)
    return emitOpError("C3: expected a capacity in the host's memory, got a place in '")
           << place.getMemory().getValue() << "'"
           << graph::Hint("host.copy brings the value to a buffer in another memory");
  if (getReads() && (!getGrowing() || static_cast<int64_t>(*getReads()) < 0))
    return emitOpError("C4: expected a number of rows that runs read of a state that grows, got ")
           << static_cast<int64_t>(*getReads());
  return success();
}

LogicalResult CopyRowsOp::verify() {
  for (ShapeAttr list : {getCount(), getOffset(), getDistance()})
    if (list.getDims().size() != 1)
      return emitOpError("C1: expected one expression, got ") << list.getDims().size();
  return success();
}

LogicalResult CopySlicesOp::verify() {
  Shape positions = getPositions().getType().extents();
  std::optional<int64_t> depth = positions.empty() ? std::nullopt : positions.back().constant();
  auto element = dyn_cast<IntegerType>(getPositions().getType().getTensor().getElementType());
  if (element && element.getWidth() >= 8 && depth && *depth > 0 &&
      *depth <= static_cast<int64_t>(getTarget().getType().extents().size()))
    return success();
  return emitOpError("C1: expected positions in a value of type ")
         << getTarget().getType() << ", got " << getPositions().getType();
}

PlaceType CopySlicesOp::slice() {
  Shape shape = getTarget().getType().extents();
  return PlaceType::get(graph::tensorType(ArrayRef<SymbolicInt>(shape).drop_front(depth()),
                                          getTarget().getType().getTensor().getElementType()));
}

/// C1: a dimension of an input of the entry.
static LogicalResult verifyInput(Operation *op, Value input, uint64_t dim) {
  auto argument = dyn_cast<BlockArgument>(input);
  auto entry = dyn_cast<EntryOp>(op->getParentOp());
  auto place = dyn_cast<PlaceType>(input.getType());
  if (argument && entry && place && argument.getArgNumber() < entry.inputCount() && dim < place.extents().size())
    return success();
  return op->emitOpError("C1: expected a dimension of an input");
}

LogicalResult ExtentOp::verify() {
  if (static_cast<int64_t>(getFactor()) < 1)
    return emitOpError("C2: expected a factor of at least 1, got ") << static_cast<int64_t>(getFactor());
  return verifyInput(*this, getInput(), getDim());
}

LogicalResult ExpectOp::verify() { return verifyInput(*this, getInput(), getDim()); }

LogicalResult RequireOp::verify() {
  if (!getInput())
    return success();
  bool isNumber = getExtent() && getExtent()->values()[0].isConstant();
  if (!getDim() || !getExtent() ||
      (getBound() != "exactly" && !((getBound() == "least" || getBound() == "most") && isNumber)))
    return emitOpError("C2: expected a dimension and `least` or `most` with a number, or `exactly` with an extent");
  return verifyInput(*this, getInput(), *getDim());
}

LogicalResult RepeatOp::verify() {
  bool areLists = llvm::all_of(getExtents(), [](Attribute list) {
    auto extents = dyn_cast<ShapeAttr>(list);
    return extents && !extents.getDims().empty();
  });
  if (areLists && getSymbols().size() == getExtents().size())
    return success();
  return emitOpError("C1: expected a list of extents for each symbol");
}

LogicalResult SetOp::verify() {
  if (getSymbols().size() == getValues().getDims().size())
    return success();
  return emitOpError("C1: expected a value for each of ")
         << getSymbols().size() << " symbols, got " << getValues().getDims().size();
}

LogicalResult ReserveOp::verify() {
  if (!getKept() || !getPlace().getType().extents().empty())
    return success();
  return emitOpError("C1: expected a dimension, whose slices are kept");
}

LogicalResult ScalarOp::verify() {
  RankedTensorType tensor = getPlace().getType().getTensor();
  if (tensor.hasStaticShape() && tensor.getNumElements() == 1 && tensor.getElementType().isInteger(64))
    return success();
  return emitOpError("C1: expected a place of one i64, got ") << getPlace().getType();
}

LogicalResult ReadOp::verify() {
  RankedTensorType tensor = getPlace().getType().getTensor();
  Type element = tensor.getElementType();
  if (tensor.hasStaticShape() && tensor.getNumElements() == 1 && (element.isInteger(64) || element.isInteger(1)))
    return success();
  return emitOpError("C1: expected a place of one i64 or i1, got ") << getPlace().getType();
}

/// Whether an operation inside the loop gives one of the symbols in `value` another value.
static bool changesIn(LoopOp loop, const SymbolicInt &value) {
  auto mentions = [&](StringRef name) { return value.anySymbol([&](StringRef used) { return used == name; }); };
  auto anyOf = [&](ArrayAttr names) {
    return llvm::any_of(names.getAsRange<StringAttr>(), [&](StringAttr name) { return mentions(name); });
  };
  WalkResult result = loop.getBody().walk([&](Operation *op) {
    bool changes = llvm::TypeSwitch<Operation *, bool>(op)
                       .Case([&](ReadOp read) { return mentions(read.getSymbol()); })
                       .Case([&](LoopOp inner) { return mentions(inner.getIteration()); })
                       .Case([&](SetOp set) { return anyOf(set.getSymbols()); })
                       .Case([&](CallOp call) { return anyOf(call.getDefines()); })
                       .Default([](Operation *) { return false; });
    return changes ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool PlaceOp::isWithinSource() {
  SymbolicInt offset = getOffset().values()[0];
  SymbolicInt rest = cast<PlaceType>(getSource().getType()).bytes() - offset - getPlace().getType().bytes();
  for (auto loop = (*this)->getParentOfType<LoopOp>(); loop && !rest.knownNonNegative();
       loop = loop->getParentOfType<LoopOp>())
    if (std::optional<ShapeAttr> below = loop.getBelow(); below && !changesIn(loop, below->values()[0])) {
      llvm::StringMap<SymbolicInt> iteration; // some number, which is at least 0, less than the last
      iteration[loop.getIteration()] = below->values()[0] - 1 - SymbolicInt::symbol("iterations left");
      rest = rest.substitute(iteration);
    }
  return offset.knownNonNegative() && rest.knownNonNegative();
}

LogicalResult PlaceOp::verify() {
  auto source = dyn_cast<PlaceType>(getSource().getType());
  auto memory = dyn_cast<MemoryType>(getSource().getType());
  StringAttr own = getPlace().getType().getMemory(), given;
  if (source || memory)
    given = source ? source.getMemory() : memory.getMemory();
  if (own != given)
    return emitOpError("C2: expected a place in the memory of its source, got one in '") << own.getValue() << "'";
  SymbolicInt bytes;
  if (source)
    bytes = source.bytes();
  else if (auto buffer = getSource().getDefiningOp<BufferOp>())
    bytes = buffer.getBytes().values()[0];
  else
    return success();
  SymbolicInt end = getOffset().values()[0] + getPlace().getType().bytes();
  bool alwaysRuns = isa<EntryOp>((*this)->getParentOp()); // a loop may have no iterations
  if (alwaysRuns && (end - bytes).knownPositive())
    return emitOpError("C1: expected a place within ") << bytes.str() << " bytes, got one that ends at " << end.str();
  return success();
}

/// A3: only what the host does not wait for begins behind events.
static LogicalResult verifyAfter(Operation *op, ValueRange after, Value event) {
  if (event || after.empty())
    return success();
  return op->emitOpError("A3: expected `async` in front of an operation that begins after events")
         << graph::Hint("host.wait in front of it does the same for the host");
}

LogicalResult CopyOp::verify() { return verifyAfter(*this, getAfter(), getEvent()); }

LogicalResult LaunchOp::verify() {
  if (getDevice().has_value() != getExtents().has_value())
    return emitOpError("C4: expected `over` the extents of a grid where it is `on` a device");
  if (getEvent() && !getDevice())
    return emitOpError("C4: expected a device that runs an asynchronous launch") << graph::Hint("`on` names it");
  return verifyAfter(*this, getAfter(), getEvent());
}

LogicalResult LoopOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getPlaces().getTypes() != getResultTypes() ||
      getBody().getArgumentTypes() != getInitial().getTypes())
    return emitOpError("C1: expected a body that takes and yields what is carried");
  return success();
}

llvm::StringMap<SymbolicInt> LaunchOp::symbolsOf(Operation *kernel) {
  llvm::StringMap<SymbolicInt> values;
  for (auto [name, value] : llvm::zip_equal(graph::symbolsOfKernel(kernel), getSymbols().values()))
    values[name] = value;
  return values;
}

RankedTensorType EntryOp::tensorOf(unsigned argument) {
  if (argument < inputCount())
    return cast<PlaceType>(getArgumentTypes()[argument]).getTensor();
  return cast<RankedTensorType>(cast<TypeAttr>(getOutputTypes()[argument - inputCount()]).getValue());
}

unsigned EntryOp::roomCount() {
  uint64_t end = outputCount();
  for (auto room : getBody().getOps<RoomOp>())
    end = std::max(end, room.getNumber() + 1);
  return end - outputCount();
}

SmallVector<EntryOp, 2> perpend::host::entriesOf(ModuleOp module) {
  SmallVector<EntryOp, 2> entries;
  for (auto entry : module.getOps<EntryOp>())
    entries.insert(entry.getSymName() == "main" ? entries.begin() : entries.end(), entry);
  return entries;
}

static std::vector<std::string> textsIn(ArrayAttr list) {
  std::vector<std::string> texts;
  for (auto text : list.getAsRange<StringAttr>())
    texts.push_back(text.str());
  return texts;
}

std::vector<std::string> EntryOp::symbolNames() { return textsIn(getSymbols()); }
std::vector<std::string> EntryOp::dataSymbolNames() { return textsIn(getDataSymbols()); }

StringRef EntryOp::stateOf(unsigned argument) {
  auto state = getArgAttrOfType<FlatSymbolRefAttr>(argument, stateAttribute);
  return state ? state.getValue() : StringRef();
}

unsigned EntryOp::stateCount() {
  return llvm::count_if(llvm::seq(inputCount()), [&](unsigned input) { return !stateOf(input).empty(); });
}

bool EntryOp::isInPlace(unsigned state) {
  return getArgAttr(getNumArguments() - stateCount() + state, inPlaceAttribute) != nullptr;
}

LogicalResult EntryOp::verify() {
  if (inputCount() > getNumArguments())
    return emitOpError("C1: expected at most ") << getNumArguments() << " inputs, got " << inputCount();
  if (getOutputTypes().size() != outputCount())
    return emitOpError("C1: expected ") << outputCount() << " output types, got " << getOutputTypes().size();
  for (auto [number, type] : llvm::enumerate(getArgumentTypes())) {
    bool isOutput = number >= inputCount();
    if (isOutput && !isa<RankedTensorType>(cast<TypeAttr>(getOutputTypes()[number - inputCount()]).getValue()))
      return emitOpError("C1: expected tensors as output types");
    auto place = dyn_cast<PlaceType>(type);
    if (place ? isOutput && place.getTensor() != tensorOf(number) : !isOutput || !isa<RoomType>(type))
      return emitOpError("C1: expected a place, or for an output a room, as argument ") << number << ", got " << type;
  }
  return success();
}

ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &state) {
  auto makeType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                     function_interface_impl::VariadicFlag,
                     std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(parser, state, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(state.name), makeType,
                                                  getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name));
}

void EntryOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}
