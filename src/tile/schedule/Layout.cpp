//===- Layout.cpp - primitives on layouts and iterators -------------------===//
//
// A layout maps the indices by which blocks access a buffer to the indices of the element in memory. Likewise, a map
// renumbers the iterators of a block; the block's body computes the old iterators by the inverse of the map.
//
//===----------------------------------------------------------------------===//

#include "tile/schedule/IndexMap.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// transform_layout
//===----------------------------------------------------------------------===//

/// The indices of the accesses in the new layout; nullopt if an expression becomes too long.
static std::optional<SmallVector<Shape>> transformed(ArrayRef<Access> accesses, const IndexMap &map,
                                                     IndexNames &names) {
  SmallVector<Shape> list;
  for (const Access &access : accesses) {
    IndexRanges ranges = iteratorRanges(access.op, names);
    Shape indices = names.read(access.indices(), access.variables());
    for (SymbolicInt &index : list.emplace_back(map.apply(indices))) {
      if (index.isPoison())
        return std::nullopt;
      index = simplify(index, ranges);
    }
  }
  return list;
}

LogicalResult KernelSchedule::transformLayout(Block handle, StringRef accessKind, int64_t number, StringRef text) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  std::string why, title = "transform_layout " + nameOf(handle) + ": ";
  FailureOr<Value> buffer = findBuffer(*found, accessKind, number, title);
  if (failed(buffer))
    return failure();
  if (!buffer->getDefiningOp())
    return refuse(title + bufferName(*buffer) +
                  " belongs to the kernel's caller, whose layout a schedule cannot change\nhint: " +
                  (accessKind == "write" ? "cache_write" : "cache_read") + " it, and give the copy this layout");
  std::optional<IndexMap> map = IndexMap::parse(text, why);
  auto type = cast<BufferType>(buffer->getType());
  std::optional<Renumbering> layout = map ? Renumbering::of(*map, type.extents(), why) : std::nullopt;
  if (!layout)
    return refuse(title + why);
  IndexNames names;
  SmallVector<Access> accesses = accessesIn(kernel, *buffer);
  std::optional<SmallVector<Shape>> indices = transformed(accesses, *map, names);
  if (!indices)
    return refuse(title + "an index becomes too long an expression");
  buffer->setType(
      BufferType::get(type.getContext(), layout->extents, type.getElementType(), type.getScope().getValue()));
  for (auto [access, index] : llvm::zip(accesses, *indices))
    setIndices(access, index, names);
  record("transform_layout", {}, {nameOf(handle), quotedText(accessKind), std::to_string(number), map->str()});
  return success();
}

//===----------------------------------------------------------------------===//
// transform_block_layout
//===----------------------------------------------------------------------===//

/// The kind of each output's iterator; nullopt if an output mixes iterators of several kinds.
static std::optional<SmallVector<IteratorKind>> kindsOf(BlockOp block, const Renumbering &map, std::string &why) {
  SmallVector<IteratorKind> kinds;
  for (auto [output, sources] : llvm::enumerate(map.sources)) {
    kinds.push_back(sources.empty() ? IteratorKind::Spatial : block.kind(sources.front()));
    for (unsigned source : sources) {
      if (block.kind(source) == IteratorKind::Opaque)
        return why = "its result " + std::to_string(output) + " would have a part of an opaque iterator", std::nullopt;
      if (block.kind(source) != kinds.back())
        return why = "its result " + std::to_string(output) + " would join iterators of different kinds", std::nullopt;
    }
  }
  return kinds;
}

