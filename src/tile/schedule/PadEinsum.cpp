//===- PadEinsum.cpp - pads a sum of products to multiples ----------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// A sum of products of elements, indexed by iterators.
struct Einsum {
  SingleStore result;
  /// The loads; for each, the iterators of its dimensions.
  SmallVector<Access> reads;
  SmallVector<SmallVector<unsigned>> iterators;
};
} // namespace

/// Whether the operation yields 0 if any operand is 0. (NaN and infinities are handled by isZeroBeyond.)
static bool keepsZero(Operation &op) {
  return isa<arith::MulFOp, arith::MulIOp, arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncFOp,
             arith::TruncIOp, arith::ConstantOp>(op);
}

static std::optional<Einsum> einsumOf(BlockOp block, std::string &why) {
  std::optional<SingleStore> single = singleStoreOf(block, why);
  std::optional<Combination> combination = single ? combinationOf(block, *single, why) : std::nullopt;
  if (!combination)
    return std::nullopt;
  Einsum einsum{*single, {}, {}};
  why = "it is no sum of products of elements at its iterators";
  if (!isa<arith::AddFOp, arith::AddIOp>(combination->combine) ||
      matchPattern(combination->contribution(), m_Constant()))
    return std::nullopt;
  for (Operation &op : *block.body()) {
    if (&op == combination->combine || &op == single->store || &op == combination->carried || isa<InitOp>(op))
      continue;
    auto load = dyn_cast<LoadOp>(op);
    std::optional<SmallVector<unsigned>> iterators = load ? asIterators(block, {load}) : std::nullopt;
    if (!iterators && !keepsZero(op))
      return std::nullopt;
    if (!iterators)
      continue;
    einsum.reads.push_back({load});
    einsum.iterators.push_back(*iterators);
  }
  return einsum;
}

/// Whether the products are 0 in the padding of a reduced iterator. As elements may be infinite, all factors must be
/// padded with zeros.
static bool isZeroBeyond(const Einsum &einsum, unsigned iterator) {
  auto uses = [&](ArrayRef<unsigned> list) { return llvm::is_contained(list, iterator); };
  bool isFloat = isa<FloatType>(cast<BufferType>(einsum.result.buffer.getType()).scalarType());
  return isFloat ? llvm::all_of(einsum.iterators, uses) : llvm::any_of(einsum.iterators, uses);
}

/// Copies a buffer, with zeros where an index is beyond its extent.
static BlockOp createPadded(OpBuilder builder, Location loc, Value from, Value to, ArrayRef<SymbolicInt> extents,
                            StringRef name) {
  Shape shape = cast<BufferType>(to.getType()).extents();
  auto element = [&](OpBuilder &inner, BlockOp block, ArrayRef<SymbolicInt> index, IndexNames &names) {
    Value isInside;
    for (auto [i, iterator] : llvm::enumerate(block.iterators())) {
      if (shape[i] == extents[i])
        continue;
      Value below =
          inner.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, iterator, names.emit(inner, loc, extents[i]));
      isInside = isInside ? inner.create<arith::AndIOp>(loc, isInside, below).getResult() : below;
    }
    Type type = cast<BufferType>(from.getType()).scalarType();
    auto choice = inner.create<scf::IfOp>(loc, TypeRange(type), isInside, /*withElseRegion=*/true);
    OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
    then.create<scf::YieldOp>(loc, createLoad(then, loc, from, index, names));
    otherwise.create<scf::YieldOp>(loc, otherwise.create<arith::ConstantOp>(loc, inner.getZeroAttr(type)).getResult());
    return choice.getResult(0);
  };
  return createFill(builder, loc, to, name, element);
}

/// Allocates a padded counterpart of `buffer` with this shape, before `statement`.
static Value allocatePadded(func::FuncOp kernel, Value buffer, ArrayRef<SymbolicInt> shape, Operation *statement,
                            StringRef stem) {
  OpBuilder builder(statement);
  auto type = BufferType::get(kernel.getContext(), shape, cast<BufferType>(buffer.getType()).getElementType(), "local");
  return builder.create<AllocOp>(statement->getLoc(), type, builder.getStringAttr(uniqueName(kernel, stem)));
}

