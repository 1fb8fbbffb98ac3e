//===- Tile.cpp - the tile dialect ----------------------------------------===//

#include "tile/ir/Tile.h"

#include "graph/Requirements.h"
#include "graph/Scalars.h"
#include "graph/Shapes.h"
#include "graph/primitives/LoopNest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

static constexpr int64_t mostBlockColumns = 4096, mostElementsOfWord = 4096;

LogicalResult CallIntrinsicOp::verify() {
  if (getBuffers().empty() || getBases().size() != getBuffers().size())
    return emitOpError("C1: expected a base for each of at least one buffer, got ")
           << getBases().size() << " for " << getBuffers().size();
  if (bool(getAhead()) != (getParts().value_or(0) > 0) || (getAhead() && getBuffers().size() < 2))
    return emitOpError("C2: expected a position ahead, of the second buffer, together with a number of parts");
  return success();
}

void CallIntrinsicOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &buffer : getBuffersMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &buffer);
  effects.emplace_back(MemoryEffects::Write::get(), effects.back().getEffectValue<OpOperand *>());
}

//===----------------------------------------------------------------------===//
// Contractions on packed operands
//===----------------------------------------------------------------------===//

bool perpend::tile::holdsAll(Type type, Type other) {
  unsigned bits = type.getIntOrFloatBitWidth(), otherBits = other.getIntOrFloatBitWidth();
  bool isFloat = isa<FloatType>(type) && isa<FloatType>(other) && otherBits >= 16;
  bool isInteger = type.isSignlessInteger() && isa<IntegerType>(other) && otherBits >= 8;
  return type == other || ((isFloat || isInteger) && otherBits < bits);
}

/// The type of the sum must support addition and hold every value of the operands' types.
static LogicalResult verifyElements(Operation *op) {
  auto element = [](Value value) { return perpend::graph::tensorTypeOf(value).getElementType(); };
  Type left = element(op->getOperand(0)), right = element(op->getOperand(1)), result = element(op->getResult(0));
  bool isSum = result.isSignlessIntOrFloat() && result.getIntOrFloatBitWidth() >= 16;
  if (isSum && holdsAll(result, left) && holdsAll(result, right))
    return success();
  return op->emitOpError("C2: expected operands of floats or integers and sums that hold them, got ")
         << left << ", " << right << " and " << result;
}

/// The panel of a packed operand that has `rank` dimensions, or one more for the elements of a word.
static std::optional<Panel> panelOf(Value packed, unsigned rank) {
  ArrayRef<int64_t> shape = perpend::graph::tensorTypeOf(packed).getShape();
  Panel panel{shape[rank - 1], shape.size() > rank ? shape[rank] : 1};
  bool isPanel =
      panel.columns > 0 && panel.columns <= mostBlockColumns && panel.group > 0 && panel.group <= mostElementsOfWord;
  return isPanel ? std::optional(panel) : std::nullopt;
}

/// Verifies element types, panels, and extents that contradict the operator's requirements.
template <typename Op> static LogicalResult verifyPacked(Op op) {
  if (failed(verifyElements(op)))
    return failure();
  Value packed = op->getOperand(1);
  if (!op.panel())
    return op->emitOpError("C3: expected panels of 1 to ")
           << mostBlockColumns << " columns, of words of 1 to " << mostElementsOfWord << " elements, got "
           << packed.getType();
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
  size_t rank = shapeOf(getLhs()).size(), packedRank = shapeOf(getRhs()).size();
  if (rank < 2 || packedRank < rank + 1 || packedRank > rank + 2 || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ranks r, r + 1 (or r + 2, of words) and r with r >= 2");
  return verifyPacked(*this);
}

std::optional<Panel> MatmulOp::panel() { return panelOf(getRhs(), shapeOf(getLhs()).size() + 1); }

void MatmulOp::addRequirements(Requirements &requirements) {
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs()), result = shapeOf(getResult());
  size_t row = lhs.size() - 2;
  for (size_t dim = 0; dim <= row; ++dim)
    requirements.addEqual(lhs[dim], result[dim]);
  for (size_t dim = 0; dim < row; ++dim)
    requirements.addEqual(lhs[dim], rhs[dim]);
  Panel one = *panel();
  requirements.addEqual(lhs.back(), rhs[row + 1] * SymbolicInt(one.group));
  requirements.addNonNegative(rhs[row] * SymbolicInt(one.columns) - result.back());
}

LogicalResult ConvOp::verify() {
  size_t filterRank = shapeOf(getFilter()).size();
  if (shapeOf(getInput()).size() != 4 || filterRank < 6 || filterRank > 7 || getStrides().size() != 2 ||
      getDilations().size() != 2)
    return emitOpError("C1: expected operands of ranks 4 and 6 (or 7, of words), and two strides and dilations");
  auto isStep = [](int64_t step) { return step >= 1 && step <= std::numeric_limits<int32_t>::max(); };
  if (!llvm::all_of(getStrides(), isStep) || !llvm::all_of(getDilations(), isStep))
    return emitOpError("C3: expected strides and dilations from 1 to 2147483647");
  if (shapeOf(getFilter())[0].constant().value_or(0) < 1)
    return emitOpError("C3: expected a number of groups, got ") << shapeOf(getFilter())[0].str();
  if (shapeOf(getResult()).size() != (isGrouped() ? 5 : 4))
    return emitOpError("C1: expected a result of rank 4, or 5 with more than one group");
  return verifyPacked(*this);
}

