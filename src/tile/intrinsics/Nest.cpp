//===- Nest.cpp - a nest as axes in memory --------------------------------===//

#include "tile/intrinsics/Nest.h"

#include "graph/Shapes.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using support::SymbolicFactor;
using support::SymbolicTerm;

//===----------------------------------------------------------------------===//
// Linear expressions
//===----------------------------------------------------------------------===//

static SymbolicInt asExpression(const SymbolicTerm &term, StringRef without = {}) {
  SymbolicInt product(term.coefficient);
  for (const SymbolicFactor &factor : term.factors) {
    bool isLeftOut = factor.atom.kind() == support::SymbolicAtomKind::Symbol && factor.atom.name() == without;
    for (unsigned i = isLeftOut ? 1 : 0; i < factor.power; ++i)
      product *= SymbolicInt::of(factor.atom);
  }
  return product;
}

namespace {
/// base + sum of coefficients[i] * variables[i].
struct Linear {
  SymbolicInt base;
  Shape coefficients;
};
} // namespace

static std::optional<Linear> linearIn(const SymbolicInt &expression, ArrayRef<std::string> variables) {
  Linear linear{SymbolicInt(0), Shape(variables.size(), SymbolicInt(0))};
  if (expression.isPoison())
    return std::nullopt;
  for (const SymbolicTerm &term : expression.terms()) {
    std::optional<size_t> found;
    for (const SymbolicFactor &factor : term.factors) {
      std::set<std::string> used;
      SymbolicInt::of(factor.atom).symbols(used);
      for (auto [i, variable] : llvm::enumerate(variables)) {
        if (!used.count(variable))
          continue;
        if (found || factor.power != 1 || factor.atom.kind() != support::SymbolicAtomKind::Symbol)
          return std::nullopt;
        found = i;
      }
    }
    if (found)
      linear.coefficients[*found] += asExpression(term, variables[*found]);
    else
      linear.base += asExpression(term);
  }
  return linear;
}

//===----------------------------------------------------------------------===//
// The nest
//===----------------------------------------------------------------------===//

bool Nest::readLoops(std::string &why) {
  Operation *next = root;
  if (isa<BlockOp>(root)) {
    if (!llvm::hasSingleElement(*cast<BlockOp>(root).body()))
      return why = "the block '" + cast<BlockOp>(root).getName().str() + "' holds more than one nest", false;
    next = &cast<BlockOp>(root).body()->front();
  }
  while (auto loop = dyn_cast<ForOp>(next)) {
    if (!llvm::hasSingleElement(*loop.body()))
      return why = "the loop '" + loop.getName().str() + "' holds more than one nest", false;
    if (!loop.getVariables().empty())
      return why = "the extent of the loop '" + loop.getName().str() + "' depends on another loop", false;
    loops.push_back(loop);
    variables.push_back(indices.names.nameOf(loop.variable()));
    axes.push_back({loop.getName().str(), indices.extentOf(loop), false, std::nullopt, {}, {}});
    next = &loop.body()->front();
  }
  block = dyn_cast<BlockOp>(next);
  if (!block)
    return why = "there is no block inside of its loops", false;
  ranges = indices.rangesAround(block);
  return true;
}

/// The whole reduction must be inside the nest and start where all its loops are at 0.
bool Nest::readKinds(std::string &why) {
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block))) {
    std::optional<Linear> linear = linearIn(simplify(binding, ranges), variables);
    std::string title = "the iterator " + cast<StringAttr>(block.getIteratorNames()[i]).getValue().str() +
                        " of the block '" + block.getName().str() + "' ";
    if (!linear || block.kind(i) == IteratorKind::Opaque)
      return why = title + "is no sum of the nest's loops", false;
    iteratorBases.push_back(linear->base);
    for (auto [axis, coefficient] : llvm::zip(axes, linear->coefficients))
      axis.ofIterators.push_back(coefficient);
    if (block.kind(i) != IteratorKind::Reduced)
      continue;
    if (block.init() && linear->base != SymbolicInt(0))
      return why = title + "is one of a reduction that goes on outside of the nest; decompose_reduction before", false;
    for (auto [axis, coefficient] : llvm::zip(axes, linear->coefficients)) {
      if (coefficient != SymbolicInt(0) && !coefficient.knownPositive())
        return why = title + "runs backwards", false;
      axis.isReduced |= coefficient != SymbolicInt(0);
    }
  }
  return true;
}

bool Nest::readAccesses(std::string &why) {
  accesses = accessesIn(block);
  for (const Access &access : accesses) {
    SymbolicInt position;
    Shape strides = graph::rowMajorStrides(cast<BufferType>(access.buffer().getType()).extents());
    for (auto [index, stride] : llvm::zip(indices.indicesOf(access), strides))
      position += index * stride;
    auto isInside = [&](Value value) { return root->isProperAncestor(value.getParentBlock()->getParentOp()); };
    std::optional<Linear> linear = linearIn(simplify(position, ranges), variables);
    if (!linear || indices.names.anyValue(linear->base, isInside))
      return why = "the position in the buffer " + bufferName(access.buffer()) + " is no sum of the nest's loops",
             false;
    bases.push_back(linear->base);
    for (auto [axis, coefficient] : llvm::zip(axes, linear->coefficients))
      axis.strides.push_back(coefficient);
  }
  return true;
}

