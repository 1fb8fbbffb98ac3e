//===- Loops.cpp - primitives on loops: split, fuse, kinds ----------------===//

#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Expressions that use a variable
//===----------------------------------------------------------------------===//

namespace {
/// The expression lists of one operation, for rewriting.
class ExpressionLists {
public:
  explicit ExpressionLists(Operation *op) : op(op) {}

  bool empty() { return lists().empty(); }

  void substitute(const llvm::StringMap<SymbolicInt> &replacements, IndexNames &names) {
    SmallVector<Value> variables;
    ValueRange before = variablesOf();
    for (StringRef name : lists()) {
      Shape expressions = names.read(op->getAttrOfType<graph::ShapeAttr>(name), before);
      for (SymbolicInt &expression : expressions)
        expression = expression.substitute(replacements);
      op->setAttr(name, names.write(op->getContext(), expressions, variables));
    }
    setVariables(variables);
  }

private:
  SmallVector<StringRef> lists() {
    if (auto loop = dyn_cast<ForOp>(op))
      return {loop.getExtentAttrName()};
    if (auto block = dyn_cast<BlockOp>(op))
      return {block.getBindingsAttrName(), block.getConditionsAttrName()};
    if (isa<LoadOp, StoreOp>(op))
      return {"indices"};
    if (isa<IndexOp>(op))
      return {"expression"};
    return {};
  }

  unsigned firstVariable() { return isa<StoreOp>(op) ? 2 : isa<LoadOp>(op) ? 1 : 0; }
  ValueRange variablesOf() { return op->getOperands().drop_front(firstVariable()); }
  void setVariables(ArrayRef<Value> variables) {
    SmallVector<Value> operands(op->getOperands().take_front(firstVariable()));
    llvm::append_range(operands, variables);
    op->setOperands(operands);
  }

  Operation *op;
};
} // namespace

void perpend::tile::replaceVariable(Value variable, const SymbolicInt &replacement, IndexNames &names) {
  llvm::StringMap<SymbolicInt> replacements;
  replacements[names.nameOf(variable)] = replacement;
  llvm::SetVector<Operation *> users(variable.user_begin(), variable.user_end());
  for (Operation *user : users)
    if (ExpressionLists lists(user); !lists.empty())
      lists.substitute(replacements, names);
}

/// Moves the body of `from` into `to`.
static void moveBody(ForOp from, ForOp to) {
  to.body()->getOperations().splice(to.body()->end(), from.body()->getOperations());
}

//===----------------------------------------------------------------------===//
// split, fuse
//===----------------------------------------------------------------------===//

std::string KernelSchedule::textOf(ArrayRef<Factor> factors) const {
  std::string text;
  for (const Factor &factor : factors)
    text += (text.empty() ? "[" : ", ") + (factor.number  ? nameOf(*factor.number)
                                           : factor.value ? std::to_string(*factor.value)
                                                          : "_");
  return text.empty() ? "[]" : text + "]";
}

SmallVector<std::optional<int64_t>> KernelSchedule::valuesOf(ArrayRef<Factor> factors) const {
  SmallVector<std::optional<int64_t>> values;
  for (const Factor &factor : factors)
    values.push_back(factor.number ? value(*factor.number) : factor.value);
  return values;
}

/// Adds the condition whole < extent to the blocks inside.
static void addCondition(ForOp loop, const SymbolicInt &whole, const SymbolicInt &extent, IndexNames &names) {
  loop.walk([&](BlockOp block) {
    if (block->getParentOfType<BlockOp>())
      return;
    Shape conditions = names.read(block.getConditions(), block.getVariables());
    Shape bindings = names.read(block.getBindings(), block.getVariables());
    conditions.append({whole, extent});
    setBindings(block, bindings, conditions, names);
  });
}

