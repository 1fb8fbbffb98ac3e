//===- Tile.cpp - the tile dialect ------------------------------------------===//

#include "tile/Tile.h"

#include "graph/Requirements.h"
#include "graph/Scalars.h"
#include "graph/Shapes.h"
#include "graph/primitives/LoopNest.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend::tile;
using perpend::graph::ElementEmitter;
using perpend::graph::ElementKind;
using perpend::graph::Requirements;
using perpend::graph::Shape;
using perpend::graph::shapeOf;
using perpend::graph::SymbolicInt;

#include "tile/TileDialect.cpp.inc"
#include "tile/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "tile/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tile/TileOps.cpp.inc"
      >();
}

/// Whether elements of these types can be multiplied word by word. Buffers have no signs.
static bool areWordTypes(Type left, Type right, Type result) {
  if (right.isF32())
    return left.isF32() && result.isF32();
  bool isPair = right.isSignlessInteger(16) && left == right;
  bool isBytes = right.isSignlessInteger(8) && left.isInteger(8);
  return (isPair || isBytes) && result.isSignlessInteger(32);
}

/// Each accumulator of a block is an operation: more than any schedule takes.
static constexpr int64_t mostBlockRows = 64, mostBlockColumns = 4096;

LogicalResult MicroKernelOp::verify() {
  if (getCounts().size() != 2 || getASteps().size() != 2 || getBSteps().size() != 2)
    return emitOpError("C1: expected two counts and two steps for a and b");
  if (getRows() < 1 || getCols() < 1 || getRows() > mostBlockRows || getCols() > mostBlockColumns)
    return emitOpError("C2: expected a block of at least 1 x 1 and at most ")
           << mostBlockRows << " x " << mostBlockColumns << ", got " << getRows() << " x " << getCols();
  auto element = [](Value buffer) { return cast<BaseMemRefType>(buffer.getType()).getElementType(); };
  if (!areWordTypes(element(getA()), element(getB()), element(getC())))
    return emitOpError("C3: expected buffers of f32, or of i16 or i8 with sums of i32, got ")
           << element(getA()) << ", " << element(getB()) << " and " << element(getC());
  return success();
}

LogicalResult CallIntrinsicOp::verify() {
  if (getBuffers().empty() || getBases().size() != getBuffers().size())
    return emitOpError("C1: expected a base for each of at least one buffer, got ")
           << getBases().size() << " for " << getBuffers().size();
  return success();
}

void CallIntrinsicOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &buffer : getBuffersMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &buffer);
  effects.emplace_back(MemoryEffects::Write::get(), effects.back().getEffectValue<OpOperand *>());
}

LogicalResult DotOp::verify() {
  VectorType words = cast<VectorType>(getLhs().getType()), sums = cast<VectorType>(getSums().getType());
  if (words.getNumElements() == sums.getNumElements() * elementsPerWord(words.getElementType()))
    return success();
  return emitOpError("C1: expected ") << sums.getNumElements() << " words of 32 bits, got " << words;
}

//===----------------------------------------------------------------------===//
// Intrinsics on tensors
//===----------------------------------------------------------------------===//

/// The left operand of bytes is unsigned.
static LogicalResult verifyElements(Operation *op) {
  auto element = [](Value value) { return perpend::graph::tensorTypeOf(value).getElementType(); };
  Type left = element(op->getOperand(0)), right = element(op->getOperand(1)), result = element(op->getResult(0));
  if (areWordTypes(left, right, result) && left.isUnsignedInteger() == right.isInteger(8))
    return success();
  return op->emitOpError("C2: expected elements of f32, i16 or ui8 and i8, and sums of f32 or i32, got ")
         << left << ", " << right << " and " << result;
}

/// The columns of a panel; nullopt: it does not consist of whole words.
static std::optional<int64_t> panelColumns(Value packed) {
  RankedTensorType type = perpend::graph::tensorTypeOf(packed);
  int64_t group = elementsPerWord(type.getElementType()), width = type.getShape().back();
  bool isWhole = width > 0 && width % group == 0 && width / group <= mostBlockColumns;
  return isWhole ? std::optional(width / group) : std::nullopt;
}