std::optional<Panel> ConvOp::panel() { return panelOf(getFilter(), 6); }
bool ConvOp::isGrouped() { return shapeOf(getFilter())[0] != SymbolicInt(1); }

SymbolicInt perpend::tile::lengthOfWindows(const SymbolicInt &count, int64_t stride, const SymbolicInt &size,
                                           int64_t dilation) {
  return (count - SymbolicInt(1)) * SymbolicInt(stride) + (size - SymbolicInt(1)) * SymbolicInt(dilation) +
         SymbolicInt(1);
}

void ConvOp::addRequirements(Requirements &requirements) {
  Shape input = shapeOf(getInput()), filter = shapeOf(getFilter()), result = shapeOf(getResult());
  Panel one = *panel();
  requirements.addEqual(input[0], result[0]);
  requirements.addEqual(input[3], filter[0] * filter[4] * SymbolicInt(one.group));
  if (isGrouped())
    requirements.addEqual(result[3], filter[0]);
  requirements.addNonNegative(filter[1] * SymbolicInt(one.columns) - result.back());
  for (unsigned i = 0; i < 2; ++i)
    requirements.addNonNegative(input[1 + i] -
                                lengthOfWindows(result[1 + i], getStrides()[i], filter[2 + i], getDilations()[i]));
}

ElementKind MatmulOp::elementKind() { return ElementKind::Reduction; }
ElementKind ConvOp::elementKind() { return ElementKind::Reduction; }
bool MatmulOp::needsStoredOperands() { return true; }
bool ConvOp::needsStoredOperands() { return true; }

namespace {
/// Emits index arithmetic on packed operands and products of their elements.
struct PackedElements {
  OpBuilder &builder;
  Location loc;
  ElementEmitter &emitter;
  Value lhs, rhs;
  Type sumType;
  Panel panel;

  PackedElements(OpBuilder &builder, Operation *op, Panel panel, ElementEmitter &emitter)
      : builder(builder), loc(op->getLoc()), emitter(emitter), lhs(op->getOperand(0)), rhs(op->getOperand(1)),
        sumType(perpend::graph::tensorTypeOf(op->getResult(0)).getElementType()), panel(panel) {}

  Value extent(const SymbolicInt &value) { return emitter.extent(builder, loc, value); }
  Value add(Value x, Value y) { return builder.createOrFold<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return builder.createOrFold<arith::MulIOp>(loc, x, y); }
  Value div(Value x, Value y) { return builder.createOrFold<arith::DivUIOp>(loc, x, y); }
  Value rem(Value x, Value y) { return builder.createOrFold<arith::RemUIOp>(loc, x, y); }

  /// The indices within a panel: k / g, n mod cols and, if words have several elements, k mod g.
  SmallVector<Value> inPanel(Value k, Value column) {
    Value place = rem(column, extent(SymbolicInt(panel.columns))), size = extent(SymbolicInt(panel.group));
    return panel.group == 1 ? SmallVector<Value>{k, place} : SmallVector<Value>{div(k, size), place, rem(k, size)};
  }
  Value panelOf(Value column) { return div(column, extent(SymbolicInt(panel.columns))); }

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
  size_t rank = shapeOf(getLhs()).size(), own = operand.getOperandNumber() == 0 ? 1 : 2; // depth; rows, depth
  return dim + own < rank ? std::optional(dim) : std::nullopt;
}

Shape MatmulOp::reducedExtents() { return {shapeOf(getLhs()).back()}; }

Value MatmulOp::initial(OpBuilder &builder, Location loc) { return zeroOf(builder, loc, getResult()); }

Value MatmulOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                           ElementEmitter &emitter) {
  PackedElements packed(builder, *this, *panel(), emitter);
  SmallVector<Value> left(index.drop_back()), right(index.drop_back(2));
  left.push_back(reduced.front());
  right.push_back(packed.panelOf(index.back()));
  llvm::append_range(right, packed.inPanel(reduced.front(), index.back()));
  return packed.multiplyAdd(left, right, carried);
}

Value MatmulOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return perpend::graph::emitReduction(builder, loc, *this, index, emitter);
}

Shape ConvOp::reducedExtents() {
  Shape filter = shapeOf(getFilter());
  return {filter[2], filter[3], filter[4] * SymbolicInt(panel()->group)};
}

Value ConvOp::initial(OpBuilder &builder, Location loc) { return zeroOf(builder, loc, getResult()); }

Value ConvOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                         ElementEmitter &emitter) {
  PackedElements packed(builder, *this, *panel(), emitter);
  Value group = isGrouped() ? index[3] : packed.extent(SymbolicInt(0));
  auto at = [&](unsigned dim) {
    Value scaled = packed.mul(index[1 + dim], packed.extent(SymbolicInt(getStrides()[dim])));
    return packed.add(scaled, packed.mul(reduced[dim], packed.extent(SymbolicInt(getDilations()[dim]))));
  };
  Value y = at(0), x = at(1), channel = reduced[2];
  if (isGrouped())
    channel = packed.add(packed.mul(group, packed.extent(reducedExtents()[2])), channel);
  SmallVector<Value> right{group, packed.panelOf(index.back()), reduced[0], reduced[1]};
  llvm::append_range(right, packed.inPanel(reduced[2], index.back()));
  return packed.multiplyAdd({index[0], y, x, channel}, right, carried);
}

Value ConvOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return perpend::graph::emitReduction(builder, loc, *this, index, emitter);
}