/// At most one factor may be free.
FailureOr<SmallVector<KernelSchedule::Loop>> KernelSchedule::split(Loop handle, ArrayRef<Factor> list) {
  FailureOr<ForOp> found = find(handle);
  if (failed(found))
    return failure();
  ForOp loop = *found;
  std::string title = "split " + nameOf(handle) + ": ";
  if (loop.getKind() != LoopKind::Serial)
    return refuse(title + "the loop is " + stringifyLoopKind(loop.getKind()) + "; split it before");
  if (!loop.getVariables().empty())
    return refuse(title + "the extent depends on another loop");
  SmallVector<std::optional<int64_t>> factors = valuesOf(list);
  if (factors.empty() || llvm::count(factors, std::nullopt) > 1)
    return refuse(title + "expected factors, one of them free at most, got " + textOf(list));
  IndexNames names;
  SymbolicInt extent = names.read(loop.getExtent(), loop.getVariables()).front(), known(1);
  for (std::optional<int64_t> factor : factors) {
    if (factor && *factor < 1)
      return refuse(title + "expected a factor of at least 1, got " + Twine(*factor));
    known *= SymbolicInt(factor.value_or(1));
  }
  bool isFree = llvm::is_contained(factors, std::nullopt);
  SymbolicInt count = isFree ? support::ceilDiv(extent, known) : SymbolicInt(1), product = count * known;
  if (count.isPoison() || product.isPoison())
    return refuse(title + "the number of parts is too long an expression");
  if (!(product - extent).knownNonNegative() && !isFree)
    return refuse(title + "the factors " + textOf(list) + " do not cover the extent " + extent.str() +
                  "; leave one of them free (_)");
  OpBuilder builder(loop);
  SmallVector<ForOp> parts;
  SymbolicInt whole, stride(1);
  for (auto [i, factor] : llvm::enumerate(factors)) {
    SymbolicInt part = factor ? SymbolicInt(*factor) : count;
    parts.push_back(createFor(builder, loop.getLoc(), part, (loop.getName() + "_" + Twine(i)).str(), names));
    builder.setInsertionPointToStart(parts.back().body());
  }
  for (size_t i = parts.size(); i-- > 0;) {
    whole += names.symbol(parts[i].variable()) * stride;
    stride *= factors[i] ? SymbolicInt(*factors[i]) : count;
  }
  moveBody(loop, parts.back());
  replaceVariable(loop.variable(), whole, names);
  if (product != extent)
    addCondition(parts.back(), whole, extent, names);
  erase(loop);
  SmallVector<Loop> results;
  SmallVector<std::string> texts;
  for (ForOp part : parts) {
    results.push_back({addHandle(part, part.getName())});
    texts.push_back(nameOf(results.back()));
  }
  record("split", texts, {nameOf(handle), textOf(list)});
  return results;
}

FailureOr<std::pair<KernelSchedule::Loop, KernelSchedule::Loop>> KernelSchedule::split(Loop loop, int64_t factor) {
  FailureOr<SmallVector<Loop>> parts = split(loop, {Factor(), Factor(factor)});
  if (failed(parts))
    return failure();
  return std::make_pair((*parts)[0], (*parts)[1]);
}

/// A possibly empty reduction whose reduced iterators depend on one of the loops from `outer` to `inner`, and its
/// spatial iterators on another.
static BlockOp emptyReductionOver(ForOp outer, ForOp inner) {
  BlockOp found;
  inner.walk([&](BlockOp block) {
    if (!block.init() || !mayBeEmpty(block))
      return;
    KernelIndices indices;
    bool uses[2] = {false, false};
    for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
      for (ForOp loop = inner; loop; loop = loop == outer ? ForOp() : cast<ForOp>(loop->getParentOp()))
        uses[block.kind(i) == IteratorKind::Spatial] |= usesLoop(binding, loop, indices.names);
    if (uses[0] && uses[1])
      found = block;
  });
  return found;
}