/// Elements, panels, and extents that contradict what the operator requires of them.
static LogicalResult verifyPacked(perpend::graph::RequirementInterface op) {
  if (failed(verifyElements(op)))
    return failure();
  Value packed = op->getOperand(1);
  if (!panelColumns(packed))
    return op->emitOpError("C3: expected panels of whole words and at most 4096 columns, got ") << packed.getType();
  Requirements requirements;
  op.addRequirements(requirements);
  for (const SymbolicInt &value : requirements.list)
    if (std::optional<int64_t> high = value.upperBound(); high && *high < 0)
      return op->emitOpError("C4: operands of shapes ")
             << perpend::graph::toString(shapeOf(op->getOperand(0))) << " and "
             << perpend::graph::toString(shapeOf(packed)) << " do not fit a result of shape "
             << perpend::graph::toString(shapeOf(op->getResult(0)));
  return success();
}

LogicalResult MatmulOp::verify() {
  size_t rank = shapeOf(getLhs()).size();
  if (rank < 2 || shapeOf(getRhs()).size() != rank + 1 || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ranks r, r + 1 and r with r >= 2");
  return verifyPacked(*this);
}

void MatmulOp::addRequirements(Requirements &requirements) {
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs()), result = shapeOf(getResult());
  size_t row = lhs.size() - 2;
  for (size_t dim = 0; dim <= row; ++dim)
    requirements.addEqual(lhs[dim], result[dim]);
  for (size_t dim = 0; dim < row; ++dim)
    requirements.addEqual(lhs[dim], rhs[dim]);
  int64_t group = elementsPerWord(perpend::graph::tensorTypeOf(getRhs()).getElementType());
  requirements.addEqual(lhs.back(), rhs[row + 1] * SymbolicInt(group));
  requirements.addNonNegative(rhs[row] * SymbolicInt(panelColumns(getRhs()).value_or(0)) - result.back());
}

LogicalResult ConvOp::verify() {
  if (shapeOf(getInput()).size() != 4 || shapeOf(getFilter()).size() != 6 || getStrides().size() != 2 ||
      getDilations().size() != 2)
    return emitOpError("C1: expected operands of ranks 4 and 6, and two strides and dilations");
  auto isStep = [](int64_t step) { return step >= 1 && step <= std::numeric_limits<int32_t>::max(); };
  if (!llvm::all_of(getStrides(), isStep) || !llvm::all_of(getDilations(), isStep))
    return emitOpError("C3: expected strides and dilations from 1 to 2147483647");
  if (shapeOf(getFilter())[0].constant().value_or(0) < 1)
    return emitOpError("C3: expected a number of groups, got ") << shapeOf(getFilter())[0].str();
  if (shapeOf(getResult()).size() != (isGrouped() ? 5 : 4))
    return emitOpError("C1: expected a result of rank 4, or 5 with more than one group");
  return verifyPacked(*this);
}

bool ConvOp::isGrouped() { return shapeOf(getFilter())[0] != SymbolicInt(1); }

SymbolicInt perpend::tile::lengthOfWindows(const SymbolicInt &count, int64_t stride, const SymbolicInt &size,
                                           int64_t dilation) {
  return (count - SymbolicInt(1)) * SymbolicInt(stride) + (size - SymbolicInt(1)) * SymbolicInt(dilation) +
         SymbolicInt(1);
}

void ConvOp::addRequirements(Requirements &requirements) {
  Shape input = shapeOf(getInput()), filter = shapeOf(getFilter()), result = shapeOf(getResult());
  int64_t group = elementsPerWord(perpend::graph::tensorTypeOf(getFilter()).getElementType());
  requirements.addEqual(input[0], result[0]);
  requirements.addEqual(input[3], filter[0] * filter[4] * SymbolicInt(group));
  if (isGrouped())
    requirements.addEqual(result[3], filter[0]);
  requirements.addNonNegative(filter[1] * SymbolicInt(panelColumns(getFilter()).value_or(0)) - result.back());
  for (unsigned i = 0; i < 2; ++i)
    requirements.addNonNegative(input[1 + i] -
                                lengthOfWindows(result[1 + i], getStrides()[i], filter[2 + i], getDilations()[i]));
}

ElementKind MatmulOp::elementKind() { return ElementKind::Reduction; }
ElementKind ConvOp::elementKind() { return ElementKind::Reduction; }
bool MatmulOp::needsStoredOperands() { return true; }
bool ConvOp::needsStoredOperands() { return true; }

namespace {
/// Index arithmetic on packed operands, and products of their elements.
struct PackedElements {
  OpBuilder &builder;
  Location loc;
  ElementEmitter &emitter;
  Value lhs, rhs;
  Type sumType;
  int64_t group;