/// Creates a block over the map's outputs, with the old body, in new loops at `builder`.
static BlockOp renumber(OpBuilder builder, BlockOp block, const Renumbering &map, ArrayRef<IteratorKind> kinds,
                        SmallVectorImpl<ForOp> &loops) {
  IndexNames names;
  Location loc = block.getLoc();
  Shape variables, domain(block.getDomain().values());
  for (auto [output, extent] : llvm::enumerate(map.extents)) {
    ForOp loop = createFor(builder, loc, extent, ("t" + Twine(output)).str(), names);
    builder.setInsertionPointToStart(loop.body());
    variables.push_back(names.symbol(loop.variable()));
    loops.push_back(loop);
  }
  BlockHead head;
  head.name = block.getName();
  SmallVector<unsigned> order; // outputs in the order of the new iterators: spatial ones first
  for (IteratorKind kind : {IteratorKind::Spatial, IteratorKind::Reduced})
    for (unsigned output = 0; output < kinds.size(); ++output)
      if (kinds[output] == kind) {
        head.add(kind, map.extents[output], variables[output], "vt" + std::to_string(output));
        order.push_back(output);
      }
  for (auto [input, value] : llvm::enumerate(map.invert(variables)))
    if (map.isPadded[input])
      head.conditions.append({value, domain[input]});
  BlockOp created = createBlock(builder, loc, head, names);
  created.setAnnotationsAttr(block.getAnnotationsAttr());
  Shape iterators(order.size());
  for (auto [position, output] : llvm::enumerate(order))
    iterators[output] = names.symbol(created.iterators()[position]);
  created.body()->getOperations().splice(created.body()->end(), block.body()->getOperations());
  IndexRanges ranges = iteratorRanges(created, names);
  for (auto [iterator, value] : llvm::zip(block.iterators(), map.invert(iterators)))
    replaceIndex(iterator, simplify(value, ranges), names, OpBuilder::atBlockBegin(created.body()));
  for (const Access &access : accessesIn(created)) {
    Shape indices = names.read(access.indices(), access.variables());
    for (SymbolicInt &index : indices)
      index = simplify(index, ranges);
    setIndices(access, indices, names);
  }
  return created;
}

LogicalResult KernelSchedule::transformBlockLayout(Block handle, StringRef text) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string why, title = "transform_block_layout " + nameOf(handle) + ": the block '" + block.getName().str() + "': ";
  std::optional<SmallVector<ForOp>> loops = loopsOfIterators(block, why);
  std::optional<IndexMap> map = loops ? IndexMap::parse(text, why) : std::nullopt;
  std::optional<Renumbering> order = map ? Renumbering::of(*map, block.getDomain().values(), why) : std::nullopt;
  std::optional<SmallVector<IteratorKind>> kinds = order ? kindsOf(block, *order, why) : std::nullopt;
  if (!kinds)
    return refuse(title + why);
  if (mayBeEmpty(block) && block.init() && llvm::is_contained(order->isPadded, true))
    return refuse(title + "the reduction may be empty, and would then not run its init; decompose_reduction before");
  Operation *outermost = loops->empty() ? block.getOperation() : loops->front().getOperation();
  SmallVector<ForOp> created;
  BlockOp renumbered = renumber(OpBuilder(outermost), block, *order, *kinds, created);
  std::replace(handles.begin(), handles.end(), block.getOperation(), renumbered.getOperation());
  erase(outermost);
  record("transform_block_layout", {}, {nameOf(handle), map->str()});
  return success();
}

//===----------------------------------------------------------------------===//
// reorder_block_iter_var
//===----------------------------------------------------------------------===//

/// `order` lists the present positions.
LogicalResult KernelSchedule::reorderBlockIterVar(Block handle, ArrayRef<int64_t> order) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string title = "reorder_block_iter_var " + nameOf(handle) + ": ";
  int64_t count = block.getKinds().size();
  SmallVector<bool> isNamed(count, false);
  for (int64_t position : order)
    if (position >= 0 && position < count)
      isNamed[position] = true;
  if (static_cast<int64_t>(order.size()) != count || llvm::is_contained(isNamed, false))
    return refuse(title + "expected each of its " + Twine(count) + " iterators once, by their numbers from 0, got " +
                  listText(order));
  Shape domain(block.getDomain().values()), bindings(block.getBindings().values()), newDomain, newBindings;
  SmallVector<int32_t> kinds;
  SmallVector<Attribute> names;
  for (int64_t position : order) {
    kinds.push_back(block.getKinds()[position]);
    names.push_back(block.getIteratorNames()[position]);
    newDomain.push_back(domain[position]);
    newBindings.push_back(bindings[position]);
  }
  if (!llvm::is_sorted(kinds))
    return refuse(title + "spatial iterators come first, then reduced and opaque ones; got " + listText(order));
  for (int64_t position : order) {
    BlockArgument iterator = block.iterators()[position];
    iterator.replaceAllUsesWith(block.body()->addArgument(iterator.getType(), iterator.getLoc()));
  }
  block.body()->eraseArguments(0, count);
  MLIRContext *context = block.getContext();
  block.setKinds(kinds);
  block.setIteratorNamesAttr(ArrayAttr::get(context, names));
  block.setDomainAttr(graph::ShapeAttr::get(context, newDomain));
  block.setBindingsAttr(graph::ShapeAttr::get(context, newBindings));
  record("reorder_block_iter_var", {}, {nameOf(handle), listText(order)});
  return success();
}
