//===- OrderedSums.cpp - sums whose order is fixed ------------------------===//
//
// In a batch-invariant kernel (graph/BatchInvariance.h), element k of a sum of floats is added to lane k mod 16, in
// the order of k, and the lanes are then added up in order. So the sum does not depend on how the code around it is
// vectorised, nor on elements at the end that add nothing: the keys of later tokens, whose probabilities are 0. Sums
// of fewer than 16 elements, and sums that cannot be vectorised, are added up in the order of their loop.
//
//   %v = scf.for %k = 0 to 16 * (n / 16) step 16 iter_args(%s = zeros) { %s + vector of x }
//   %r = scf.for %k = 16 * (n / 16) to n iter_args(%s = %v)            { lane %k mod 16 of %s + x }
//   %r[0] + %r[1] + … + %r[15]
//
//===----------------------------------------------------------------------===//

#include "tile/flatten/Flattener.h"
#include "tile/flatten/Lanes.h"
#include "tile/schedule/Nests.h"

#include "graph/BatchInvariance.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// The commutative operation, with a finite neutral element, that makes the next value of what a block accumulates.
/// Largest and least values do not depend on the order.
static std::optional<Combination> accumulatedBy(const Accumulation &accumulation) {
  StoreOp store = accumulation.store;
  Operation *combine = store.getValue().getDefiningOp();
  std::optional<TypedAttr> neutral;
  if (combine && combine->getNumOperands() == 2 && combine->hasTrait<OpTrait::IsCommutative>())
    neutral = arith::getNeutralElement(combine);
  auto number = dyn_cast_or_null<FloatAttr>(neutral.value_or(TypedAttr()));
  if (!number || !number.getValue().isFinite() || !combine->hasOneUse())
    return std::nullopt;
  LoadOp carried;
  for (const Access &access : accessesIn(accumulation.block, store.getBuffer())) {
    auto load = dyn_cast<LoadOp>(access.op);
    if (load && carried)
      return std::nullopt;
    carried = load ? load : carried;
  }
  bool isCombined = carried && carried.getResult().hasOneUse() && *carried.getResult().user_begin() == combine;
  return isCombined ? std::optional(Combination{carried, combine, *neutral}) : std::nullopt;
}

/// With fewer elements than lanes, their order is that of the loop.
bool Flattener::isSummedInOrder(const Accumulation &accumulation, ForOp loop, Value carried) {
  bool isShort = indices.extentOf(loop).constant().value_or(graph::orderedLanes) < graph::orderedLanes;
  return !lanes && !isShort && isa<FloatType>(carried.getType()) && graph::isBatchInvariant(kernel) &&
         accumulatedBy(accumulation) && isa<BlockOp>(loop.body()->front()) && !hasOpenCondition(loop) &&
         fitsSumLanes(loop, accumulation.store, indices);
}

Value Flattener::sumInOrder(OpBuilder &builder, const Accumulation &accumulation, ForOp loop, Value carried) {
  Combination combination = *accumulatedBy(accumulation);
  auto type = VectorType::get({graph::orderedLanes}, carried.getType());
  Value neutral =
      builder.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<Attribute>(combination.neutral)));
  SymbolicInt count = indices.extentOf(loop), width(graph::orderedLanes), whole = floorDiv(count, width) * width;
  auto emitLoop = [&](const SymbolicInt &from, const SymbolicInt &to, int64_t step, Value sums, Body body) {
    if (from == to)
      return sums;
    auto flat = builder.create<scf::ForOp>(loc, value(builder, from), value(builder, to), emitter.constant(step), sums);
    mapping.map(loop.variable(), flat.getInductionVar());
    OpBuilder inner = OpBuilder::atBlockBegin(flat.getBody());
    inner.create<scf::YieldOp>(loc, body(inner, flat.getRegionIterArg(0)));
    return flat.getResult(0);
  };
  Value sums = emitLoop(SymbolicInt(0), whole, graph::orderedLanes, neutral, [&](OpBuilder &inner, Value vector) {
    lanes = loop;
    laneCount = graph::orderedLanes;
    firstLane = mapping.lookup(loop.variable());
    Value next = accumulateBlock(inner, accumulation, vector);
    lanes = {};
    firstLane = {};
    return next;
  });
  sums = emitLoop(whole, count, 1, sums, [&](OpBuilder &inner, Value vector) {
    Value lane = inner.create<arith::SubIOp>(loc, mapping.lookup(loop.variable()), value(inner, whole));
    Value sum = inner.create<vector::ExtractElementOp>(loc, vector, lane);
    return inner.create<vector::InsertElementOp>(loc, accumulateBlock(inner, accumulation, sum), vector, lane)
        .getResult();
  });
  for (int64_t lane = 0; lane < graph::orderedLanes; ++lane) {
    IRMapping operands;
    operands.map(combination.carried.getResult(), carried);
    operands.map(combination.contribution(), builder.create<vector::ExtractOp>(loc, sums, lane).getResult());
    carried = builder.clone(*combination.combine, operands)->getResult(0);
  }
  return carried;
}

void perpend::tile::fixOrderOfSums(func::FuncOp function) {
  function.walk([](arith::ArithFastMathInterface op) {
    arith::FastMathFlagsAttr given = op.getFastMathFlagsAttr();
    if (!given)
      return;
    auto kept = given.getValue() & ~(arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
    op->setAttr(op.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), kept));
  });
}