  PackedElements(OpBuilder &builder, Operation *op, ElementEmitter &emitter)
      : builder(builder), loc(op->getLoc()), emitter(emitter), lhs(op->getOperand(0)), rhs(op->getOperand(1)),
        sumType(perpend::graph::tensorTypeOf(op->getResult(0)).getElementType()),
        group(elementsPerWord(perpend::graph::tensorTypeOf(rhs).getElementType())) {}

  Value extent(const SymbolicInt &value) { return emitter.extent(builder, loc, value); }
  Value add(Value x, Value y) { return builder.createOrFold<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return builder.createOrFold<arith::MulIOp>(loc, x, y); }
  Value div(Value x, Value y) { return builder.createOrFold<arith::DivUIOp>(loc, x, y); }
  Value rem(Value x, Value y) { return builder.createOrFold<arith::RemUIOp>(loc, x, y); }

  /// The index within a panel of words: k / g, and (column * g + k mod g).
  std::pair<Value, Value> inPanel(Value k, Value column) {
    if (group == 1)
      return {k, column};
    Value size = extent(SymbolicInt(group));
    return {div(k, size), add(mul(column, size), rem(k, size))};
  }

  Value multiplyAdd(ValueRange left, ValueRange right, Value carried) {
    Value x = perpend::graph::extend(builder, loc, emitter.element(builder, loc, lhs, left), lhs, sumType);
    Value y = perpend::graph::extend(builder, loc, emitter.element(builder, loc, rhs, right), rhs, sumType);
    return perpend::graph::multiplyAdd(builder, loc, x, y, carried);
  }
};
} // namespace

static Value zeroOf(OpBuilder &builder, Location loc, Value result) {
  Type sum = perpend::graph::tensorTypeOf(result).getElementType();
  return perpend::graph::initialValue(builder, loc, perpend::graph::ReductionKind::Sum, sum);
}

std::optional<unsigned> MatmulOp::followingDim(OpOperand &operand, unsigned dim) {
  unsigned own = operand.getOperandNumber() == 0 ? 1 : 3; // dimensions of a row, or of a panel's matrix
  return dim + own < static_cast<unsigned>(perpend::graph::tensorTypeOf(operand.get()).getRank()) ? std::optional(dim)
                                                                                                  : std::nullopt;
}

Shape MatmulOp::reducedExtents() { return {shapeOf(getLhs()).back()}; }

Value MatmulOp::initial(OpBuilder &builder, Location loc) { return zeroOf(builder, loc, getResult()); }

Value MatmulOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                           ElementEmitter &emitter) {
  PackedElements packed(builder, *this, emitter);
  Value cols = packed.extent(floorDiv(shapeOf(getRhs()).back(), SymbolicInt(packed.group)));
  SmallVector<Value> left(index.drop_back()), right(index.drop_back(2));
  left.push_back(reduced.front());
  auto [word, place] = packed.inPanel(reduced.front(), packed.rem(index.back(), cols));
  right.append({packed.div(index.back(), cols), word, place});
  return packed.multiplyAdd(left, right, carried);
}

Value MatmulOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return perpend::graph::emitReduction(builder, loc, *this, index, emitter);
}

Shape ConvOp::reducedExtents() {
  Shape filter = shapeOf(getFilter());
  int64_t group = elementsPerWord(perpend::graph::tensorTypeOf(getFilter()).getElementType());
  return {filter[2], filter[3], filter[4] * SymbolicInt(group)};
}

Value ConvOp::initial(OpBuilder &builder, Location loc) { return zeroOf(builder, loc, getResult()); }

Value ConvOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                         ElementEmitter &emitter) {
  PackedElements packed(builder, *this, emitter);
  Shape filter = shapeOf(getFilter());
  Value cols = packed.extent(floorDiv(filter[5], SymbolicInt(packed.group)));
  Value group = isGrouped() ? index[3] : packed.extent(SymbolicInt(0));
  auto at = [&](unsigned dim) {
    Value scaled = packed.mul(index[1 + dim], packed.extent(SymbolicInt(getStrides()[dim])));
    return packed.add(scaled, packed.mul(reduced[dim], packed.extent(SymbolicInt(getDilations()[dim]))));
  };
  Value y = at(0), x = at(1), channel = reduced[2];
  if (isGrouped())
    channel = packed.add(packed.mul(group, packed.extent(reducedExtents()[2])), channel);
  auto [word, place] = packed.inPanel(reduced[2], packed.rem(index.back(), cols));
  return packed.multiplyAdd({index[0], y, x, channel},
                            {group, packed.div(index.back(), cols), reduced[0], reduced[1], word, place}, carried);
}

Value ConvOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return perpend::graph::emitReduction(builder, loc, *this, index, emitter);
}
