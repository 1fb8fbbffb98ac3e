//===- Reindex.cpp - copies buffers in the order of a block ---------------===//
//
// The block accesses a copy of a buffer instead, which is indexed by the block's iterators or by an index map of them.
// A new block copies every element that the block can access.
//
//===----------------------------------------------------------------------===//

#include "support/ReadableText.h"
#include "tile/schedule/IndexMap.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// The element that all of a block's accesses to a buffer share.
struct ElementPattern {
  Value buffer;
  SmallVector<Access> accesses;
  /// Its indices, over the symbols "%k" of the block's iterators.
  Shape indices;
  /// The iterators that index the copy.
  SmallVector<unsigned> iterators;
};
} // namespace

static SymbolicInt iterator(unsigned number) { return SymbolicInt::symbol("%" + std::to_string(number)); }

static bool uses(const SymbolicInt &expression, unsigned number) {
  return expression.uses("%" + std::to_string(number));
}

/// The indices of an access over the symbols of the iterators; nullopt if they use anything else.
static std::optional<Shape> indicesOf(BlockOp block, const Access &access) {
  IndexNames names;
  llvm::StringMap<SymbolicInt> replacements;
  for (auto [number, value] : llvm::enumerate(block.iterators()))
    replacements[names.nameOf(value)] = iterator(number);
  for (Value value : access.variables())
    if (!replacements.contains(names.nameOf(value)))
      return std::nullopt;
  Shape indices = names.read(access.indices(), access.variables());
  for (SymbolicInt &index : indices)
    index = index.substitute(replacements);
  return indices;
}

/// Accepts a buffer if all accesses are at the same element, and no point of the block's domain is outside it.
static std::optional<ElementPattern> patternOf(BlockOp block, Value buffer, bool isWritten, std::string &why) {
  ElementPattern pattern{buffer, accessesIn(block, buffer), {}, {}};
  for (const Access &access : pattern.accesses) {
    std::optional<Shape> indices = indicesOf(block, access);
    if (!indices)
      return why = "it accesses " + bufferName(buffer) + " at an index that is no expression of its iterators",
             std::nullopt;
    if (access.op != pattern.accesses.front().op && *indices != pattern.indices)
      return why = "it accesses " + bufferName(buffer) + " at different places", std::nullopt;
    pattern.indices = *indices;
  }
  IndexRanges ranges;
  Shape domain(block.getDomain().values());
  for (auto [number, extent] : llvm::enumerate(domain))
    ranges["%" + std::to_string(number)] = extent;
  for (auto [index, extent] : llvm::zip(pattern.indices, cast<BufferType>(buffer.getType()).extents())) {
    std::optional<IndexBounds> bounds = boundsOf(index, ranges);
    if (!bounds || !bounds->low.knownNonNegative() || !(extent - bounds->high).knownPositive())
      return why = "not every point of its domain has an element of " + bufferName(buffer), std::nullopt;
  }
  for (unsigned i = 0; i < domain.size(); ++i)
    if (isWritten ? block.kind(i) == IteratorKind::Spatial
                  : llvm::any_of(pattern.indices, [&](const SymbolicInt &index) { return uses(index, i); }))
      pattern.iterators.push_back(i);
  return pattern;
}

/// The map from the block's iterators to the copy's indices: the pattern's, or that given by `text`.
static std::optional<IndexMap> mapFor(BlockOp block, const ElementPattern &pattern, std::optional<StringRef> text,
                                      std::string &why) {
  unsigned count = block.getKinds().size();
  if (!text) {
    Shape outputs;
    for (unsigned number : pattern.iterators)
      outputs.push_back(iterator(number));
    return IndexMap::of(count, outputs);
  }
  std::optional<IndexMap> map = IndexMap::parse(*text, why);
  if (map && map->inputCount() != count)
    return why = "expected a map of its " + support::counted(count, "iterator") + ", got " + map->str(), std::nullopt;
  for (unsigned i = 0; map && i < count; ++i)
    if (!llvm::is_contained(pattern.iterators, i) &&
        llvm::any_of(map->expressions(), [&](const SymbolicInt &output) { return uses(output, i); }))
      return why = "the map uses the iterator " + std::to_string(i) + ", on which the element does not depend",
             std::nullopt;
  return map;
}

/// Emits a copy of all elements of the pattern at `builder`.
static BlockOp createReindexed(OpBuilder builder, BlockOp like, const ElementPattern &pattern, const IndexMap &map,
                               Value copy, bool isWritten, StringRef name) {
  IndexNames names;
  Location loc = like.getLoc();
  Shape extents, domain(like.getDomain().values());
  for (unsigned number : pattern.iterators)
    extents.push_back(domain[number]);
  BlockHead head;
  head.name = name;
  for (auto [i, variable] : llvm::enumerate(createLoops(builder, loc, extents, "ax", names)))
    head.add(IteratorKind::Spatial, extents[i], variable, "v" + std::to_string(i));
  BlockOp block = createBlock(builder, loc, head, names);
  builder.setInsertionPointToStart(block.body());
  Shape point(domain.size(), SymbolicInt(0)), indices = pattern.indices;
  llvm::StringMap<SymbolicInt> replacements;
  for (auto [number, value] : llvm::zip(pattern.iterators, block.iterators()))
    replacements["%" + std::to_string(number)] = point[number] = names.symbol(value);
  for (SymbolicInt &index : indices)
    index = index.substitute(replacements);
  Shape target = map.apply(point);
  if (isWritten)
    createStore(builder, loc, createLoad(builder, loc, copy, target, names), pattern.buffer, indices, names);
  else
    createStore(builder, loc, createLoad(builder, loc, pattern.buffer, indices, names), copy, target, names);
  return block;
}