static Shape selected(ArrayRef<SymbolicInt> extents, ArrayRef<unsigned> iterators) {
  Shape shape;
  for (unsigned iterator : iterators)
    shape.push_back(extents[iterator]);
  return shape;
}

LogicalResult KernelSchedule::padEinsum(Block handle, ArrayRef<int64_t> padding) {
  constexpr int64_t largest = 1 << 16;
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string why, title = "pad_einsum " + nameOf(handle) + ": the block '" + block.getName().str() + "': ";
  std::optional<Einsum> einsum = einsumOf(block, why);
  std::optional<SmallVector<ForOp>> loops = einsum ? loopsOfIterators(block, why) : std::nullopt;
  if (!loops)
    return refuse(title + why);
  Shape domain(block.getDomain().values()), padded;
  bool isValid = padding.size() == domain.size() &&
                 llvm::all_of(padding, [](int64_t multiple) { return multiple >= 1 && multiple <= largest; });
  if (!isValid)
    return refuse(title + "expected for each of its " + Twine(domain.size()) + " iterators a number from 1 to " +
                  Twine(largest) + ", got " + listText(padding));
  for (auto [i, extent] : llvm::enumerate(domain)) {
    padded.push_back(support::ceilDiv(extent, SymbolicInt(padding[i])) * SymbolicInt(padding[i]));
    if (padded[i].isPoison())
      return refuse(title + "a padded extent is too long an expression");
    if (padded[i] != extent && block.kind(i) == IteratorKind::Reduced && !isZeroBeyond(*einsum, i))
      return refuse(title + "a factor does not depend on the reduced iterator " + Twine(i) +
                    ", so its products might not be 0 beyond the edge");
  }
  Operation *nest = nestOf(block);
  Value result = einsum->result.buffer;
  for (const Access &read : einsum->reads)
    if (!isReadyAt(kernel, read.buffer(), nest))
      return refuse(title + "the buffer " + bufferName(read.buffer()) + " is not complete before its nest");
  if (writersOf(kernel, result).size() != 1 ||
      cast<BufferType>(result.getType()).extents() != selected(domain, einsum->result.iterators))
    return refuse(title + "expected it to write all of " + bufferName(result) + ", alone");
  for (auto [read, iterators] : llvm::zip(einsum->reads, einsum->iterators)) {
    Shape shape = selected(padded, iterators), extents = selected(domain, iterators);
    if (shape == extents)
      continue;
    std::string name = uniqueName(kernel, block.getName().str() + "_pad");
    Value copy = allocatePadded(kernel, read.buffer(), shape, nest, name + "_local");
    createPadded(OpBuilder(nest), block.getLoc(), read.buffer(), copy, extents, name);
    redirect(read, copy);
  }
  if (Shape shape = selected(padded, einsum->result.iterators); shape != cast<BufferType>(result.getType()).extents()) {
    std::string name = uniqueName(kernel, block.getName().str() + "_crop");
    Value copy = allocatePadded(kernel, result, shape, nest, name + "_local");
    for (const Access &access : accessesIn(block, result))
      redirect(access, copy);
    OpBuilder builder(nest);
    builder.setInsertionPointAfter(nest);
    createCopy(builder, block.getLoc(), copy, result, name);
  }
  IndexNames names;
  Shape bindings = names.read(block.getBindings(), block.getVariables());
  for (ForOp loop : *loops) {
    unsigned iterator = llvm::find(bindings, names.symbol(loop.variable())) - bindings.begin();
    loop.setExtentAttr(graph::ShapeAttr::get(block.getContext(), padded[iterator]));
  }
  for (auto [i, binding] : llvm::enumerate(bindings)) // iterators that had a single value
    if (domain[i] == SymbolicInt(1) && padded[i] != domain[i]) {
      OpBuilder builder(block);
      ForOp loop = createFor(builder, block.getLoc(), padded[i], "p" + std::to_string(i), names);
      block->moveBefore(loop.body(), loop.body()->end());
      binding = names.symbol(loop.variable());
    }
  block.setDomainAttr(graph::ShapeAttr::get(block.getContext(), padded));
  setBindings(block, bindings, {}, names);
  record("pad_einsum", {}, {nameOf(handle), listText(padding)});
  return success();
}
