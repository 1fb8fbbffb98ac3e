//===- Match.cpp - matches nests with intrinsics --------------------------===//

#include "tile/intrinsics/Match.h"

#include "tile/intrinsics/Nest.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

namespace {
/// Pairs of corresponding accesses: the description's, the nest's.
using AccessPairs = SmallVector<std::pair<Operation *, Operation *>>;
using IteratorPairs = SmallVector<std::pair<unsigned, unsigned>>;

class BodyMatcher {
public:
  bool match(BlockOp described, BlockOp found, std::string &why, bool mayHaveInit = false);
  AccessPairs pairs;
  /// Pairs of iterators whose values are computed with: the description's index, the nest's.
  IteratorPairs iterators;

private:
  bool matchStore(Block &described, Block &found, std::string &why);
  bool matchValue(Value described, Value found);
  bool matchOperands(Operation *described, Operation *found, bool swapped);

  std::string difference;
};
} // namespace

static StoreOp onlyStore(Block &block) {
  StoreOp found;
  for (auto store : block.getOps<StoreOp>())
    found = store;
  return found;
}

static bool haveEqualAttributes(Operation *a, Operation *b) {
  auto without = [](Operation *op) {
    NamedAttrList list(op->getAttrs());
    list.erase("fastmath");
    return list.getDictionary(op->getContext());
  };
  return without(a) == without(b);
}

bool BodyMatcher::matchOperands(Operation *described, Operation *found, bool swapped) {
  size_t count = described->getNumOperands(), known = pairs.size(), knownIterators = iterators.size();
  for (size_t i = 0; i < count; ++i)
    if (!matchValue(described->getOperand(i), found->getOperand(swapped ? count - 1 - i : i))) {
      pairs.truncate(known);
      iterators.truncate(knownIterators);
      return false;
    }
  return true;
}

bool BodyMatcher::matchValue(Value described, Value found) {
  Operation *a = described.getDefiningOp(), *b = found.getDefiningOp();
  auto differ = [&](StringRef expected, StringRef got) {
    difference = ("expected " + expected + ", got " + got).str();
    return false;
  };
  if (!a && !b) {
    iterators.push_back({cast<BlockArgument>(described).getArgNumber(), cast<BlockArgument>(found).getArgNumber()});
    return true;
  }
  if (!a || !b)
    return differ(a ? a->getName().getStringRef() : "an iterator", b ? b->getName().getStringRef() : "an iterator");
  if (a->getName() != b->getName())
    return differ(a->getName().getStringRef(), b->getName().getStringRef());
  if (auto load = dyn_cast<LoadOp>(a)) {
    Type type = load.getBuffer().getType().getElementType();
    Type other = cast<LoadOp>(b).getBuffer().getType().getElementType();
    std::string texts[2];
    llvm::raw_string_ostream(texts[0]) << type;
    llvm::raw_string_ostream(texts[1]) << other;
    if (type != other)
      return differ("a buffer of " + texts[0], "one of " + texts[1]);
    pairs.push_back({a, b});
    return true;
  }
  if (a->getNumOperands() != b->getNumOperands() || a->getResultTypes() != b->getResultTypes() || a->getNumRegions() ||
      b->getNumRegions() || !haveEqualAttributes(a, b))
    return differ(("another " + a->getName().getStringRef()).str(), "one with other attributes or types");
  bool mayBeSwapped = a->hasTrait<OpTrait::IsCommutative>() && a->getNumOperands() == 2;
  return matchOperands(a, b, false) || (mayBeSwapped && matchOperands(a, b, true));
}

bool BodyMatcher::matchStore(Block &described, Block &found, std::string &why) {
  StoreOp a = onlyStore(described), b = onlyStore(found);
  bool isOne = b && llvm::hasSingleElement(found.getOps<StoreOp>());
  if (!isOne || a.getBuffer().getType().getElementType() != b.getBuffer().getType().getElementType() ||
      !matchValue(a.getValue(), b.getValue())) {
    why = isOne && !difference.empty() ? difference : "expected one store of the same type";
    return false;
  }
  pairs.push_back({a, b});
  return true;
}

bool BodyMatcher::match(BlockOp described, BlockOp found, std::string &why, bool mayHaveInit) {
  bool isTaken = mayHaveInit && found.init() && !described.init();
  if (bool(described.init()) != bool(found.init()) && !isTaken)
    return why = described.init() ? "expected a sum from its init on"
                                  : "expected a sum without init; "
                                    "decompose_reduction before",
           false;
  if (described.init() && !matchStore(described.init().getRegion().front(), found.init().getRegion().front(), why))
    return false;
  return matchStore(*described.body(), *found.body(), why);
}