/// Why this block's accesses cannot be moved to another buffer; empty if they can.
static std::string whyNotMoved(func::FuncOp kernel, BlockOp block, Value buffer, bool isWritten, Operation *statement) {
  if (!isWritten)
    return isReadyAt(kernel, buffer, statement)
               ? ""
               : "the buffer " + bufferName(buffer) +
                     " is written in the nest of the block; reindex it before they are joined";
  for (const Access &access : accessesIn(kernel, buffer))
    if (!block->isAncestor(access.op) && (access.isStore() || statement->isAncestor(access.op)))
      return "the buffer " + bufferName(buffer) + (access.isStore() ? " is written" : " is read in the nest") +
             " by another block too; reindex it before";
  return "";
}

FailureOr<KernelSchedule::Block> KernelSchedule::copyReindexed(Block handle, StringRef access, int64_t number,
                                                               StringRef scope, std::optional<StringRef> text,
                                                               const std::string &title) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  FailureOr<Value> buffer = findBuffer(block, access, number, title);
  bool isWritten = access == "write";
  if (failed(buffer))
    return failure();
  if (failed(checkScope(scope, title)))
    return failure();
  Operation *statement = statementIn(scopeOf(*buffer), block);
  std::string why = whyNotMoved(kernel, block, *buffer, isWritten, statement);
  if (!why.empty())
    return refuse(title + why);
  std::optional<ElementPattern> pattern = patternOf(block, *buffer, isWritten, why);
  std::optional<IndexMap> map = pattern ? mapFor(block, *pattern, text, why) : std::nullopt;
  Shape extents(block.getDomain().values());
  for (unsigned i = 0; map && i < extents.size(); ++i)
    if (!llvm::is_contained(pattern->iterators, i))
      extents[i] = SymbolicInt(1);
  // If written, each point needs an element of its own; a block that was moved may write one element for several
  // points.
  if (map && isWritten && !Renumbering::of(IndexMap::of(extents.size(), pattern->indices), extents, why))
    map = std::nullopt;
  std::optional<Renumbering> layout = map ? Renumbering::of(*map, extents, why) : std::nullopt;
  if (!layout)
    return refuse(title + "the block '" + block.getName() + "': " + why);
  OpBuilder builder(statement);
  std::string stem = block.getName().str() + (isWritten ? "_out" : "_in") + std::to_string(number);
  auto type =
      BufferType::get(block.getContext(), layout->extents, cast<BufferType>(buffer->getType()).getElementType(), scope);
  Value copy = builder.create<AllocOp>(block.getLoc(), type,
                                       builder.getStringAttr(uniqueName(kernel, stem + "_" + scope.str())));
  if (isWritten)
    builder.setInsertionPointAfter(statement);
  BlockOp created = createReindexed(builder, block, *pattern, *map, copy, isWritten, uniqueName(kernel, stem));
  IndexNames names;
  Shape point;
  for (Value value : block.iterators())
    point.push_back(names.symbol(value));
  Shape target = map->apply(point);
  for (const Access &access : pattern->accesses) {
    redirect(access, copy);
    setIndices(access, target, names);
  }
  return Block{addHandle(created, created.getName())};
}

/// In the syntax of traces.
static std::string mapText(StringRef text) {
  std::string why;
  std::optional<IndexMap> map = IndexMap::parse(text, why);
  return map ? map->str() : text.str();
}

FailureOr<KernelSchedule::Block> KernelSchedule::reindex(Block block, StringRef access, int64_t number) {
  FailureOr<Block> copy =
      copyReindexed(block, access, number, "local", std::nullopt, "reindex " + nameOf(block) + ": ");
  if (succeeded(copy))
    record("reindex", nameOf(*copy), {nameOf(block), quotedText(access), std::to_string(number)});
  return copy;
}

FailureOr<KernelSchedule::Block> KernelSchedule::reindexCache(StringRef primitive, Block block, StringRef access,
                                                              int64_t number, StringRef scope, StringRef map) {
  FailureOr<Block> copy =
      copyReindexed(block, access, number, scope, map, primitive.str() + " " + nameOf(block) + ": ");
  if (succeeded(copy))
    record(primitive, nameOf(*copy), {nameOf(block), std::to_string(number), quotedText(scope), mapText(map)});
  return copy;
}

FailureOr<KernelSchedule::Block> KernelSchedule::reindexCacheRead(Block block, int64_t number, StringRef scope,
                                                                  StringRef map) {
  return reindexCache("reindex_cache_read", block, "read", number, scope, map);
}

FailureOr<KernelSchedule::Block> KernelSchedule::reindexCacheWrite(Block block, int64_t number, StringRef scope,
                                                                   StringRef map) {
  return reindexCache("reindex_cache_write", block, "write", number, scope, map);
}