/// A condition on one loop of the nest limits its iterations; a condition on none says whether there are any.
bool Nest::readConditions(std::string &why) {
  Shape all = indices.resolve(block.getConditions(), block.getVariables());
  for (size_t i = 0; i < all.size(); i += 2) {
    std::optional<Linear> room = linearIn(simplify(all[i + 1], ranges) - simplify(all[i], ranges), variables);
    why = "a condition of the block '" + block.getName().str() + "' is not on one loop of the nest";
    if (!room)
      return false;
    size_t used = llvm::count_if(room->coefficients, [](const SymbolicInt &c) { return c != SymbolicInt(0); });
    if (used == 0) {
      conditions.append({simplify(all[i], ranges), simplify(all[i + 1], ranges)});
      continue;
    }
    for (auto [axis, coefficient] : llvm::zip(axes, room->coefficients)) {
      if (coefficient == SymbolicInt(0))
        continue;
      if (used > 1 || !(-coefficient).isConstant() || !(-coefficient).knownPositive())
        return false;
      SymbolicInt count = support::ceilDiv(room->base, -coefficient);
      axis.count = axis.count ? support::min(*axis.count, count) : count;
    }
  }
  for (Axis &axis : axes) {
    if (!axis.count || !isHarmless(axis))
      continue;
    std::optional<IndexBounds> bounds = boundsOf(*axis.count, ranges);
    if (!bounds || !bounds->low.knownPositive()) // otherwise no iteration may exist at all
      conditions.append({SymbolicInt(0), *axis.count});
    axis.count.reset();
  }
  return true;
}

/// Iterations beyond the end of an axis are harmless if everything that they read exists, and everything that they
/// write exists and is never read: a buffer used only here, or elements beyond those that others access. Indices that
/// the axis does not move stay the same.
bool Nest::isHarmless(const Axis &axis) {
  Value written;
  std::optional<std::pair<unsigned, SymbolicInt>> moved; // dimension of the output, and its index
  size_t number = &axis - axes.data();
  for (const Access &access : accesses) {
    if (access.isStore())
      written = access.buffer();
    Shape extents = cast<BufferType>(access.buffer().getType()).extents();
    for (auto [dim, index, extent] : llvm::enumerate(indices.indicesOf(access), extents)) {
      std::optional<Linear> linear = linearIn(simplify(index, ranges), variables);
      auto isZero = [](const SymbolicInt &coefficient) { return coefficient == SymbolicInt(0); };
      // If each index depends on one loop only, different points are different elements.
      if (access.isStore() && (!linear || llvm::count_if(linear->coefficients, isZero) + 1 < int64_t(variables.size())))
        return false;
      if (linear && isZero(linear->coefficients[number]))
        continue;
      if (access.isStore())
        moved = {dim, index};
      std::optional<IndexBounds> bounds = boundsOf(index, ranges);
      if (!bounds || !bounds->low.knownNonNegative() || !(extent - SymbolicInt(1) - bounds->high).knownNonNegative())
        return false;
    }
  }
  auto kernel = root->getParentOfType<func::FuncOp>();
  Operation *alloc = written ? written.getDefiningOp() : nullptr;
  if (!alloc || writersOf(kernel, written).size() != 1 || axis.isReduced)
    return false;
  return alloc->getBlock() == root->getBlock() || (moved && isReadBefore(kernel, written, moved->first, moved->second));
}

/// Whether a condition bounds the index of a dimension beyond which nobody reads.
bool Nest::isReadBefore(func::FuncOp kernel, Value buffer, unsigned dim, const SymbolicInt &index) {
  Shape pairs = indices.resolve(block.getConditions(), block.getVariables());
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (simplify(pairs[i] - index, ranges) != SymbolicInt(0))
      continue;
    return llvm::all_of(accessesIn(kernel, buffer), [&](const Access &access) {
      std::optional<IndexBounds> bounds = boundsOf(indices.indicesOf(access)[dim], indices.rangesAround(access.op));
      return block->isAncestor(access.op) ||
             (bounds && (pairs[i + 1] - SymbolicInt(1) - bounds->high).knownNonNegative());
    });
  }
  return false;
}

bool Nest::read(std::string &why) {
  if (!readLoops(why) || !readKinds(why) || !readAccesses(why) || !readConditions(why))
    return false;
  why.clear();
  return true;
}

/// Merges two axes if, for each access, the outer one continues where the inner one ends.
void Nest::mergeAxes(size_t kept) {
  auto continues = [](const Axis &outer, const Axis &inner) {
    if (outer.isReduced != inner.isReduced || outer.count || inner.count)
      return false;
    return llvm::all_of(llvm::zip(outer.strides, inner.strides),
                        [&](const auto &pair) { return std::get<0>(pair) == std::get<1>(pair) * inner.extent; });
  };
  for (size_t i = 0; i + kept < axes.size(); ++i)
    for (size_t j = 0; j + kept < axes.size(); ++j)
      if (i != j && continues(axes[i], axes[j])) {
        axes[j].name = axes[i].name + " and " + axes[j].name;
        axes[j].extent *= axes[i].extent;
        axes.erase(axes.begin() + i);
        i = j = 0;
      }
}
