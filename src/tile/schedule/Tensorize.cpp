//===- Tensorize.cpp - primitives that replace a nest by an intrinsic -----===//
//
// blockize encloses a nest in a new block. If the inner block has an iterator bound
// to 8 * %i + %j, with %j inside the nest, the new block gets an iterator %o = %i,
// and the inner binding becomes 8 * %o + %j.
//
// tensorize only annotates the block. The nest inside remains its meaning, so that
// other primitives and the interpreter still see its accesses. FlattenBlocks
// replaces it by the intrinsic.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/intrinsics/Expand.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// blockize
//===----------------------------------------------------------------------===//

namespace {
/// One iterator, or one side of a condition, divided into the parts of outer and inner loops.
struct Division {
  SymbolicInt inner, outer;
};

class Blockizer {
public:
  Blockizer(ForOp loop, BlockOp block) : loop(loop), block(block), ranges(indices.rangesAround(block)) {
    for (ForOp around : loopsAround(block, loop->getParentOp()))
      insideNames.insert(indices.names.nameOf(around.variable()));
  }

  /// False, with a reason, if division is impossible; nothing has changed then.
  bool analyse(std::string &why);
  BlockOp apply(func::FuncOp kernel);

private:
  std::optional<Division> divide(const SymbolicInt &expression);
  bool divideIterator(unsigned number, const SymbolicInt &binding, std::string &why);
  bool divideConditions(std::string &why);
  std::optional<SymbolicInt> inTermsOfOuter(const SymbolicInt &expression);

  struct Outer {
    unsigned iterator;
    int64_t step;
    SymbolicInt part, extent;
  };

  ForOp loop;
  BlockOp block;
  KernelIndices indices;
  IndexRanges ranges;
  std::set<std::string> insideNames;
  SmallVector<Outer> outers;
  Shape innerBindings;
  /// Pairs of sides.
  Shape outerConditions;
  SmallVector<std::pair<Division, Division>> innerConditions;
};
} // namespace

std::optional<Division> Blockizer::divide(const SymbolicInt &expression) {
  SymbolicInt simple = simplify(expression, ranges);
  Division division{SymbolicInt(0), SymbolicInt(0)};
  if (simple.isPoison())
    return std::nullopt;
  for (const support::SymbolicTerm &term : simple.terms()) {
    SymbolicInt product(term.coefficient);
    for (const support::SymbolicFactor &factor : term.factors)
      for (unsigned i = 0; i < factor.power; ++i)
        product *= SymbolicInt::of(factor.atom);
    std::set<std::string> used;
    product.symbols(used);
    size_t inside = llvm::count_if(used, [&](const std::string &name) { return insideNames.count(name) != 0; });
    size_t values = llvm::count_if(used, [&](const std::string &name) { return bool(indices.names.value(name)); });
    if (inside && inside != values)
      return std::nullopt;
    (inside ? division.inner : division.outer) += product;
  }
  return division;
}

static int64_t commonFactor(const SymbolicInt &expression) {
  int64_t factor = 0;
  for (const support::SymbolicTerm &term : expression.terms())
    factor = std::gcd(factor, term.coefficient);
  return factor;
}

bool Blockizer::divideIterator(unsigned number, const SymbolicInt &binding, std::string &why) {
  std::string title = "the iterator " + cast<StringAttr>(block.getIteratorNames()[number]).getValue().str() +
                      " of the block '" + block.getName().str() + "' ";
  std::optional<Division> parts = divide(binding);
  if (!parts || block.kind(number) == IteratorKind::Opaque)
    return why = title + "is no sum of what the loops inside and those outside give", false;
  innerBindings.push_back(parts->inner);
  if (parts->outer == SymbolicInt(0))
    return true;
  if (block.kind(number) == IteratorKind::Reduced && block.init())
    return why = title + "goes on outside of the loop, where its init would be repeated; decompose_reduction before",
           false;
  int64_t step = commonFactor(parts->outer);
  std::optional<SymbolicInt> part = support::exactDiv(parts->outer, SymbolicInt(step));
  std::optional<IndexBounds> bounds = part ? boundsOf(*part, ranges) : std::nullopt;
  std::optional<IndexBounds> inside = boundsOf(parts->inner, ranges);
  if (!bounds || !inside || !bounds->low.knownNonNegative())
    return why = title + "has an unknown range", false;
  if (!(SymbolicInt(step - 1) - inside->high).knownNonNegative())
    return why = title + "takes steps of " + std::to_string(step) + " outside of the loop, fewer than are inside",
           false;
  outers.push_back({number, step, *part, bounds->high + SymbolicInt(1)});
  return true;
}

/// Moves conditions on outer loops alone to the new block.
bool Blockizer::divideConditions(std::string &why) {
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  for (size_t i = 0; i < conditions.size(); i += 2) {
    std::optional<Division> left = divide(conditions[i]), right = divide(conditions[i + 1]);
    bool isInside = left && right && (left->inner != SymbolicInt(0) || right->inner != SymbolicInt(0));
    if (left && right && !isInside) {
      outerConditions.append({left->outer, right->outer});
      continue;
    }
    if (!isInside || !inTermsOfOuter(left->outer) || !inTermsOfOuter(right->outer))
      return why = "a condition of the block '" + block.getName().str() + "' cannot be told from loops outside", false;
    innerConditions.push_back({*left, *right});
  }
  return true;
}