FailureOr<KernelSchedule::Loop> KernelSchedule::fuse(ArrayRef<Loop> list) {
  SmallVector<ForOp> loops;
  for (Loop handle : list) {
    FailureOr<ForOp> found = find(handle);
    if (failed(found))
      return failure();
    loops.push_back(*found);
  }
  if (loops.empty())
    return refuse("fuse: expected at least one loop");
  IndexNames names;
  SymbolicInt extent(1);
  Shape extents;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    std::string name = nameOf(list[i]);
    if (loop.getKind() != LoopKind::Serial)
      return refuse("fuse: " + name + " is " + stringifyLoopKind(loop.getKind()) + "; fuse it before");
    if (i && (loop->getParentOp() != loops[i - 1] || !llvm::hasSingleElement(*loops[i - 1].body())))
      return refuse("fuse: " + name + " does not stand alone in " + nameOf(list[i - 1]));
    if (!loop.getVariables().empty())
      return refuse("fuse: the extent of " + name + " depends on another loop");
    if (BlockOp reduction = emptyReductionOver(loops.front(), loop); i && reduction)
      return refuse("fuse: the reduction '" + reduction.getName() + "' over " + name +
                    " may be empty, and would then not run its init; decompose_reduction before");
    extents.push_back(names.read(loop.getExtent(), loop.getVariables()).front());
    extent *= extents.back();
  }
  if (extent.isPoison())
    return refuse("fuse: the product of the extents is too long an expression");
  OpBuilder builder(loops.front());
  std::string name = "fused";
  for (ForOp loop : loops)
    name += "_" + loop.getName().str();
  ForOp fused = createFor(builder, loops.front().getLoc(), extent, name, names);
  moveBody(loops.back(), fused);
  SymbolicInt rest = names.symbol(fused.variable());
  for (size_t i = loops.size(); i-- > 0;) {
    SymbolicInt divisor = support::max(extents[i], SymbolicInt(1));
    replaceVariable(loops[i].variable(), i ? support::mod(rest, divisor) : rest, names);
    rest = support::floorDiv(rest, divisor);
  }
  erase(loops.front());
  SmallVector<std::string> operands;
  for (Loop handle : list)
    operands.push_back(nameOf(handle));
  Loop result{addHandle(fused, fused.getName())};
  record("fuse", nameOf(result), operands);
  return result;
}

//===----------------------------------------------------------------------===//
// Kinds of loops
//===----------------------------------------------------------------------===//

/// Finds a read of an element that another iteration may write. Only buffers that outlive an iteration count. Each load
/// must be at the position of a store in the dimensions along which iterations store apart.
static std::optional<Access> readOfAnother(ForOp loop, KernelIndices &indices, const std::string &variable) {
  auto isOutside = [&](const Access &access) {
    return !loop->isAncestor(access.buffer().getParentRegion()->getParentOp());
  };
  SmallVector<Access> accesses = accessesIn(loop);
  for (const Access &store : accesses) {
    if (!store.isStore() || !isOutside(store))
      continue;
    Shape stored = indices.indicesOf(store);
    for (const Access &load : accesses) {
      if (load.isStore() || load.buffer() != store.buffer())
        continue;
      for (auto [at, from] : llvm::zip(stored, indices.indicesOf(load))) {
        if (at.uses(variable) && at != from)
          return load;
      }
    }
  }
  return std::nullopt;
}

/// Checks that iterations write different elements and read none that others write: only spatial iterators of the
/// blocks inside depend on the variable, and every buffer that outlives an iteration is written by blocks that depend
/// on it.
LogicalResult KernelSchedule::checkIndependent(ForOp loop) {
  KernelIndices indices;
  std::string variable = indices.names.nameOf(loop.variable());
  if (std::optional<Access> load = readOfAnother(loop, indices, variable)) {
    auto block = load->op->getParentOfType<BlockOp>();
    reason =
        ("the block '" + (block ? block.getName() : StringRef("")) + "' may read what another iteration writes").str();
    return failure();
  }
  WalkResult result = loop.walk([&](BlockOp block) {
    bool isSpatial = false;
    for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block))) {
      if (!binding.uses(variable))
        continue;
      isSpatial |= block.kind(i) == IteratorKind::Spatial;
      if (block.kind(i) == IteratorKind::Spatial)
        continue;
      reason = ("the " + stringifyIteratorKind(block.kind(i)) + " iterator " + Twine(i) + " of the block '" +
                block.getName() + "' depends on it")
                   .str();
      return WalkResult::interrupt();
    }
    bool writesOutside = llvm::any_of(accessesIn(block), [&](const Access &access) {
      return access.isStore() && !loop->isAncestor(access.buffer().getParentRegion()->getParentOp());
    });
    if (isSpatial || !writesOutside)
      return WalkResult::advance();
    reason = ("the block '" + block.getName() + "' writes the same elements in each of its iterations").str();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult KernelSchedule::setKind(Loop handle, LoopKind kind, StringRef primitive) {
  FailureOr<ForOp> loop = find(handle);
  if (failed(loop))
    return failure();
  if (loop->getKind() != LoopKind::Serial)
    return refuse(primitive + " " + nameOf(handle) + ": the loop is " + stringifyLoopKind(loop->getKind()) +
                  " already");
  if (kind != LoopKind::Unrolled && failed(checkIndependent(*loop)))
    return refuse(primitive + " " + nameOf(handle) + ": " + Twine(std::string(reason)));
  loop->setKind(kind);
  record(primitive, {}, nameOf(handle));
  return success();
}