//===----------------------------------------------------------------------===//
// Loops and iterators
//===----------------------------------------------------------------------===//

namespace {
/// Assigns the axes of a nest to the iterators of a description.
class Assignment {
public:
  Assignment(const Intrinsic &intrinsic, Nest &nest, const BodyMatcher &bodies, bool takesParts = false);

  std::optional<IntrinsicMatch> run(std::string &why);
  /// For each iterator, its axis.
  std::optional<SmallVector<std::optional<size_t>>> axes(std::string &why);

private:
  struct Pair {
    /// The description's buffer with the iterator of each dimension, and the nest's access.
    unsigned buffer;
    SmallVector<unsigned> iterators;
    unsigned access;
    std::optional<unsigned> dimensionOf(unsigned iterator) const {
      auto found = llvm::find(iterators, iterator);
      return found == iterators.end() ? std::nullopt : std::optional<unsigned>(found - iterators.begin());
    }
  };

  bool assign(size_t left);
  bool mayStayOutside(const Axis &axis);
  bool moves(const Axis &axis, unsigned iterator);
  bool check();
  bool liesInMemory(const Pair &pair);
  bool fill();
  bool checkStride(const Axis &axis, unsigned iterator, const Pair &pair);
  bool isIterator(unsigned described, unsigned found);
  bool fail(const Twine &text) {
    reason = text.str();
    return false;
  }
  std::string nameOf(unsigned iterator) {
    StringRef name = cast<StringAttr>(intrinsic.block.getIteratorNames()[iterator]).getValue();
    name.consume_front("v");
    return name.str();
  }

  const Intrinsic &intrinsic;
  Nest &nest;
  /// Axes may be split, with an outer part outside the intrinsic.
  bool takesParts;
  SmallVector<Pair> pairs;
  IteratorPairs iteratorPairs;
  /// For each iterator, its axis.
  SmallVector<std::optional<size_t>> axisOf;
  llvm::StringMap<SymbolicInt> parameters;
  IntrinsicMatch match;
  std::string reason;
};
} // namespace

Assignment::Assignment(const Intrinsic &intrinsic, Nest &nest, const BodyMatcher &bodies, bool takesParts)
    : intrinsic(intrinsic), nest(nest), takesParts(takesParts), iteratorPairs(bodies.iterators),
      axisOf(intrinsic.block.getKinds().size()) {
  for (auto [described, real] : bodies.pairs) {
    unsigned buffer = cast<BlockArgument>(Access{described}.buffer()).getArgNumber();
    pairs.push_back({buffer, *asIterators(intrinsic.block, {described}), nest.numberOf(real)});
  }
}

/// Whether axis and iterator have the same kind and move the same accesses.
bool Assignment::moves(const Axis &axis, unsigned iterator) {
  if (axis.isReduced != (intrinsic.block.kind(iterator) == IteratorKind::Reduced))
    return false;
  return llvm::all_of(pairs, [&](const Pair &pair) {
    return pair.dimensionOf(iterator) || axis.strides[pair.access] == SymbolicInt(0);
  });
}

/// A reduced axis may stay outside only if the description continues an existing sum.
bool Assignment::mayStayOutside(const Axis &axis) { return takesParts && (!axis.isReduced || !intrinsic.block.init()); }

bool Assignment::assign(size_t left) {
  if (left == 0)
    return check() && (takesParts || fill());
  // The innermost loop becomes the innermost iterator, if possible.
  size_t number = left - 1;
  const Axis &axis = nest.axes[number];
  if (axis.extent == SymbolicInt(1) && assign(number))
    return true; // it belongs to no iterator
  bool found = false;
  for (unsigned iterator = axisOf.size(); iterator-- > 0;) {
    if (axisOf[iterator] || !moves(axis, iterator))
      continue;
    found = true;
    axisOf[iterator] = number;
    if (assign(number))
      return true;
    axisOf[iterator].reset();
  }
  if (mayStayOutside(axis) && assign(number))
    return true;
  return found ? false
               : fail("the loop '" + axis.name + "' does not move the same accesses as any remaining iterator of " +
                      "the description");
}

bool Assignment::checkStride(const Axis &axis, unsigned iterator, const Pair &pair) {
  unsigned dim = *pair.dimensionOf(iterator);
  const std::optional<SymbolicInt> &wanted = intrinsic.strides[pair.buffer][dim];
  SymbolicInt stride = axis.strides[pair.access];
  if (!wanted || wanted->substitute(parameters) == stride)
    return true;
  return fail("the loop '" + axis.name + "' as '" + nameOf(iterator) + "': expected a stride of " +
              wanted->substitute(parameters).str() + " in the buffer " +
              bufferName(nest.accesses[pair.access].buffer()) + ", got " + stride.str());
}

