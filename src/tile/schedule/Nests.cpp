//===- Nests.cpp - queries and rewrites of loops and blocks ---------------===//

#include "tile/schedule/Nests.h"

#include "tile/Attributes.h"
#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

mlir::Block *perpend::tile::scopeOf(Value buffer) { return buffer.getParentBlock(); }

std::string perpend::tile::bufferName(Value buffer) {
  if (auto alloc = buffer.getDefiningOp<AllocOp>())
    return "'" + alloc.getName().str() + "'";
  return "%arg" + std::to_string(cast<BlockArgument>(buffer).getArgNumber());
}

Operation *perpend::tile::statementIn(mlir::Block *body, Operation *op) { return body->findAncestorOpInBlock(*op); }

static llvm::SetVector<Operation *> blocksWith(func::FuncOp kernel, Value buffer, bool isStore) {
  llvm::SetVector<Operation *> blocks;
  for (const Access &access : accessesIn(kernel, buffer))
    if (access.isStore() == isStore)
      blocks.insert(access.op->getParentOfType<BlockOp>());
  return blocks;
}

llvm::SetVector<Operation *> perpend::tile::writersOf(func::FuncOp kernel, Value buffer) {
  return blocksWith(kernel, buffer, true);
}
llvm::SetVector<Operation *> perpend::tile::readersOf(func::FuncOp kernel, Value buffer) {
  return blocksWith(kernel, buffer, false);
}

bool perpend::tile::isRolled(Value buffer) {
  return buffer.getDefiningOp() && buffer.getDefiningOp()->hasAttr(rolledAttribute);
}

bool perpend::tile::isReadyAt(func::FuncOp kernel, Value buffer, Operation *at) {
  if (isRolled(buffer))
    return false; // its elements may have been overwritten
  mlir::Block *scope = scopeOf(buffer);
  Operation *statement = statementIn(scope, at);
  if (!statement || (buffer.getDefiningOp() && !buffer.getDefiningOp()->isBeforeInBlock(statement)))
    return false;
  return llvm::all_of(writersOf(kernel, buffer),
                      [&](Operation *writer) { return statementIn(scope, writer)->isBeforeInBlock(statement); });
}

bool perpend::tile::makeLiveAt(Value buffer, Operation *at) {
  Operation *place = statementIn(scopeOf(buffer), at), *alloc = buffer.getDefiningOp();
  if (place && alloc && !alloc->isBeforeInBlock(place))
    alloc->moveBefore(place);
  return place;
}

void perpend::tile::redirect(const Access &access, Value buffer) {
  access.op->setOperand(access.isStore() ? 1 : 0, buffer);
}

void perpend::tile::setIndices(const Access &access, ArrayRef<SymbolicInt> indices, IndexNames &names) {
  SmallVector<Value> operands(access.op->getOperands().take_front(access.isStore() ? 2 : 1)), variables;
  access.op->setAttr("indices", names.write(access.op->getContext(), indices, variables));
  llvm::append_range(operands, variables);
  access.op->setOperands(operands);
}

llvm::SetVector<Value> perpend::tile::buffersOf(BlockOp block, bool isWritten) {
  llvm::SetVector<Value> written, read;
  for (const Access &access : accessesIn(block))
    if (access.isStore())
      written.insert(access.buffer());
  for (const Access &access : accessesIn(block))
    if (!written.contains(access.buffer()))
      read.insert(access.buffer());
  return isWritten ? written : read;
}

IndexRanges perpend::tile::iteratorRanges(Operation *op, IndexNames &names) {
  IndexRanges ranges;
  for (; op; op = op->getParentOp())
    if (auto block = dyn_cast<BlockOp>(op))
      for (auto [iterator, extent] : llvm::zip(block.iterators(), block.getDomain().values()))
        ranges[names.nameOf(iterator)] = extent;
  return ranges;
}

//===----------------------------------------------------------------------===//
// Blocks that store one element at their iterators
//===----------------------------------------------------------------------===//