/// The expression over the new block's iterators, as symbols #0, #1, … that are replaced once the block exists.
std::optional<SymbolicInt> Blockizer::inTermsOfOuter(const SymbolicInt &expression) {
  auto isFixed = [&](const SymbolicInt &part) { return !usesIndices(part, indices.names); };
  if (isFixed(expression))
    return expression;
  for (auto [number, outer] : llvm::enumerate(outers))
    if (SymbolicInt rest = expression - outer.part * SymbolicInt(outer.step); isFixed(rest))
      return rest + SymbolicInt::symbol("#" + std::to_string(number)) * SymbolicInt(outer.step);
  return std::nullopt;
}

bool Blockizer::analyse(std::string &why) {
  for (ForOp around : loopsAround(block, loop->getParentOp()))
    if (!around.getVariables().empty())
      return why = "the extent of the loop '" + around.getName().str() + "' depends on another loop", false;
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
    if (!divideIterator(i, binding, why))
      return false;
  return divideConditions(why);
}

BlockOp Blockizer::apply(func::FuncOp kernel) {
  BlockHead head;
  head.name = uniqueName(kernel, block.getName().str() + "_o");
  for (const Outer &outer : outers)
    head.add(block.kind(outer.iterator), outer.extent, outer.part,
             (cast<StringAttr>(block.getIteratorNames()[outer.iterator]).getValue() + "o").str());
  head.conditions = outerConditions;
  OpBuilder builder(loop);
  BlockOp created = createBlock(builder, block.getLoc(), head, indices.names);
  llvm::StringMap<SymbolicInt> iterators;
  for (auto [number, iterator] : llvm::enumerate(created.iterators()))
    iterators["#" + std::to_string(number)] = indices.names.symbol(iterator);
  Shape bindings(innerBindings), conditions;
  for (auto [number, outer] : llvm::enumerate(outers))
    bindings[outer.iterator] += iterators["#" + std::to_string(number)] * SymbolicInt(outer.step);
  for (const auto &[left, right] : innerConditions)
    for (const Division &side : {left, right})
      conditions.push_back(side.inner + inTermsOfOuter(side.outer)->substitute(iterators));
  loop->moveBefore(created.body(), created.body()->end());
  setBindings(block, bindings, conditions, indices.names);
  return created;
}

/// The only block in a perfect loop nest.
static BlockOp onlyBlockIn(ForOp loop) {
  Operation *next = loop;
  while (auto inner = dyn_cast<ForOp>(next)) {
    if (!llvm::hasSingleElement(*inner.body()))
      return {};
    next = &inner.body()->front();
  }
  return dyn_cast<BlockOp>(next);
}

FailureOr<KernelSchedule::Block> KernelSchedule::blockize(Loop handle) {
  FailureOr<ForOp> loop = find(handle);
  if (failed(loop))
    return failure();
  std::string why, title = "blockize " + nameOf(handle) + ": ";
  BlockOp block = onlyBlockIn(*loop);
  if (!block)
    return refuse(title + "expected loops around a single block");
  Blockizer blockizer(*loop, block);
  if (!blockizer.analyse(why))
    return refuse(title + why);
  BlockOp created = blockizer.apply(kernel);
  Block result{addHandle(created, created.getName())};
  record("blockize", nameOf(result), nameOf(handle));
  return result;
}

//===----------------------------------------------------------------------===//
// tensorize
//===----------------------------------------------------------------------===//

LogicalResult KernelSchedule::tensorize(Place place, StringRef name) {
  FailureOr<Operation *> found = find(place);
  if (failed(found))
    return failure();
  std::string why, title = "tensorize " + nameOf(place) + ", " + quotedText(name) + ": ";
  IntrinsicLibrary &library = IntrinsicLibrary::of(context());
  const Intrinsic *intrinsic = library.find(name);
  if (!intrinsic) {
    std::string known;
    for (const auto &one : library.list())
      known += (known.empty() ? "" : ", ") + one->name;
    return refuse(title + "expected one of the intrinsics " + known +
                  "\nhint: a file brings others (--intrinsics FILE)");
  }
  if (std::string missing = machine ? intrinsic->missingOn(*machine) : ""; !missing.empty())
    return refuse(title + "the machine has no " + missing);
  auto outer = dyn_cast<BlockOp>(*found);
  if (outer && !intrinsicOf(outer).empty())
    return refuse(title + "the block is computed by '" + intrinsicOf(outer) + "' already");
  if (outer && (!llvm::hasSingleElement(*outer.body()) || !isa<ForOp>(outer.body()->front())))
    return refuse(title + "the block '" + outer.getName() + "' holds no loops; blockize a loop around it before");
  KernelIndices indices;
  if (!matchIntrinsic(*found, *intrinsic, indices, why))
    return refuse(title + why);
  if (!outer) {
    auto loop = cast<ForOp>(*found);
    Blockizer blockizer(loop, onlyBlockIn(loop));
    if (!blockizer.analyse(why))
      return refuse(title + why);
    outer = blockizer.apply(kernel);
  }
  NamedAttrList annotations(outer.getAnnotations());
  annotations.set(tensorizedAnnotation, StringAttr::get(context(), name));
  outer.setAnnotationsAttr(annotations.getDictionary(context()));
  record("tensorize", {}, {nameOf(place), quotedText(name)});
  return success();
}