/// The buffer must be in the memory that the description names, or else in host memory, to which local buffers belong,
/// too.
bool Assignment::liesInMemory(const Pair &pair) {
  Value buffer = nest.accesses[pair.access].buffer();
  auto type = cast<BufferType>(buffer.getType());
  if (type.memorySpace() == intrinsic.bufferType(pair.buffer).memorySpace())
    return true;
  StringRef wanted = intrinsic.memoryOf(pair.buffer);
  return fail("expected the buffer " + bufferName(buffer) + " in the memory " + (wanted.empty() ? "local" : wanted) +
              ", got " + type.getScope().getValue());
}

/// An iterator used in computations must count from 0 along its own axis.
bool Assignment::isIterator(unsigned described, unsigned found) {
  auto stride = [&](size_t axis) { return SymbolicInt(axisOf[described] == axis ? 1 : 0); };
  for (size_t axis = 0; axis < nest.axes.size(); ++axis)
    if (nest.axes[axis].ofIterators[found] != stride(axis))
      return fail("the loop '" + nest.axes[axis].name +
                  "' has another stride in an iterator that the block computes with than '" + nameOf(described) + "'");
  return nest.iteratorBases[found] == SymbolicInt(0) ||
         fail("an iterator that the block computes with does not start at 0");
}

bool Assignment::check() {
  parameters.clear();
  if (!llvm::all_of(iteratorPairs, [&](auto pair) { return isIterator(pair.first, pair.second); }))
    return false;
  if (!llvm::all_of(pairs, [&](const Pair &pair) { return liesInMemory(pair); }))
    return false;
  Shape domain(intrinsic.block.getDomain().values());
  for (auto [iterator, axis] : llvm::enumerate(axisOf)) {
    SymbolicInt extent = axis ? nest.axes[*axis].extent : SymbolicInt(1);
    std::string title = axis ? "the loop '" + nest.axes[*axis].name + "' as '" + nameOf(iterator) + "': " : "";
    if (domain[iterator].isConstant()) {
      if (!axis && domain[iterator] != extent)
        return fail("no loop can be '" + nameOf(iterator) + "', of extent " + domain[iterator].str());
      bool isPart = takesParts && support::mod(extent, domain[iterator]) == SymbolicInt(0);
      if (domain[iterator] != extent && !isPart)
        return fail(title + "expected an extent of " + domain[iterator].str() + ", got " + extent.str());
      continue;
    }
    auto [known, isNew] = parameters.try_emplace(domain[iterator].str(), extent);
    if (!isNew && known->second != extent)
      return fail(title + "expected an extent of " + known->second.str() + ", got " + extent.str());
  }
  for (auto [iterator, axis] : llvm::enumerate(axisOf))
    for (const Pair &pair : pairs)
      if (axis && pair.dimensionOf(iterator) && !checkStride(nest.axes[*axis], iterator, pair))
        return false;
  for (size_t i = 0; i < intrinsic.where.size(); i += 2)
    if (SymbolicInt least = intrinsic.where[i].substitute(parameters),
        most = intrinsic.where[i + 1].substitute(parameters);
        !(most - least).knownNonNegative())
      return fail("expected " + intrinsic.where[i].str() + " <= " + intrinsic.where[i + 1].str() + ", got " +
                  least.str() + " and " + most.str());
  return true;
}

bool Assignment::fill() {
  match = {&intrinsic, nest.block, {}, {}, {}, nest.conditions};
  for (std::optional<size_t> axis : axisOf) {
    match.extents.push_back(axis ? nest.axes[*axis].extent : SymbolicInt(1));
    match.counts.push_back(axis ? nest.axes[*axis].count : std::nullopt);
  }
  match.tiles.resize(intrinsic.strides.size());
  for (const Pair &pair : pairs) {
    IntrinsicMatch::Tile tile{nest.accesses[pair.access].buffer(), nest.bases[pair.access], {}};
    for (auto [iterator, wanted] : llvm::zip(pair.iterators, intrinsic.strides[pair.buffer])) {
      SymbolicInt ofNobody = wanted ? wanted->substitute(parameters) : SymbolicInt(0); // for an extent of 1
      tile.strides.push_back(axisOf[iterator] ? nest.axes[*axisOf[iterator]].strides[pair.access] : ofNobody);
    }
    IntrinsicMatch::Tile &known = match.tiles[pair.buffer];
    if (known.buffer && (known.buffer != tile.buffer || known.base != tile.base || known.strides != tile.strides))
      return fail("the buffer " + bufferName(tile.buffer) + " is not where the description has its " +
                  Twine(pair.buffer + 1) + ". buffer");
    known = tile;
  }
  // The output must not be read elsewhere in the nest, because an implementation has its own order.
  Value written = match.tiles[pairs.back().buffer].buffer;
  for (auto [number, tile] : llvm::enumerate(match.tiles))
    if (!tile.buffer || (tile.buffer == written && number != pairs.back().buffer))
      return fail("the buffer " + bufferName(written) + " is both read and written");
  return true;
}

