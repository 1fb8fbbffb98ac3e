//===- Lanes.cpp - vectorises loops ---------------------------------------===//
//
// Replaces the body of a vectorised loop by operations on vectors. A value that is the same in all iterations stays a
// scalar, and is broadcast if an operation combines it with vectors. A load or store of consecutive elements becomes a
// vector access; a load at indices that were loaded themselves a gather; others become one access per lane. A loop that
// cannot be vectorised, or has more than 64 iterations, is emitted as a loop.
//
//   tile.for %v in 8 vectorized {                      %x = vector.load %in[%p] : vector<8xf32>
//     %x = tile.load %in[%i * 8 + %v]            =>    %y = math.exp %x : vector<8xf32>
//     %y = math.exp %x : f32 … }                       …
//
//===----------------------------------------------------------------------===//

#include "tile/flatten/Lanes.h"
#include "tile/flatten/Flattener.h"
#include "tile/schedule/Nests.h"

#include "graph/ElementTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Longer vectors would take many registers.
static constexpr int64_t mostLanes = 64;

//===----------------------------------------------------------------------===//
// Which loops can be vectorised
//===----------------------------------------------------------------------===//

namespace {
/// Positions of a load whose indices vary between lanes and were computed: along.first + along.stride * lane + the sum
/// of coefficients times values.
struct GatheredPlaces {
  IndexAlong along;
  SmallVector<std::pair<Value, SymbolicInt>> terms;

  /// nullopt if the position is no such sum.
  static std::optional<GatheredPlaces> of(SymbolicInt position, KernelIndices &indices, ForOp loop, Operation *at,
                                          llvm::function_ref<bool(Value)> varies) {
    GatheredPlaces places;
    std::set<std::string> names;
    position.symbols(names);
    for (const std::string &name : names) {
      Value value = indices.names.value(name);
      if (!value || !varies(value))
        continue;
      IndexAlong term = tile::along(position, name);
      bool isInvariant =
          term.stride && !usesLoop(*term.stride, loop, indices.names) && !indices.names.anyValue(*term.stride, varies);
      if (!isInvariant)
        return std::nullopt;
      places.terms.emplace_back(value, *term.stride);
      position = term.first;
    }
    places.along = indices.along(position, loop, at);
    return places.along.stride ? std::optional(places) : std::nullopt;
  }
};

/// Finds which values of a loop's body vary between lanes, and whether vectors can hold them.
class LaneCheck {
public:
  /// sum: of a loop over a summed dimension, the store of the sum.
  LaneCheck(ForOp loop, KernelIndices &indices, StoreOp sum = {}) : loop(loop), indices(indices), sum(sum) {}

  bool run() {
    bool isPossible = true;
    for (size_t before = ~size_t(0); isPossible && before != varying.size();) {
      before = varying.size();
      loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
        isPossible = op == loop || isPossibleFor(op);
        return isPossible ? WalkResult::advance() : WalkResult::interrupt();
      });
    }
    return isPossible;
  }

