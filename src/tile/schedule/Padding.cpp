//===- Padding.cpp - primitives that separate padding ---------------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// The range of an iterator in which a condition holds: low <= iterator < high.
struct Inside {
  SymbolicInt low, high;
};

/// A block that reads where a condition on its iterators holds, and otherwise stores a value without reading.
struct Padded {
  scf::IfOp choice;
  /// One for each iterator.
  SmallVector<Inside> inside;
};

class PaddingFinder {
public:
  explicit PaddingFinder(BlockOp block) : block(block) {}

  std::optional<Padded> find(std::string &why) {
    Padded padded;
    for (Operation &op : *block.body())
      if (auto choice = dyn_cast<scf::IfOp>(op)) {
        if (padded.choice)
          return why = "it has more than one condition", std::nullopt;
        padded.choice = choice;
      }
    if (!padded.choice || !padded.choice.elseBlock())
      return why = "it does not choose between two values", std::nullopt;
    if (readsOutside(padded.choice))
      return why = "it reads memory outside of what is padded", std::nullopt;
    for (const SymbolicInt &extent : block.getDomain().values())
      padded.inside.push_back({SymbolicInt(0), extent});
    if (!addCondition(padded.choice.getCondition(), padded.inside))
      return why = "its condition does not bound its iterators", std::nullopt;
    return padded;
  }

private:
  static bool readsOutside(scf::IfOp choice) {
    return choice.getElseRegion().walk([](LoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  std::optional<SymbolicInt> expression(Value index) {
    Operation *op = index.getDefiningOp();
    if (auto constant = dyn_cast_or_null<arith::ConstantIndexOp>(op))
      return SymbolicInt(constant.value());
    if (auto computed = dyn_cast_or_null<IndexOp>(op))
      return names.read(computed.getExpression(), computed.getVariables()).front();
    return llvm::is_contained(block.iterators(), index) ? std::optional(names.symbol(index)) : std::nullopt;
  }

  bool addCondition(Value condition, SmallVectorImpl<Inside> &inside) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return addCondition(both.getLhs(), inside) && addCondition(both.getRhs(), inside);
    auto comparison = condition.getDefiningOp<arith::CmpIOp>();
    if (!comparison)
      return false;
    std::optional<SymbolicInt> left = expression(comparison.getLhs()), right = expression(comparison.getRhs());
    if (!left || !right)
      return false;
    arith::CmpIPredicate predicate = comparison.getPredicate();
    if (predicate == arith::CmpIPredicate::slt)
      return addNegative(*left - *right, inside);
    return predicate == arith::CmpIPredicate::ult && addNegative(*left - *right, inside) &&
           addNegative(SymbolicInt(-1) - *left, inside);
  }

  /// Adds the condition difference < 0, where the difference is a multiple of one iterator plus other terms.
  bool addNegative(const SymbolicInt &difference, SmallVectorImpl<Inside> &inside) {
    for (auto [i, iterator] : llvm::enumerate(block.iterators())) {
      auto [first, slope] = along(difference, names.nameOf(iterator));
      if (slope == SymbolicInt(0))
        continue;
      bool isPlain = !usesIndices(first, names);
      if (isPlain && slope == SymbolicInt(1)) // means iterator < -first
        inside[i].high = support::max(support::min(inside[i].high, -first), inside[i].low);
      else if (isPlain && slope == SymbolicInt(-1)) // means first < iterator
        inside[i].low = support::min(support::max(inside[i].low, first + SymbolicInt(1)), inside[i].high);
      else
        return false;
      return !inside[i].low.isPoison() && !inside[i].high.isPoison();
    }
    return false;
  }

  BlockOp block;
  IndexNames names;
};
} // namespace

/// Whether the iterations of these loops store distinct elements, one each: every index is an iterator or, in
/// dimensions along which the loops do not move, a constant.
static bool storesOnce(BlockOp block, ArrayRef<ForOp> loops, KernelIndices &indices, std::string &why) {
  why = "the indices of its store are not exactly its spatial iterators";
  auto stores = block.body()->getOps<StoreOp>();
  if (!llvm::hasSingleElement(stores) || accessesIn(block, (*stores.begin()).getBuffer()).size() != 1 ||
      buffersOf(block, /*isWritten=*/true).size() != 1)
    return false;
  StoreOp store = *stores.begin();
  Shape bindings = indices.bindingsOf(block), stored = indices.names.read(store.getIndices(), store.getVariables());
  auto isStored = [&](Value iterator) { return llvm::is_contained(stored, indices.names.symbol(iterator)); };
  for (const SymbolicInt &index : stored)
    if (!index.isConstant() &&
        llvm::none_of(block.iterators(), [&](Value iterator) { return index == indices.names.symbol(iterator); }))
      return false;
  for (auto [i, iterator] : llvm::enumerate(block.iterators())) {
    auto moves = [&](ForOp loop) { return usesLoop(bindings[i], loop, indices.names); };
    if (block.kind(i) != IteratorKind::Spatial || (!isStored(iterator) && llvm::any_of(loops, moves)))
      return false;
  }
  why.clear();
  return true;
}

FailureOr<KernelSchedule::Block> KernelSchedule::decomposePadding(Block blockHandle, Loop loopHandle) {
  BlockOp block;
  ForOp loop;
  if (failed(find(blockHandle, loopHandle, block, loop)))
    return failure();
  std::string why, title = "decompose_padding " + nameOf(blockHandle) + ", " + nameOf(loopHandle) + ": ";
  if (!loop->isAncestor(block))
    return refuse(title + "the loop is not around the block '" + block.getName() + "'");
  SmallVector<ForOp> loops = loopsAround(block, loop->getParentOp());
  for (ForOp inner : loops)
    if (bool isSerial = inner.getKind() == LoopKind::Serial; !isSerial || !llvm::hasSingleElement(*inner.body()))
      return refuse(title + "the loop '" + inner.getName() +
                    (isSerial ? "' holds more than the block" : "' is not serial"));
  KernelIndices indices;
  IndexNames &names = indices.names;
  bool isStored = storesOnce(block, loops, indices, why);
  std::optional<Padded> padded = isStored ? PaddingFinder(block).find(why) : std::nullopt;
  if (!padded)
    return refuse(title + "the block '" + block.getName() + "' pads nothing: " + why);
  Shape bindings = indices.bindingsOf(block), before = indices.resolve(block.getConditions(), block.getVariables());
  Shape conditions(before);
  SmallVector<bool> isConditional(bindings.size(), false);
  auto isAlone = [&](unsigned iterator, ForOp own) {
    auto uses = [&](const SymbolicInt &expression) { return usesLoop(expression, own, names); };
    return bindings[iterator] == names.symbol(own.variable()) &&
           indices.extentOf(own) == block.getDomain().values()[iterator] && llvm::count_if(bindings, uses) == 1 &&
           llvm::none_of(before, uses);
  };
  for (auto [i, inside] : llvm::enumerate(padded->inside)) {
    if (inside.low == SymbolicInt(0) && inside.high == block.getDomain().values()[i])
      continue;
    auto own = llvm::find_if(loops, [&](ForOp l) { return usesLoop(bindings[i], l, names); });
    if (own != loops.end() && isAlone(i, *own))
      continue;
    if (own != loops.end() && inside.low != SymbolicInt(0))
      return refuse(title + "the iterator " + Twine(i) +
                    " is not the variable of a loop over all of it; decompose_padding before split, fuse and "
                    "compute_at");
    if (inside.low != SymbolicInt(0))
      conditions.append({inside.low - SymbolicInt(1), bindings[i]});
    conditions.append({bindings[i], inside.high});
    isConditional[i] = true;
  }
  // First a nest that fills the padding, then the original nest over the inside only.
  OpBuilder builder(loop);
  llvm::StringMap<SymbolicInt> replacements = copyLoops(builder, loops, names);
  auto fill = cast<BlockOp>(builder.clone(*block));
  fill.setName(uniqueName(kernel, block.getName().str() + "_pad"));
  Shape fillBindings(bindings);
  for (Shape *list : {&fillBindings, &before})
    for (SymbolicInt &expression : *list)
      expression = expression.substitute(replacements);
  setBindings(fill, fillBindings, before, names);
  takeBranch(*fill.body()->getOps<scf::IfOp>().begin(), /*holds=*/false);
  takeBranch(padded->choice, /*holds=*/true);
  // The iterators count from the start of the inside.
  Shape domain(block.getDomain().values());
  OpBuilder body = OpBuilder::atBlockBegin(block.body());
  for (auto [i, inside] : llvm::enumerate(padded->inside)) {
    if (inside.low == SymbolicInt(0) && inside.high == domain[i])
      continue;
    Value iterator = block.iterators()[i];
    domain[i] = inside.high - inside.low;
    replaceIndex(iterator, names.symbol(iterator) + inside.low, names, body);
    auto own = llvm::find_if(loops, [&](ForOp inner) { return usesLoop(bindings[i], inner, names); });
    if (isConditional[i]) {
      bindings[i] = bindings[i] - inside.low;
      continue;
    }
    SmallVector<Value> variables;
    own->setExtentAttr(names.write(own->getContext(), domain[i], variables));
    own->getVariablesMutable().assign(variables);
  }
  block.setDomainAttr(graph::ShapeAttr::get(block.getContext(), domain));
  setBindings(block, bindings, conditions, names);
  Block result{addHandle(fill, fill.getName())};
  record("decompose_padding", nameOf(result), {nameOf(blockHandle), nameOf(loopHandle)});
  return result;
}

LogicalResult KernelSchedule::canDecomposePadding(Block block, Loop loop) {
  auto step = [&](KernelSchedule &trial) -> LogicalResult { return trial.decomposePadding(block, loop); };
  if (failed(tryOut(step)))
    return refuse("can_" + Twine(std::string(reason)));
  record("can_decompose_padding", {}, {nameOf(block), nameOf(loop)});
  return success();
}