std::optional<IntrinsicMatch> Assignment::run(std::string &why) {
  if (assign(nest.axes.size()))
    return match;
  why = reason;
  return std::nullopt;
}

std::optional<SmallVector<std::optional<size_t>>> Assignment::axes(std::string &why) {
  if (assign(nest.axes.size()))
    return axisOf;
  why = reason;
  return std::nullopt;
}

SymbolicInt IntrinsicMatch::parameter(StringRef name) const {
  for (auto [extent, described] : llvm::zip(extents, intrinsic->block.getDomain().values()))
    if (described == SymbolicInt::symbol(name))
      return extent;
  return SymbolicInt(1);
}

std::optional<SymbolicInt> IntrinsicMatch::count(StringRef name) const {
  for (auto [fewer, described] : llvm::zip(counts, intrinsic->block.getDomain().values()))
    if (described == SymbolicInt::symbol(name))
      return fewer;
  return std::nullopt;
}

std::optional<IntrinsicMatch> perpend::tile::matchIntrinsic(Operation *root, const Intrinsic &intrinsic,
                                                            KernelIndices &indices, std::string &why) {
  Nest nest(root, indices);
  BodyMatcher bodies;
  if (!nest.read(why) || !bodies.match(intrinsic.block, nest.block, why))
    return std::nullopt;
  SmallVector<Axis> axes = nest.axes;
  nest.mergeAxes(/*kept=*/intrinsic.block.getDomain().values().back().isConstant()); // elements of a word
  if (auto match = Assignment(intrinsic, nest, bodies).run(why))
    return match;
  nest.axes = axes;
  return Assignment(intrinsic, nest, bodies).run(why);
}

std::optional<Alignment> perpend::tile::alignIntrinsic(BlockOp block, const Intrinsic &intrinsic, std::string &why) {
  BodyMatcher bodies;
  if (!bodies.match(intrinsic.block, block, why, /*mayHaveInit=*/true))
    return std::nullopt;
  Alignment alignment;
  alignment.accesses.resize(intrinsic.strides.size());
  IndexNames names;
  SmallVector<SmallVector<unsigned>> described;
  SmallVector<std::set<std::string>> found(bodies.pairs.size());
  for (auto [pair, used] : llvm::zip(bodies.pairs, found)) {
    Access access{pair.second};
    described.push_back(*asIterators(intrinsic.block, {pair.first}));
    for (const SymbolicInt &index : names.read(access.indices(), access.variables()))
      index.symbols(used);
    alignment.accesses[cast<BlockArgument>(Access{pair.first}.buffer()).getArgNumber()] = access;
  }
  auto movesTheSame = [&](unsigned iterator, unsigned own) {
    return block.kind(own) == intrinsic.block.kind(iterator) &&
           llvm::all_of(llvm::zip(described, found), [&](auto pair) {
             return llvm::is_contained(std::get<0>(pair), iterator) ||
                    !std::get<1>(pair).count(names.nameOf(block.iterators()[own]));
           });
  };
  size_t count = intrinsic.block.getKinds().size();
  constexpr unsigned none = ~0u;
  alignment.iterators.assign(count, none);
  for (size_t iterator = count; iterator-- > 0;) {
    unsigned &best = alignment.iterators[iterator];
    for (unsigned own = block.getKinds().size(); own-- > 0;) {
      bool isLong = block.getDomain().values()[own] != SymbolicInt(1);
      if (llvm::is_contained(alignment.iterators, own) || !movesTheSame(iterator, own) || (best != none && !isLong))
        continue;
      best = own;
      if (isLong)
        break;
    }
    if (best == none)
      return why = "nothing moves its operands as its iterator " + std::to_string(iterator) + " does", std::nullopt;
  }
  return alignment;
}

std::optional<SmallVector<std::optional<size_t>>>
perpend::tile::fitIntrinsic(Operation *root, const Intrinsic &intrinsic, KernelIndices &indices, std::string &why) {
  Nest nest(root, indices);
  BodyMatcher bodies;
  // The init of a sum may be a separate nest before.
  if (!nest.read(why) || !bodies.match(intrinsic.block, nest.block, why, /*mayHaveInit=*/true))
    return std::nullopt;
  return Assignment(intrinsic, nest, bodies, /*takesParts=*/true).axes(why);
}
