//===- Sums.cpp - sums in registers ---------------------------------------===//
//
// The sum of a reduction stays in a register if only reduced loops separate the
// block from the place of its init.
//
//===----------------------------------------------------------------------===//

#include "tile/flatten/Flattener.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

bool Flattener::isInvariant(Operation *access, BlockOp block, ArrayRef<ForOp> loops) {
  for (const SymbolicInt &index : indices.indicesOf({access})) {
    if (llvm::any_of(loops, [&](ForOp loop) { return usesLoop(index, loop, indices.names); }))
      return false;
    // Values computed inside the block may differ between its instances.
    if (indices.names.anyValue(index,
                               [&](Value value) { return block->isAncestor(value.getParentRegion()->getParentOp()); }))
      return false;
  }
  return true;
}

/// Returns the accumulation if `loop` can carry the sum of the only block inside: its reduced iterators depend on
/// exactly the loops from `loop` to the block, and the element does not move with these loops.
std::optional<Accumulation> Flattener::accumulationAt(ForOp loop) {
  SmallVector<ForOp> loops;
  BlockOp block;
  for (ForOp next = loop; next && !block;) {
    if (!llvm::hasSingleElement(*next.body()))
      return std::nullopt;
    loops.push_back(next);
    Operation &only = next.body()->front();
    block = dyn_cast<BlockOp>(only);
    next = dyn_cast<ForOp>(only);
    if (!block && !next)
      return std::nullopt;
  }
  InitOp init = block.init();
  if (!init)
    return std::nullopt;
  SmallVector<Operation *> stores;
  for (Operation &op : *block.body())
    if (isa<StoreOp>(op))
      stores.push_back(&op);
  if (stores.size() != 1 || !isa<StoreOp>(init.getRegion().front().back()))
    return std::nullopt;
  auto store = cast<StoreOp>(stores.front());
  auto initial = cast<StoreOp>(init.getRegion().front().back());
  Shape at = indices.indicesOf({store});
  if (initial.getBuffer() != store.getBuffer() || indices.indicesOf({initial}) != at ||
      !isInvariant(store, block, loops))
    return std::nullopt;
  for (const Access &access : accessesIn(block, store.getBuffer()))
    if (access.op->getParentRegion() != &init.getRegion() &&
        (indices.indicesOf(access) != at || access.op->getBlock() != block.body()))
      return std::nullopt;
  IndexRanges inside = indices.rangesAround(block, loop->getParentOp());
  // If a condition excludes all instances for some iteration of the outer loops, the element must not be written at
  // all.
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  for (size_t i = 0; i < conditions.size(); i += 2) {
    std::set<std::string> used;
    conditions[i].symbols(used);
    conditions[i + 1].symbols(used);
    auto isInside = [&](const std::string &name) { return inside.count(name) != 0; };
    if (llvm::any_of(used, isInside) &&
        llvm::any_of(used, [&](const std::string &name) { return indices.names.value(name) && !isInside(name); }) &&
        !holdsAtFirst(conditions[i], conditions[i + 1], loops, block, indices))
      return std::nullopt;
  }
  SmallVector<SymbolicInt> reduced;
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
    if (block.kind(i) == IteratorKind::Reduced)
      reduced.push_back(binding);
  for (const SymbolicInt &binding : reduced)
    if (binding.anySymbol([&](StringRef name) { return indices.names.value(name) && !inside.count(name); }))
      return std::nullopt;
  // A loop on which the reduced iterators do not depend would restart the sum in each iteration.
  auto isAlong = [&](ForOp each) {
    return each.getExtent().values().front() == SymbolicInt(1) ||
           llvm::any_of(reduced, [&](const SymbolicInt &binding) { return usesLoop(binding, each, indices.names); });
  };
  if (!llvm::all_of(loops, isAlong))
    return std::nullopt;
  return Accumulation{loop, block, store};
}

void Flattener::emitAccumulation(OpBuilder &builder, const Accumulation &accumulation) {
  BlockOp reduction = accumulation.block;
  // An element excluded by a condition is not stored.
  std::optional<Value> condition = conditionOf(builder, reduction, accumulation.outermost, /*inside=*/false);
  if (!condition)
    return;
  if (!*condition)
    return emitElement(builder, accumulation);
  OpBuilder inner = builder.create<scf::IfOp>(loc, *condition, /*withElseRegion=*/false).getThenBodyBuilder();
  emitElement(inner, accumulation);
}

void Flattener::emitElement(OpBuilder &builder, const Accumulation &accumulation) {
  BlockOp reduction = accumulation.block;
  Block &init = reduction.init().getRegion().front();
  for (Operation &op : llvm::make_range(init.begin(), std::prev(init.end())))
    emit(builder, op);
  Value initial = mapping.lookup(cast<StoreOp>(init.back()).getValue());
  StoreOp store = accumulation.store;
  bool hasLanes = lanes && llvm::any_of(indices.indicesOf({store}), [&](const SymbolicInt &index) {
                    return usesLoop(index, lanes, indices.names);
                  });
  emitStore(
      builder, store,
      accumulateLoops(builder, accumulation, accumulation.outermost, hasLanes ? spread(builder, initial) : initial));
}

Value Flattener::accumulateLoops(OpBuilder &builder, const Accumulation &accumulation, ForOp loop, Value carried) {
  if (isSummedInOrder(accumulation, loop, carried))
    return sumInOrder(builder, accumulation, loop, carried);
  Operation &only = loop.body()->front();
  return iterate(builder, loop, carried, [&](OpBuilder &inner, Value current) {
    auto next = dyn_cast<ForOp>(only);
    return next ? accumulateLoops(inner, accumulation, next, current) : accumulateBlock(inner, accumulation, current);
  });
}

Value Flattener::accumulateBlock(OpBuilder &builder, const Accumulation &accumulation, Value carried) {
  BlockOp block = accumulation.block;
  StoreOp store = accumulation.store;
  auto emitBody = [&](OpBuilder &inner) {
    mapIterators(inner, block);
    for (Operation &op : *block.body()) {
      auto load = dyn_cast<LoadOp>(op);
      if (isa<InitOp>(op) || &op == store)
        continue;
      if (load && load.getBuffer() == store.getBuffer())
        mapping.map(load.getResult(), carried);
      else
        emit(inner, op);
    }
    Value next = mapping.lookup(store.getValue());
    return isa<VectorType>(carried.getType()) ? spread(inner, next) : next;
  };
  std::optional<Value> condition = conditionOf(builder, block, accumulation.outermost, /*inside=*/true);
  if (!condition)
    return carried;
  if (!*condition)
    return emitBody(builder);
  auto choice = builder.create<scf::IfOp>(loc, TypeRange(carried.getType()), *condition, /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  then.create<scf::YieldOp>(loc, emitBody(then));
  otherwise.create<scf::YieldOp>(loc, carried);
  return choice.getResult(0);
}
