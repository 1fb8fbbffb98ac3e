//===- Reductions.cpp - primitives that decompose reductions --------------===//

#include "support/ReadableText.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// decompose_reduction
//===----------------------------------------------------------------------===//

FailureOr<KernelSchedule::Block> KernelSchedule::decomposeReduction(Block blockHandle, Loop loopHandle) {
  BlockOp block;
  ForOp loop;
  if (failed(find(blockHandle, loopHandle, block, loop)))
    return failure();
  std::string why, title = "decompose_reduction " + nameOf(blockHandle) + ", " + nameOf(loopHandle) + ": ";
  if (!block.init())
    return refuse(title + "the block '" + block.getName() + "' has no init");
  if (!loop->isAncestor(block))
    return refuse(title + "the loop is not around the block '" + block.getName() + "'");
  BlockOp init = tile::decomposeReduction(kernel, block, loop, why);
  if (!init)
    return refuse(title + why);
  Block result{addHandle(init, init.getName())};
  record("decompose_reduction", nameOf(result), {nameOf(blockHandle), nameOf(loopHandle)});
  return result;
}

//===----------------------------------------------------------------------===//
// rfactor
//===----------------------------------------------------------------------===//

static bool isNeutral(Operation *combine, Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    const APFloat &x = number.getValue();
    if (isa<arith::AddFOp>(combine))
      return x.isZero();
    if (isa<arith::MulFOp>(combine))
      return x.isExactlyValue(1.0);
    if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combine))
      return x.isInfinity() && x.isNegative();
    return isa<arith::MinimumFOp, arith::MinNumFOp>(combine) && x.isInfinity() && !x.isNegative();
  }
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number)
    return false;
  APInt x = number.getValue();
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(combine))
    return x.isZero();
  if (isa<arith::AndIOp, arith::MinUIOp>(combine))
    return x.isAllOnes();
  return (isa<arith::MulIOp>(combine) && x.isOne()) || (isa<arith::MaxSIOp>(combine) && x.isMinSignedValue()) ||
         (isa<arith::MinSIOp>(combine) && x.isMaxSignedValue());
}

std::optional<Combination> perpend::tile::combinationOf(BlockOp block, SingleStore single, std::string &why) {
  Combination found{{}, single.store.getValue().getDefiningOp(), {}};
  StoreOp initial;
  why = "it is not known to be a sum, a product, a minimum or a maximum, from its neutral element on";
  Operation *combine = found.combine;
  if (!block.init() || !combine || combine->getNumOperands() != 2 || combine->getNumResults() != 1 ||
      !combine->getResult(0).hasOneUse())
    return std::nullopt;
  for (const Access &access : accessesIn(block, single.buffer))
    if (access.op->getParentOfType<InitOp>())
      initial = dyn_cast<StoreOp>(access.op);
    else if (!access.isStore() && !found.carried)
      found.carried = cast<LoadOp>(access.op);
    else if (!access.isStore())
      return std::nullopt;
  if (!initial || !found.carried || found.carried.getIndices() != single.store.getIndices() ||
      found.carried.getVariables() != single.store.getVariables() || !found.carried.getResult().hasOneUse() ||
      !llvm::is_contained(combine->getOperands(), found.carried.getResult()))
    return std::nullopt;
  Attribute value;
  if (!matchPattern(initial.getValue(), m_Constant(&value)) || !isNeutral(combine, value))
    return std::nullopt;
  found.neutral = cast<TypedAttr>(value);
  return found;
}

namespace {
/// The steps of one rfactor.
class Factoring {
public:
  Factoring(func::FuncOp kernel, BlockOp block, ForOp loop, unsigned axis, const SingleStore &single,
            const Combination &combination)
      : kernel(kernel), block(block), loop(loop), axis(axis), single(single), combination(combination) {}

  /// The block of partial sums, which replaces the original; with inits if `withInit`.
  BlockOp emitPartial(Operation *statement, bool withInit);
  /// Whether every partial sum certainly has at least one element.
  bool haveFirst();
  /// Initialises all partial sums before `statement`, including those without elements.
  void emitInit(Operation *statement, const std::string &name);
  /// Adds up the partial sums, behind `statement`.
  BlockOp emitFinal(Operation *statement, const std::string &name);

private:
  Shape indexOf(BlockOp created, unsigned factor, IndexNames &names);

  func::FuncOp kernel;
  BlockOp block;
  ForOp loop;
  unsigned axis;
  SingleStore single;
  Combination combination;
  Value partial;
  SymbolicInt extent;
};
} // namespace