private:
  bool varies(const SymbolicInt &expression) { return usesLoop(expression, loop, indices.names); }
  bool varies(Value value) { return varying.contains(value); }
  void add(ValueRange values) { varying.insert(values.begin(), values.end()); }

  bool isPossibleFor(Operation *op) {
    if (auto inner = dyn_cast<ForOp>(op))
      return inner.getKind() != LoopKind::Vectorized && !varies(indices.extentOf(inner));
    if (auto block = dyn_cast<BlockOp>(op))
      return isPossibleFor(block);
    if (isa<LoadOp, StoreOp>(op))
      return isPossibleFor(Access{op});
    if (auto index = dyn_cast<IndexOp>(op)) {
      SymbolicInt expression = indices.resolve(index.getExpression(), index.getVariables()).front();
      if (varies(expression))
        add(index->getResults());
      return !usesVarying(expression) && hasStride(expression, op);
    }
    if (auto choice = dyn_cast<scf::IfOp>(op))
      return isPossibleFor(choice);
    if (auto inner = dyn_cast<scf::ForOp>(op))
      return isPossibleFor(inner);
    if (isa<InitOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
      return true;
    return isPossibleForOther(op);
  }

  bool isPossibleFor(BlockOp block) {
    for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
      if (varies(binding)) {
        if (block.kind(i) != (sum ? IteratorKind::Reduced : IteratorKind::Spatial) || !hasStride(binding, block))
          return false;
        add(block.iterators()[i]);
      }
    return true;
  }

  /// An index that was loaded can be expressed only if it is the same in all lanes.
  bool usesVarying(const SymbolicInt &expression) {
    return indices.names.anyValue(expression, [&](Value value) { return varies(value); });
  }

  /// Lanes of a sum start anywhere in the loop.
  bool hasStride(const SymbolicInt &expression, Operation *at) {
    return !sum || !varies(expression) || indices.along(expression, loop, at).stride;
  }

  bool isPossibleFor(const Access &access) {
    bool differs = false, isGathered = false;
    if (sum && access.buffer() == sum.getBuffer()) {
      add(access.op->getResults());
      return true;
    }
    if (!hasStride(indices.positionOf(access), access.op))
      return false;
    for (const SymbolicInt &index : indices.indicesOf(access)) {
      isGathered |= usesVarying(index);
      differs |= varies(index);
    }
    if (isGathered) {
      add(access.op->getResults());
      return !sum && !access.isStore() &&
             GatheredPlaces::of(indices.positionOf(access), indices, loop, access.op,
                                [&](Value value) { return varies(value); });
    }
    if (!access.isStore()) {
      if (differs)
        add(access.op->getResults());
      return true;
    }
    return differs || !varies(cast<StoreOp>(access.op).getValue());
  }

  /// If the condition differs between lanes, both branches run. So they must not access memory, which might be out of
  /// bounds.
  bool isPossibleFor(scf::IfOp choice) {
    bool hasLanes = varies(choice.getCondition());
    for (auto [i, result] : llvm::enumerate(choice.getResults()))
      if (hasLanes || varies(choice.thenYield().getOperand(i)) || varies(choice.elseYield().getOperand(i)))
        add(result);
    return !hasLanes || !choice
                             .walk([](Operation *op) {
                               bool isPlain = isPure(op) || isa<scf::YieldOp, scf::IfOp>(op);
                               return isPlain && !isa<scf::ForOp>(op) ? WalkResult::advance() : WalkResult::interrupt();
                             })
                             .wasInterrupted();
  }

  bool isPossibleFor(scf::ForOp inner) {
    add(inner.getRegionIterArgs());
    add(inner.getResults());
    return !varies(inner.getLowerBound()) && !varies(inner.getUpperBound()) && !varies(inner.getStep());
  }

  bool isPossibleForOther(Operation *op) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) { return varies(operand); }))
      return op->getNumRegions() == 0 && !isa<AllocOp>(op);
    add(op->getResults());
    return OpTrait::hasElementwiseMappableTraits(op) &&
           llvm::all_of(op->getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
  }

  ForOp loop;
  KernelIndices &indices;
  StoreOp sum;
  llvm::DenseSet<Value> varying;
};
} // namespace

bool perpend::tile::fitsLanes(ForOp loop, KernelIndices &indices) { return LaneCheck(loop, indices).run(); }

bool perpend::tile::fitsSumLanes(ForOp loop, StoreOp store, KernelIndices &indices) {
  return LaneCheck(loop, indices, store).run();
}

/// The iterations after the last whole vector may form a shorter vector.
std::optional<Edge> Flattener::laneEdge(ForOp loop) {
  if (loop.getKind() != LoopKind::Vectorized)
    return std::nullopt;
  if (!hasOpenCondition(loop))
    return canBeLanes(loop) ? std::optional(Edge{indices.extentOf(loop), SymbolicInt(0), true, {}}) : std::nullopt;
  std::optional<Edge> edge = edgeOf(loop);
  std::optional<int64_t> count = edge && edge->isExact ? edge->whole.constant() : std::nullopt;
  bool isKnown = false;
  if (count && *count >= 2 && llvm::isPowerOf2_64(*count))
    assume(*edge, [&] { isKnown = !hasOpenCondition(loop) && canBeLanes(loop); });
  return isKnown ? edge : std::nullopt;
}