/// In a dimension of extent 1, any iterator with a single value counts as the index.
std::optional<SmallVector<unsigned>> perpend::tile::asIterators(BlockOp block, const Access &access) {
  IndexNames names;
  SmallVector<unsigned> iterators;
  Shape domain(block.getDomain().values()), shape = cast<BufferType>(access.buffer().getType()).extents();
  for (auto [index, extent] : llvm::zip(names.read(access.indices(), access.variables()), shape)) {
    bool isOnly = index == SymbolicInt(0) && extent == SymbolicInt(1);
    unsigned number = 0;
    for (; number < domain.size(); ++number)
      if (!llvm::is_contained(iterators, number) &&
          (names.symbol(block.iterators()[number]) == index || (isOnly && domain[number] == SymbolicInt(1))))
        break;
    if (number == domain.size())
      return std::nullopt;
    iterators.push_back(number);
  }
  return iterators;
}

std::optional<SingleStore> perpend::tile::singleStoreOf(BlockOp block, std::string &why) {
  SingleStore single;
  for (const Access &access : accessesIn(block)) {
    if (!access.isStore() || access.op->getParentOfType<InitOp>())
      continue;
    if (single.store || access.op->getBlock() != block.body())
      return why = "it stores at more than one place", std::nullopt;
    single.store = cast<StoreOp>(access.op);
  }
  if (!single.store)
    return why = "it stores nothing", std::nullopt;
  single.buffer = single.store.getBuffer();
  std::optional<SmallVector<unsigned>> iterators = asIterators(block, {single.store});
  if (!iterators)
    return why = "the indices of its store are not exactly its spatial iterators", std::nullopt;
  single.iterators = *iterators;
  for (unsigned i = 0; i < block.getKinds().size(); ++i)
    if (llvm::is_contained(single.iterators, i) != (block.kind(i) == IteratorKind::Spatial) ||
        block.kind(i) == IteratorKind::Opaque)
      return why = "the indices of its store are not exactly its spatial iterators", std::nullopt;
  return single;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

SmallVector<ForOp> perpend::tile::loopsAround(Operation *op, Operation *outermost) {
  SmallVector<ForOp> loops;
  for (Operation *around = op->getParentOp(); around && around != outermost; around = around->getParentOp())
    if (auto loop = dyn_cast<ForOp>(around))
      loops.insert(loops.begin(), loop);
  return loops;
}

std::optional<SmallVector<ForOp>> perpend::tile::loopsOfIterators(BlockOp block, std::string &why) {
  IndexNames names;
  Shape bindings = names.read(block.getBindings(), block.getVariables()), domain(block.getDomain().values());
  SmallVector<ForOp> loops;
  size_t bound = llvm::count_if(bindings, [](const SymbolicInt &binding) { return binding != SymbolicInt(0); });
  for (Operation *op = block; loops.size() < bound; op = loops.front()) {
    auto loop = dyn_cast<ForOp>(op->getParentOp());
    if (!loop || !llvm::hasSingleElement(*loop.body()))
      return why = "its loops hold more than the block; do this before blocks are joined", std::nullopt;
    auto binding = llvm::find(bindings, names.symbol(loop.variable()));
    if (binding == bindings.end() || loop.getExtent().values().front() != domain[binding - bindings.begin()])
      return why = "the loop '" + loop.getName().str() +
                   "' is not one of its iterators; do this before loops are "
                   "split, fused or moved",
             std::nullopt;
    if (loop.getKind() != LoopKind::Serial)
      return why = "the loop '" + loop.getName().str() + "' is " + stringifyLoopKind(loop.getKind()).str() +
                   "; do this before",
             std::nullopt;
    loops.insert(loops.begin(), loop);
  }
  for (auto [binding, extent] : llvm::zip(bindings, domain))
    if (binding == SymbolicInt(0) && extent != SymbolicInt(1))
      return why = "an iterator has no loop; do this before blocks are joined", std::nullopt;
  if (!block.getConditions().getDims().empty())
    return why = "it has a condition; do this before loops are split", std::nullopt;
  return loops;
}

bool perpend::tile::usesLoop(const SymbolicInt &expression, ForOp loop, IndexNames &names) {
  return expression.uses(names.nameOf(loop.variable()));
}

bool perpend::tile::usesIndices(const SymbolicInt &expression, const IndexNames &names) {
  return names.anyValue(expression, [](Value) { return true; });
}

bool perpend::tile::isOutside(const SymbolicInt &expression, Operation *loop, const IndexNames &names) {
  return !names.anyValue(expression, [&](Value value) {
    auto variable = dyn_cast<BlockArgument>(value);
    Operation *owner = variable ? variable.getOwner()->getParentOp() : nullptr;
    return !isa_and_nonnull<ForOp>(owner) || !owner->isAncestor(loop);
  });
}

SmallVector<BlockOp> perpend::tile::blocksInside(Operation *root) {
  SmallVector<BlockOp> blocks;
  root->walk<WalkOrder::PreOrder>([&](BlockOp block) {
    blocks.push_back(block);
    return WalkResult::skip();
  });
  return blocks;
}

std::optional<SpatialNest> perpend::tile::spatialNestOf(BlockOp block, Operation *outermost, KernelIndices &indices,
                                                        std::string &why) {
  SpatialNest nest;
  IndexNames &names = indices.names;
  IndexRanges ranges = indices.rangesAround(block);
  Shape bindings = indices.bindingsOf(block);
  auto isUsed = [&](ForOp loop, bool spatial) {
    for (auto [i, binding] : llvm::enumerate(bindings))
      if ((block.kind(i) == IteratorKind::Spatial) == spatial && usesLoop(simplify(binding, ranges), loop, names))
        return true;
    return false;
  };
  for (ForOp loop : loopsAround(block, outermost)) {
    bool isSpatial = isUsed(loop, true), isReduced = isUsed(loop, false);
    if (isSpatial && isReduced)
      return why = "the loop '" + loop.getName().str() + "' is both of spatial and of reduced iterators", std::nullopt;
    if (!loop.getVariables().empty())
      return why = "the extent of the loop '" + loop.getName().str() + "' depends on another loop", std::nullopt;
    if (isSpatial)
      nest.loops.push_back(loop);
    else
      nest.reduced.push_back(loop);
  }
  // An outer loop that is itself a spatial iterator contributes different points in each iteration.
  auto isFixed = [&](Value value) {
    auto loop = dyn_cast<ForOp>(value.getParentBlock()->getParentOp());
    auto binding = llvm::find(bindings, names.symbol(value));
    return loop && outermost && loop->isAncestor(outermost) && binding != bindings.end() &&
           block.kind(binding - bindings.begin()) == IteratorKind::Spatial;
  };
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  for (size_t i = 0; i < conditions.size(); i += 2) {
    SymbolicInt sides[] = {simplify(conditions[i], ranges), simplify(conditions[i + 1], ranges)};
    std::set<std::string> used;
    for (const SymbolicInt &side : sides)
      side.symbols(used);
    size_t indexValues = llvm::count_if(used, [&](const std::string &name) {
      Value value = names.value(name);
      return value && !isFixed(value);
    });
    size_t ofReduced =
        llvm::count_if(nest.reduced, [&](ForOp loop) { return used.count(names.nameOf(loop.variable())); });
    if (ofReduced && ofReduced != indexValues)
      return why = "a condition of the block '" + block.getName().str() + "' joins spatial and reduced loops",
             std::nullopt;
    if (!ofReduced)
      nest.conditions.append(std::begin(sides), std::end(sides));
  }
  return nest;
}

bool perpend::tile::holdsAtFirst(const SymbolicInt &left, const SymbolicInt &right, ArrayRef<ForOp> loops,
                                 Operation *op, KernelIndices &indices) {
  llvm::StringMap<SymbolicInt> first;
  for (ForOp loop : loops)
    first[indices.names.nameOf(loop.variable())] = SymbolicInt(0);
  std::optional<IndexBounds> bounds = boundsOf((left - right).substitute(first), indices.rangesAround(op));
  return bounds && (-bounds->high).knownPositive();
}

llvm::StringMap<SymbolicInt> perpend::tile::copyLoops(OpBuilder &builder, ArrayRef<ForOp> loops, IndexNames &names) {
  llvm::StringMap<SymbolicInt> replacements;
  for (ForOp loop : loops) {
    ForOp copy = createFor(builder, loop.getLoc(), names.read(loop.getExtent(), loop.getVariables()).front(),
                           loop.getName(), names);
    replacements[names.nameOf(loop.variable())] = names.symbol(copy.variable());
    builder.setInsertionPointToStart(copy.body());
  }
  return replacements;
}

void BlockHead::add(IteratorKind kind, const SymbolicInt &extent, const SymbolicInt &binding, StringRef iteratorName) {
  kinds.push_back(kind);
  domain.push_back(extent);
  bindings.push_back(binding);
  iteratorNames.push_back(iteratorName.str());
}

void BlockHead::add(BlockOp like, unsigned iterator, const SymbolicInt &binding) {
  add(like.kind(iterator), like.getDomain().values()[iterator], binding,
      cast<StringAttr>(like.getIteratorNames()[iterator]).getValue());
}

BlockOp perpend::tile::createBlock(OpBuilder &builder, Location loc, const BlockHead &head, IndexNames &names) {
  SmallVector<int32_t> kinds;
  SmallVector<Attribute> iteratorNames;
  for (IteratorKind kind : head.kinds)
    kinds.push_back(static_cast<int32_t>(kind));
  for (const std::string &name : head.iteratorNames)
    iteratorNames.push_back(builder.getStringAttr(name));
  SmallVector<Value> variables;
  MLIRContext *context = builder.getContext();
  graph::ShapeAttr bound = names.write(context, head.bindings, variables);
  graph::ShapeAttr conditions = names.write(context, head.conditions, variables);
  auto block = builder.create<BlockOp>(loc, variables, builder.getStringAttr(head.name), kinds,
                                       graph::ShapeAttr::get(context, head.domain), bound, conditions,
                                       builder.getArrayAttr(iteratorNames), builder.getDictionaryAttr({}));
  mlir::Block &body = block.getRegion().emplaceBlock();
  for (size_t i = 0; i < kinds.size(); ++i)
    body.addArgument(builder.getIndexType(), loc);
  return block;
}

void perpend::tile::setBindings(BlockOp block, ArrayRef<SymbolicInt> bindings, ArrayRef<SymbolicInt> conditions,
                                IndexNames &names) {
  SmallVector<Value> variables;
  block.setBindingsAttr(names.write(block.getContext(), bindings, variables));
  block.setConditionsAttr(names.write(block.getContext(), conditions, variables));
  block.getVariablesMutable().assign(variables);
}

void perpend::tile::shiftIterator(BlockOp block, unsigned number, const SymbolicInt &start) {
  if (start == SymbolicInt(0))
    return;
  IndexNames names;
  Value iterator = block.iterators()[number];
  SymbolicInt whole = names.symbol(iterator) + start;
  OpBuilder builder = OpBuilder::atBlockBegin(block.body());
  Value shifted = names.emit(builder, block.getLoc(), whole);
  iterator.replaceAllUsesExcept(shifted, shifted.getDefiningOp());
  replaceVariable(shifted, whole, names);
  if (shifted.use_empty())
    shifted.getDefiningOp()->erase();
}

Shape perpend::tile::createLoops(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> extents, StringRef stem,
                                 IndexNames &names) {
  Shape variables;
  for (auto [i, extent] : llvm::enumerate(extents)) {
    if (extent == SymbolicInt(1)) {
      variables.push_back(SymbolicInt(0));
      continue;
    }
    ForOp loop = createFor(builder, loc, extent, (stem + Twine(i)).str(), names);
    variables.push_back(names.symbol(loop.variable()));
    builder.setInsertionPointToStart(loop.body());
  }
  return variables;
}

BlockOp perpend::tile::createFill(OpBuilder builder, Location loc, Value to, StringRef name, ElementBody element) {
  IndexNames names;
  Shape shape = cast<BufferType>(to.getType()).extents();
  BlockHead head;
  head.name = name;
  for (auto [i, variable] : llvm::enumerate(createLoops(builder, loc, shape, "ax", names)))
    head.add(IteratorKind::Spatial, shape[i], variable, "v" + std::to_string(i));
  BlockOp block = createBlock(builder, loc, head, names);
  builder.setInsertionPointToStart(block.body());
  Shape index;
  for (Value iterator : block.iterators())
    index.push_back(names.symbol(iterator));
  createStore(builder, loc, element(builder, block, index, names), to, index, names);
  return block;
}

BlockOp perpend::tile::createCopy(OpBuilder builder, Location loc, Value from, Value to, StringRef name) {
  return createFill(builder, loc, to, name,
                    [&](OpBuilder &inner, BlockOp, ArrayRef<SymbolicInt> index, IndexNames &names) {
                      return createLoad(inner, loc, from, index, names);
                    });
}

std::string perpend::tile::uniqueName(func::FuncOp kernel, StringRef stem) {
  llvm::StringSet<> known;
  kernel.walk([&](Operation *op) {
    if (isa<BlockOp, AllocOp>(op))
      known.insert(op->getAttrOfType<StringAttr>("name").getValue());
  });
  std::string name = stem.str();
  for (unsigned i = 1; known.contains(name); ++i)
    name = (stem + "_" + Twine(i)).str();
  return name;
}

void perpend::tile::replaceIndex(Value index, const SymbolicInt &replacement, IndexNames &names, OpBuilder builder) {
  SmallVector<OpOperand *> others;
  for (OpOperand &use : index.getUses())
    if (!isa<LoadOp, StoreOp, IndexOp, ForOp, BlockOp>(use.getOwner()))
      others.push_back(&use);
  if (!others.empty()) {
    Value value = names.emit(builder, index.getLoc(), replacement);
    for (OpOperand *use : others)
      use->set(value);
  }
  replaceVariable(index, replacement, names);
}

Operation *perpend::tile::nestOf(Operation *block) {
  Operation *nest = block;
  while (isa<ForOp>(nest->getParentOp()) && llvm::hasSingleElement(*cast<ForOp>(nest->getParentOp()).body()))
    nest = nest->getParentOp();
  return nest;
}

//===----------------------------------------------------------------------===//
// Inits
//===----------------------------------------------------------------------===//

bool perpend::tile::mayBeEmpty(BlockOp reduction) {
  for (auto [i, extent] : llvm::enumerate(reduction.getDomain().values()))
    if (reduction.kind(i) == IteratorKind::Reduced && !extent.knownPositive())
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Stores that change nothing
//===----------------------------------------------------------------------===//

/// Collects the sides of comparisons `0 <= a < b` of iterators; false if the condition is of another form.
static bool collectComparisons(Value condition, BlockOp block, IndexNames &names, Shape &sides) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return collectComparisons(both.getLhs(), block, names, sides) &&
           collectComparisons(both.getRhs(), block, names, sides);
  auto comparison = condition.getDefiningOp<arith::CmpIOp>();
  if (!comparison || comparison.getPredicate() != arith::CmpIPredicate::ult || !comparison.getLhs().getType().isIndex())
    return false;
  for (Value side : comparison->getOperands()) {
    if (auto index = side.getDefiningOp<IndexOp>())
      sides.push_back(names.read(index.getExpression(), index.getVariables()).front());
    else if (auto constant = side.getDefiningOp<arith::ConstantIndexOp>())
      sides.emplace_back(constant.value());
    else
      sides.push_back(names.symbol(side));
    auto isOther = [&](Value value) { return !llvm::is_contained(block.iterators(), value); };
    if (names.anyValue(sides.back(), isOther))
      return false;
  }
  return true;
}

scf::IfOp perpend::tile::choiceToChange(BlockOp block) {
  auto store = dyn_cast<StoreOp>(block.body()->back());
  auto choice = store ? store.getValue().getDefiningOp<scf::IfOp>() : scf::IfOp();
  if (!choice || choice->getBlock() != block.body() || choice.getNumResults() != 1)
    return {};
  auto same = choice.elseYield().getOperand(0).getDefiningOp<LoadOp>();
  IndexNames names;
  Shape sides;
  bool isSame = same && same.getBuffer() == store.getBuffer() && same.getIndices() == store.getIndices() &&
                same.getVariables() == store.getVariables();
  return isSame && collectComparisons(choice.getCondition(), block, names, sides) ? choice : scf::IfOp();
}

void perpend::tile::skipUnchanged(BlockOp block) {
  scf::IfOp choice = block.init() ? scf::IfOp() : choiceToChange(block);
  if (!choice)
    return;
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(block), sides;
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  IndexRanges ranges = indices.rangesAround(block);
  collectComparisons(choice.getCondition(), block, indices.names, sides);
  llvm::StringMap<SymbolicInt> bound;
  for (auto [iterator, binding] : llvm::zip(block.iterators(), bindings))
    bound[indices.names.nameOf(iterator)] = binding;
  for (size_t i = 0; i < sides.size(); i += 2) {
    SymbolicInt left = simplify(sides[i].substitute(bound), ranges), right = sides[i + 1].substitute(bound);
    std::optional<IndexBounds> bounds = boundsOf(left, ranges);
    if (!bounds || !bounds->low.knownNonNegative())
      conditions.append({SymbolicInt(0), left + SymbolicInt(1)});
    if (!bounds || !(right - bounds->high).knownPositive())
      conditions.append({left, right});
  }
  setBindings(block, bindings, conditions, indices.names);
  cast<StoreOp>(block.body()->back()).getValueMutable().assign(choice.thenYield().getOperand(0));
  choice.thenYield()->erase();
  block.body()->getOperations().splice(choice->getIterator(), choice.thenBlock()->getOperations());
  choice->erase();
  removeDead(block);
}

BlockOp perpend::tile::decomposeReduction(func::FuncOp kernel, BlockOp block, ForOp loop, std::string &why) {
  KernelIndices indices;
  IndexNames &names = indices.names;
  InitOp init = block.init();
  Shape bindings = indices.bindingsOf(block);
  IndexRanges ranges = indices.rangesAround(block);
  for (auto [i, binding] : llvm::enumerate(bindings)) {
    for (ForOp outer : loopsAround(loop))
      if (block.kind(i) != IteratorKind::Spatial && usesLoop(simplify(binding, ranges), outer, names))
        return why = "the loop '" + outer.getName().str() + "' outside of it is one of the reduction", BlockOp();
    if (block.kind(i) != IteratorKind::Spatial && !block.iterators()[i].use_empty() &&
        llvm::any_of(block.iterators()[i].getUsers(), [&](Operation *user) { return init->isAncestor(user); }))
      return why = "the init uses a reduced iterator", BlockOp();
  }
  for (const Access &access : accessesIn(init))
    if (!statementIn(scopeOf(access.buffer()), loop))
      return why = "the buffer " + bufferName(access.buffer()) + " lives inside of the loop", BlockOp();
  for (const Access &access : accessesIn(init))
    if (isRolled(access.buffer()))
      for (const Access &other : accessesIn(loop, access.buffer()))
        if (!block->isAncestor(other.op))
          return why = "the rolled buffer " + bufferName(access.buffer()) + " is written again in the loop", BlockOp();
  std::optional<SpatialNest> nest = spatialNestOf(block, loop->getParentOp(), indices, why);
  if (!nest)
    return {};
  OpBuilder builder(loop);
  llvm::StringMap<SymbolicInt> replacements = copyLoops(builder, nest->loops, names);
  BlockHead head;
  head.name = uniqueName(kernel, block.getName().str() + "_init");
  for (const SymbolicInt &condition : nest->conditions)
    head.conditions.push_back(condition.substitute(replacements));
  IRMapping mapping;
  for (auto [i, binding] : llvm::enumerate(bindings))
    if (block.kind(i) == IteratorKind::Spatial)
      head.add(block, i, simplify(binding, ranges).substitute(replacements));
  BlockOp created = createBlock(builder, block.getLoc(), head, names);
  for (auto [from, to] : llvm::zip(block.iterators(), created.iterators())) // the spatial iterators come first
    mapping.map(from, to);
  builder.setInsertionPointToStart(created.body());
  for (Operation &op : init.getRegion().front())
    builder.clone(op, mapping);
  init.erase();
  return created;
}