/// The index of a partial sum, for a block with the same spatial iterators and `factor` as the extra iterator.
Shape Factoring::indexOf(BlockOp created, unsigned factor, IndexNames &names) {
  Shape index;
  for (unsigned iterator : single.iterators)
    index.push_back(names.symbol(created.iterators()[iterator]));
  index.insert(index.begin() + axis, names.symbol(created.iterators()[factor]));
  return index;
}

bool Factoring::haveFirst() {
  KernelIndices indices;
  SmallVector<ForOp> others;
  for (ForOp around : loopsAround(block))
    if (around != loop && llvm::any_of(llvm::enumerate(indices.bindingsOf(block)), [&](auto binding) {
          return block.kind(binding.index()) == IteratorKind::Reduced &&
                 usesLoop(binding.value(), around, indices.names);
        }))
      others.push_back(around);
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  for (size_t i = 0; i < conditions.size(); i += 2)
    if (!holdsAtFirst(conditions[i], conditions[i + 1], others, block, indices))
      return false;
  return true;
}

BlockOp Factoring::emitPartial(Operation *statement, bool withInit) {
  KernelIndices indices;
  IndexNames &names = indices.names;
  extent = indices.extentOf(loop);
  Shape bindings = indices.bindingsOf(block), shape = cast<BufferType>(single.buffer.getType()).extents();
  shape.insert(shape.begin() + axis, extent);
  OpBuilder builder(statement);
  std::string name = uniqueName(kernel, block.getName().str() + "_rf");
  auto type =
      BufferType::get(block.getContext(), shape, cast<BufferType>(single.buffer.getType()).getElementType(), "local");
  partial = builder.create<AllocOp>(block.getLoc(), type, builder.getStringAttr(name));
  // Iterators: the spatial ones, the factor, and one for each remaining loop of the reduction.
  BlockHead head;
  head.name = name;
  head.conditions = indices.resolve(block.getConditions(), block.getVariables());
  unsigned spatial = llvm::count(block.getKinds(), static_cast<int32_t>(IteratorKind::Spatial));
  for (unsigned i = 0; i < spatial; ++i)
    head.add(block, i, bindings[i]);
  head.add(IteratorKind::Spatial, extent, names.symbol(loop.variable()), "vf");
  SmallVector<ForOp> others;
  for (ForOp around : loopsAround(block))
    if (around != loop && llvm::any_of(ArrayRef(bindings).drop_front(spatial),
                                       [&](const SymbolicInt &binding) { return usesLoop(binding, around, names); }))
      others.push_back(around);
  for (ForOp other : others)
    head.add(IteratorKind::Reduced, indices.extentOf(other), names.symbol(other.variable()),
             "v" + other.getName().str());
  builder.setInsertionPoint(block);
  BlockOp created = createBlock(builder, block.getLoc(), head, names);
  llvm::StringMap<SymbolicInt> inside;
  inside[names.nameOf(loop.variable())] = names.symbol(created.iterators()[spatial]);
  for (auto [k, other] : llvm::enumerate(others))
    inside[names.nameOf(other.variable())] = names.symbol(created.iterators()[spatial + 1 + k]);
  // The body; the old reduced iterators become expressions of the new ones.
  if (!withInit)
    block.init().erase();
  created.body()->getOperations().splice(created.body()->end(), block.body()->getOperations());
  builder.setInsertionPointToStart(created.body());
  for (unsigned i = 0; i < bindings.size(); ++i)
    replaceIndex(block.iterators()[i],
                 i < spatial ? names.symbol(created.iterators()[i]) : bindings[i].substitute(inside), names, builder);
  for (const Access &access : accessesIn(created, single.buffer)) {
    OpBuilder at(access.op);
    Shape index = indexOf(created, spatial, names);
    if (access.isStore()) {
      createStore(at, access.op->getLoc(), access.op->getOperand(0), partial, index, names);
    } else {
      Value value = createLoad(at, access.op->getLoc(), partial, index, names);
      access.op->getResult(0).replaceAllUsesWith(value);
    }
    access.op->erase();
  }
  return created;
}

void Factoring::emitInit(Operation *statement, const std::string &name) {
  IndexNames names;
  OpBuilder builder(statement);
  Location loc = block.getLoc();
  Shape extents = cast<BufferType>(partial.getType()).extents(), index;
  BlockHead head;
  head.name = uniqueName(kernel, name);
  for (auto [i, variable] : llvm::enumerate(createLoops(builder, loc, extents, "i", names)))
    head.add(IteratorKind::Spatial, extents[i], variable, "v" + std::to_string(i));
  BlockOp created = createBlock(builder, loc, head, names);
  builder.setInsertionPointToStart(created.body());
  for (Value iterator : created.iterators())
    index.push_back(names.symbol(iterator));
  createStore(builder, loc, builder.create<arith::ConstantOp>(loc, combination.neutral), partial, index, names);
}