bool Flattener::canBeLanes(ForOp loop) {
  std::optional<int64_t> count = indices.extentOf(loop).constant();
  if (lanes || !count || *count < 2 || *count > mostLanes)
    return false;
  auto [known, isNew] = canBe.try_emplace(loop);
  if (isNew)
    known->second = fitsLanes(loop, indices);
  return known->second;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Type Flattener::laneType(Type scalar) { return VectorType::get({laneCount}, scalar); }

Value Flattener::spread(OpBuilder &builder, Value value) {
  if (!lanes || isa<VectorType>(value.getType()))
    return value;
  return builder.create<vector::BroadcastOp>(loc, laneType(value.getType()), value);
}

/// The expression's value in each lane.
static SmallVector<SymbolicInt> eachLane(const SymbolicInt &expression, const std::string &lane, int64_t count,
                                         const IndexRanges &ranges) {
  SmallVector<SymbolicInt> list;
  for (int64_t i = 0; i < count; ++i) {
    llvm::StringMap<SymbolicInt> replacement;
    replacement[lane] = SymbolicInt(i);
    list.push_back(simplify(expression.substitute(replacement), ranges));
  }
  return list;
}

Value Flattener::atFirstLane(OpBuilder &builder, const IndexAlong &index) {
  Value first = value(builder, index.first);
  if (!firstLane || index.isUniform())
    return first;
  Value moved = builder.createOrFold<arith::MulIOp>(loc, firstLane, value(builder, *index.stride));
  return builder.createOrFold<arith::AddIOp>(loc, first, moved);
}

Value Flattener::laneValue(OpBuilder &builder, const SymbolicInt &expression, Operation *at) {
  IndexAlong index = indices.along(expression, lanes, at);
  if (index.isUniform())
    return value(builder, index.first);
  if (index.stride) {
    SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, laneCount));
    auto type = cast<VectorType>(laneType(builder.getIndexType()));
    Value steps = builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(type, [&] {
          return llvm::map_to_vector(numbers, [&](int64_t i) -> Attribute { return builder.getIndexAttr(i); });
        }()));
    if (!index.isContiguous())
      steps = builder.create<arith::MulIOp>(loc, steps, spread(builder, value(builder, *index.stride)));
    return builder.create<arith::AddIOp>(loc, spread(builder, atFirstLane(builder, index)), steps);
  }
  SmallVector<Value> values;
  for (const SymbolicInt &one :
       eachLane(expression, indices.names.nameOf(lanes.variable()), laneCount, indices.rangesAround(at)))
    values.push_back(value(builder, one));
  return builder.create<vector::FromElementsOp>(loc, cast<VectorType>(laneType(builder.getIndexType())), values);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

const IndexAlong &Flattener::alongLanes(const Access &access) {
  auto [known, isNew] = positionsAlong.try_emplace({access.op, lanes});
  if (isNew)
    known->second = indices.along(positionOf(access), lanes, access.op);
  return known->second;
}

/// A gather, or null if the indices are those of the loops.
Value Flattener::gatherLanes(OpBuilder &builder, LoadOp load) {
  auto varies = [&](Value value) {
    Value known = mapping.lookupOrNull(value);
    return known && isa<VectorType>(known.getType());
  };
  const SymbolicInt &position = positionOf({load});
  if (!indices.names.anyValue(position, varies))
    return {};
  GatheredPlaces places = *GatheredPlaces::of(position, indices, lanes, load, varies);
  Value steps; // from the first position
  if (!places.along.isUniform())
    steps = laneValue(builder, *places.along.stride * indices.names.symbol(lanes.variable()), load);
  for (auto &[value, coefficient] : places.terms) {
    Value term = mapping.lookup(value);
    if (coefficient != SymbolicInt(1))
      term = builder.create<arith::MulIOp>(loc, term, spread(builder, this->value(builder, coefficient)));
    steps = steps ? builder.create<arith::AddIOp>(loc, steps, term) : term;
  }
  Value memory = memoryOf(load.getBuffer());
  auto stored = cast<VectorType>(storedType(laneType(load.getResult().getType()), memory));
  Value mask = builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(VectorType::get({laneCount}, builder.getI1Type()), true));
  Value none = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(stored));
  Value gathered =
      builder.create<vector::GatherOp>(loc, stored, memory, value(builder, places.along.first), steps, mask, none);
  return asValue(builder, loc, gathered, laneType(load.getResult().getType()));
}

Value Flattener::loadLanes(OpBuilder &builder, LoadOp load) {
  Value memory = memoryOf(load.getBuffer());
  Type scalar = load.getResult().getType();
  if (Value known = loaded.lookup(load))
    return asValue(builder, loc, known, laneType(scalar));
  if (Value gathered = gatherLanes(builder, load))
    return gathered;
  const IndexAlong &index = alongLanes({load});
  if (index.isUniform() || index.isContiguous())
    return elements.load(builder, loc, memory, atFirstLane(builder, index),
                         index.isUniform() ? scalar : laneType(scalar));
  SmallVector<Value> each;
  if (firstLane) {
    Value position = atFirstLane(builder, index), step = value(builder, *index.stride);
    for (int64_t i = 0; i < laneCount; ++i, position = builder.createOrFold<arith::AddIOp>(loc, position, step))
      each.push_back(elements.load(builder, loc, memory, position, scalar));
    return builder.create<vector::FromElementsOp>(loc, cast<VectorType>(laneType(scalar)), each);
  }
  for (const SymbolicInt &one :
       eachLane(positionOf({load}), indices.names.nameOf(lanes.variable()), laneCount, indices.rangesAround(load)))
    each.push_back(elements.load(builder, loc, memory, value(builder, one), scalar));
  return builder.create<vector::FromElementsOp>(loc, cast<VectorType>(laneType(scalar)), each);
}

