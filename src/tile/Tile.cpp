//===- Tile.cpp - the tile dialect ------------------------------------------===//

#include "tile/Tile.h"

#include "graph/Scalars.h"
#include "graph/Shapes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace perpend::tile;
using perpend::graph::ElementEmitter;
using perpend::graph::ElementKind;
using perpend::graph::Shape;
using perpend::graph::shapeOf;
using perpend::graph::SymbolicInt;

#include "tile/TileDialect.cpp.inc"
#define GET_OP_CLASSES
#include "tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tile/TileOps.cpp.inc"
      >();
}

LogicalResult MicroKernelOp::verify() {
  if (getCounts().size() != 2 || getASteps().size() != 2 || getBSteps().size() != 2)
    return emitOpError("C1: expected two counts and two steps for a and b");
  if (getRows() < 1 || getCols() < 1)
    return emitOpError("C2: expected a block of at least 1 x 1, got ") << getRows() << " x " << getCols();
  return success();
}

//===----------------------------------------------------------------------===//
// Intrinsics on tensors
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  size_t rank = shapeOf(getLhs()).size();
  if (rank < 2 || shapeOf(getRhs()).size() != rank + 1 || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ranks r, r + 1 and r with r >= 2");
  return success();
}

LogicalResult ConvOp::verify() {
  if (shapeOf(getInput()).size() != 4 || shapeOf(getFilter()).size() != 6 || shapeOf(getResult()).size() != 4 ||
      getStrides().size() != 2 || getDilations().size() != 2)
    return emitOpError("C1: expected ranks 4, 6 and 4 and two strides and dilations");
  return success();
}

ElementKind MatmulOp::elementKind() { return ElementKind::Reduction; }
ElementKind ConvOp::elementKind() { return ElementKind::Reduction; }
bool MatmulOp::needsStoredOperands() { return true; }
bool ConvOp::needsStoredOperands() { return true; }

Value MatmulOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  Value cols = emitter.extent(builder, loc, rhs.back());
  Value panel = builder.create<arith::DivUIOp>(loc, index.back(), cols);
  Value column = builder.create<arith::RemUIOp>(loc, index.back(), cols);
  Type type = graph::tensorTypeOf(getResult()).getElementType();
  Value zero = graph::initialValue(builder, loc, graph::ReductionKind::Sum, type);
  return emitter.loop(builder, loc, lhs.back(), zero, [&](OpBuilder &b, Value k, Value carried) {
    SmallVector<Value> left(index.drop_back()), right(index.drop_back(2));
    left.push_back(k);
    right.append({panel, k, column});
    Value a = emitter.element(b, loc, getLhs(), left), c = emitter.element(b, loc, getRhs(), right);
    return graph::multiplyAdd(b, loc, a, c, carried);
  });
}

Value ConvOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Shape filter = shapeOf(getFilter()), result = shapeOf(getResult());
  auto extent = [&](const SymbolicInt &value) { return emitter.extent(builder, loc, value); };
  auto div = [&](Value a, Value b) { return builder.create<arith::DivUIOp>(loc, a, b).getResult(); };
  auto rem = [&](Value a, Value b) { return builder.create<arith::RemUIOp>(loc, a, b).getResult(); };
  Value perGroup = extent(floorDiv(result[3], filter[0])), cols = extent(filter[5]);
  Value group = div(index[3], perGroup), inGroup = rem(index[3], perGroup);
  Value firstChannel = builder.create<arith::MulIOp>(loc, group, extent(filter[4]));
  Type type = graph::tensorTypeOf(getResult()).getElementType();
  Value zero = graph::initialValue(builder, loc, graph::ReductionKind::Sum, type);
  auto at = [&](OpBuilder &b, Value position, int64_t stride, Value window, int64_t dilation) {
    Value scaled = b.create<arith::MulIOp>(loc, position, extent(SymbolicInt(stride)));
    Value offset = b.create<arith::MulIOp>(loc, window, extent(SymbolicInt(dilation)));
    return b.create<arith::AddIOp>(loc, scaled, offset).getResult();
  };
  return emitter.loop(builder, loc, filter[2], zero, [&](OpBuilder &b0, Value i, Value sum) {
    return emitter.loop(b0, loc, filter[3], sum, [&](OpBuilder &b1, Value j, Value rowSum) {
      return emitter.loop(b1, loc, filter[4], rowSum, [&](OpBuilder &b, Value c, Value carried) {
        Value channel = b.create<arith::AddIOp>(loc, firstChannel, c);
        Value y = at(b, index[1], getStrides()[0], i, getDilations()[0]);
        Value x = at(b, index[2], getStrides()[1], j, getDilations()[1]);
        Value a = emitter.element(b, loc, getInput(), {index[0], y, x, channel});
        Value w = emitter.element(b, loc, getFilter(), {group, div(inGroup, cols), i, j, c, rem(inGroup, cols)});
        return graph::multiplyAdd(b, loc, a, w, carried);
      });
    });
  });
}