BlockOp Factoring::emitFinal(Operation *statement, const std::string &name) {
  IndexNames names;
  OpBuilder builder(statement);
  builder.setInsertionPointAfter(statement);
  BlockHead head;
  head.name = name;
  unsigned spatial = llvm::count(block.getKinds(), static_cast<int32_t>(IteratorKind::Spatial));
  Shape extents(block.getDomain().values());
  extents.truncate(spatial);
  Shape bindings = createLoops(builder, block.getLoc(), extents, "i", names);
  bindings.push_back(createLoops(builder, block.getLoc(), extent, "f", names).front());
  for (unsigned i = 0; i < spatial; ++i)
    head.add(block, i, bindings[i]);
  head.add(IteratorKind::Reduced, extent, bindings.back(), "vf");
  BlockOp created = createBlock(builder, block.getLoc(), head, names);
  builder.setInsertionPointToStart(created.body());
  Shape target;
  for (unsigned iterator : single.iterators)
    target.push_back(names.symbol(created.iterators()[iterator]));
  Location loc = block.getLoc();
  auto init = builder.create<InitOp>(loc);
  OpBuilder first = OpBuilder::atBlockBegin(&init.getRegion().emplaceBlock());
  createStore(first, loc, first.create<arith::ConstantOp>(loc, combination.neutral), single.buffer, target, names);
  Value carried = createLoad(builder, loc, single.buffer, target, names);
  Value part = createLoad(builder, loc, partial, indexOf(created, spatial, names), names);
  Operation *combine = builder.clone(*combination.combine);
  combine->setOperands({carried, part});
  createStore(builder, loc, combine->getResult(0), single.buffer, target, names);
  return created;
}

FailureOr<KernelSchedule::Block> KernelSchedule::rfactor(Loop handle, int64_t axis) {
  FailureOr<ForOp> found = find(handle);
  if (failed(found))
    return failure();
  ForOp loop = *found;
  std::string why, title = "rfactor " + nameOf(handle) + ": ";
  SmallVector<BlockOp> blocks;
  loop.walk([&](BlockOp block) { blocks.push_back(block); });
  if (blocks.size() != 1)
    return refuse(title + "expected one block in the loop, got " + Twine(blocks.size()));
  BlockOp block = blocks.front();
  title += "the block '" + block.getName().str() + "' ";
  std::optional<SingleStore> single = singleStoreOf(block, why);
  std::optional<Combination> combination = single ? combinationOf(block, *single, why) : std::nullopt;
  auto isInLoop = [&](Value buffer) { return scopeOf(buffer) != &kernel.front(); }; // with what it needs
  if (!single && llvm::any_of(buffersOf(block, /*isWritten=*/true), isInLoop))
    why += "\nhint: rfactor before compute_at";
  if (!combination)
    return refuse(title + "cannot be taken apart: " + why);
  if (axis < 0 || axis > static_cast<int64_t>(single->iterators.size()))
    return refuse(title + "has a result of " + support::counted(single->iterators.size(), "dimension") +
                  ", got the axis " + Twine(axis));
  KernelIndices indices;
  std::optional<SpatialNest> nest = spatialNestOf(block, nullptr, indices, why);
  if (!nest)
    return refuse(title + "cannot be taken apart: " + why);
  bool isReduced = false;
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
    isReduced |= block.kind(i) == IteratorKind::Reduced && usesLoop(binding, loop, indices.names);
  if (!isReduced)
    return refuse(title + "does not reduce over the loop");
  Operation *statement = statementIn(scopeOf(single->buffer), block);
  for (const Access &access : accessesIn(statement, single->buffer))
    if (!block->isAncestor(access.op))
      return refuse(title + "has a reader in its own nest; rfactor before they are joined");
  std::string name = block.getName().str();
  Factoring factoring(kernel, block, loop, axis, *single, *combination);
  bool haveFirst = factoring.haveFirst();
  BlockOp partial = factoring.emitPartial(statement, haveFirst);
  if (!haveFirst)
    factoring.emitInit(statement, partial.getName().str() + "_init");
  BlockOp total = factoring.emitFinal(statement, name);
  std::replace(handles.begin(), handles.end(), block.getOperation(), total.getOperation());
  block.erase();
  Block result{addHandle(partial, partial.getName())};
  record("rfactor", nameOf(result), {nameOf(handle), std::to_string(axis)});
  return result;
}