LogicalResult KernelSchedule::parallel(Loop loop) { return setKind(loop, LoopKind::Parallel, "parallel"); }
LogicalResult KernelSchedule::vectorize(Loop loop) { return setKind(loop, LoopKind::Vectorized, "vectorize"); }

LogicalResult KernelSchedule::unroll(Loop handle) {
  FailureOr<ForOp> loop = find(handle);
  if (failed(loop))
    return failure();
  if (!loop->getExtent().values().front().isConstant())
    return refuse("unroll " + nameOf(handle) + ": expected an extent that is a number, got " +
                  loop->getExtent().values().front().str());
  constexpr int64_t mostCopies = 1024; // LLVM takes seconds for these, minutes for four times as many
  for (BlockOp block : blocksInside(*loop)) {
    int64_t copies = 1;
    for (ForOp around : loopsAround(block))
      if (around == *loop || around.getKind() == LoopKind::Unrolled)
        copies = std::min(copies * around.getExtent().values().front().constant().value_or(1), mostCopies + 1);
    if (copies > mostCopies)
      return refuse("unroll " + nameOf(handle) + ": the block '" + block.getName() + "' would be written more than " +
                    Twine(mostCopies) + " times");
  }
  return setKind(handle, LoopKind::Unrolled, "unroll");
}

/// Why a loop cannot be bound to the level at this position; empty if it can. Instances of the outermost level share
/// any number of iterations; those of a level inside take one each.
static std::string obstacleOfBinding(func::FuncOp kernel, ForOp loop, ArrayRef<target::Level> levels, size_t own) {
  const target::Level &level = levels[own];
  SymbolicInt extent = loop.getExtent().values().front();
  if (own > 0 && level.count && !(SymbolicInt(int64_t(level.count)) - extent).knownNonNegative())
    return "expected an extent of at most " + std::to_string(level.count) + ", as many as '" + level.name +
           "' has, got " + extent.str();
  std::string why;
  kernel.walk([&](ForOp other) {
    auto bound = other.getAnnotations().getAs<StringAttr>(levelAnnotation);
    if (other == loop || !bound)
      return;
    size_t theirs = llvm::find_if(levels, [&](const auto &each) { return each.name == bound; }) - levels.begin();
    std::string name = "the loop '" + other.getName().str() + "', which is bound to " + bound.str();
    if (other->isAncestor(loop) && theirs >= own)
      why = name + ", is around it";
    else if (loop->isAncestor(other) && theirs <= own)
      why = name + ", is inside of it";
    else if (theirs == own && other.getExtent() != loop.getExtent())
      why = name + ", has another extent: " + other.getExtent().values().front().str();
  });
  return why;
}

LogicalResult KernelSchedule::bind(Loop handle, StringRef level) {
  FailureOr<ForOp> loop = find(handle);
  if (failed(loop))
    return failure();
  std::string title = "bind " + nameOf(handle) + ": ";
  auto known = llvm::find_if(levels, [&](const target::Level &each) { return each.name == level; });
  if (levels.empty())
    return refuse(title + "the target has no levels");
  if (known == levels.end())
    return refuse(title + "expected one of the target's levels " +
                  llvm::join(llvm::map_range(levels, [](const target::Level &each) { return each.name; }), ", ") +
                  ", got '" + level + "'");
  if (std::string why = obstacleOfBinding(kernel, *loop, levels, known - levels.begin()); !why.empty())
    return refuse(title + why);
  if (failed(setKind(handle, LoopKind::Parallel, "bind")))
    return failure();
  NamedAttrList list(loop->getAnnotations());
  list.set(levelAnnotation, StringAttr::get(kernel.getContext(), level));
  loop->setAnnotationsAttr(list.getDictionary(kernel.getContext()));
  instructions.back().operands.push_back(quotedText(level));
  return success();
}