void Flattener::storeLanes(OpBuilder &builder, StoreOp store, Value stored) {
  Value memory = memoryOf(store.getBuffer());
  const IndexAlong &index = alongLanes({store});
  if (index.isUniform()) { // the same element in all lanes, although they may differ for an empty buffer
    if (isa<VectorType>(stored.getType()))
      stored = builder.create<vector::ExtractOp>(loc, stored, laneCount - 1);
    return elements.store(builder, loc, stored, memory, value(builder, index.first));
  }
  stored = spread(builder, stored);
  if (index.isContiguous())
    return elements.store(builder, loc, stored, memory, value(builder, index.first));
  for (auto [i, one] : llvm::enumerate(eachLane(positionOf({store}), indices.names.nameOf(lanes.variable()), laneCount,
                                                indices.rangesAround(store)))) {
    Value scalar = builder.create<vector::ExtractOp>(loc, stored, static_cast<int64_t>(i));
    elements.store(builder, loc, scalar, memory, value(builder, one));
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool Flattener::emitLanes(OpBuilder &builder, ForOp loop) {
  std::optional<Edge> edge = laneEdge(loop);
  if (!edge)
    return false;
  lanes = loop;
  laneCount = *edge->whole.constant();
  assume(*edge, [&] { emit(builder, *loop.body()); });
  lanes = {};
  return true;
}

/// Emits an if or a loop that runs once for all lanes. Results are vectors if a branch yields one; carried values of a
/// loop always are.
void Flattener::emitLaneRegions(OpBuilder &builder, Operation &op) {
  Operation *copy = op.cloneWithoutRegions(mapping);
  auto loop = dyn_cast<scf::ForOp>(copy);
  if (loop)
    for (OpOperand &initial : loop.getInitArgsMutable())
      initial.set(spread(builder, initial.get()));
  builder.insert(copy);
  emitRegions(builder, op, copy);
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    auto yields = llvm::map_to_vector(copy->getRegions(),
                                      [&](Region &region) { return &region.front().getTerminator()->getOpOperand(i); });
    if (!loop && llvm::none_of(yields, [](OpOperand *given) { return isa<VectorType>(given->get().getType()); }))
      continue;
    for (OpOperand *given : yields) {
      OpBuilder inner(given->getOwner());
      given->set(spread(inner, given->get()));
    }
    copy->getResult(i).setType(yields.front()->get().getType());
  }
}

/// Emits a scalar operation on vectors, if any operand is one.
void Flattener::emitLaneOperation(OpBuilder &builder, Operation &op) {
  auto isLanes = [&](Value operand) { return isa<VectorType>(mapping.lookupOrDefault(operand).getType()); };
  if (auto choice = dyn_cast<scf::IfOp>(op); choice && isLanes(choice.getCondition())) {
    for (Region *region : {&choice.getThenRegion(), &choice.getElseRegion()})
      for (Operation &inner : region->front().without_terminator())
        emit(builder, inner);
    for (auto [i, result] : llvm::enumerate(choice.getResults())) {
      Value yes = spread(builder, mapping.lookupOrDefault(choice.thenYield().getOperand(i)));
      Value no = spread(builder, mapping.lookupOrDefault(choice.elseYield().getOperand(i)));
      mapping.map(result,
                  builder.create<arith::SelectOp>(loc, mapping.lookup(choice.getCondition()), yes, no).getResult());
    }
    return;
  }
  if (op.getNumRegions())
    return emitLaneRegions(builder, op);
  if (llvm::none_of(op.getOperands(), isLanes)) {
    builder.clone(op, mapping);
    return;
  }
  IRMapping spreadOperands;
  for (Value operand : op.getOperands())
    spreadOperands.map(operand, spread(builder, mapping.lookupOrDefault(operand)));
  Operation *copy = op.cloneWithoutRegions(spreadOperands);
  for (auto [from, to] : llvm::zip(op.getResults(), copy->getResults())) {
    to.setType(laneType(from.getType()));
    mapping.map(from, to);
  }
  builder.insert(copy);
}
