//===- KernelIndices.cpp - indices of a kernel in terms of its loops ------===//

#include "tile/ir/KernelIndices.h"

#include "graph/Shapes.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

Value Access::buffer() const {
  auto load = dyn_cast<LoadOp>(op);
  return load ? load.getBuffer() : cast<StoreOp>(op).getBuffer();
}

graph::ShapeAttr Access::indices() const {
  auto load = dyn_cast<LoadOp>(op);
  return load ? load.getIndices() : cast<StoreOp>(op).getIndices();
}

ValueRange Access::variables() const {
  auto load = dyn_cast<LoadOp>(op);
  return load ? load.getVariables() : cast<StoreOp>(op).getVariables();
}

SmallVector<Access> perpend::tile::accessesIn(Operation *root, Value buffer) {
  SmallVector<Access> accesses;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<LoadOp, StoreOp>(op))
      if (Access access{op}; !buffer || access.buffer() == buffer)
        accesses.push_back(access);
  });
  return accesses;
}

Operation *perpend::tile::accessWithoutPlace(Operation *kernel) {
  KernelIndices indices;
  for (const Access &access : accessesIn(kernel))
    if (indices.sumOf(access).isPoison())
      return access.op;
  return nullptr;
}

Shape KernelIndices::resolve(graph::ShapeAttr expressions, ValueRange variables) {
  auto &known = resolved[expressions];
  for (const auto &[of, list] : known)
    if (llvm::equal(of, variables))
      return list;
  Shape list = names.read(expressions, variables);
  for (SymbolicInt &expression : list)
    expression = resolve(expression);
  known.push_back({SmallVector<Value>(variables), list});
  return list;
}

SymbolicInt KernelIndices::resolve(const SymbolicInt &expression) {
  std::set<std::string> used;
  expression.symbols(used);
  llvm::StringMap<SymbolicInt> replacements;
  for (const std::string &name : used) {
    auto iterator = dyn_cast_or_null<BlockArgument>(names.value(name));
    auto block = iterator ? dyn_cast<BlockOp>(iterator.getOwner()->getParentOp()) : BlockOp();
    if (!block)
      continue;
    if (auto known = iterators.find(name); known != iterators.end()) {
      replacements[name] = known->second;
      continue;
    }
    SymbolicInt binding = names.read(block.getBindings(), block.getVariables())[iterator.getArgNumber()];
    iterators[name] = replacements[name] = resolve(binding);
  }
  return replacements.empty() ? expression : expression.substitute(replacements);
}

SymbolicInt KernelIndices::positionOf(const Access &access) { return simplify(sumOf(access), rangesAround(access.op)); }

/// Builds the sum from iterators before they are replaced by expressions of loops: afterwards parts such as floordiv
/// and mod may no longer combine.
SymbolicInt KernelIndices::sumOf(const Access &access) {
  Shape shape = cast<BufferType>(access.buffer().getType()).extents();
  Shape strides = graph::rowMajorStrides(shape);
  SymbolicInt sum;
  for (auto [index, stride] : llvm::zip(names.read(access.indices(), access.variables()), strides))
    sum += index * stride;
  shape.append(strides);
  return resolve(whereNotEmpty(sum, shape));
}

IndexRanges KernelIndices::rangesAround(Operation *op, Operation *outermost) {
  IndexRanges ranges;
  for (Operation *around = op; around && around != outermost; around = around->getParentOp())
    if (auto loop = dyn_cast<ForOp>(around))
      ranges[names.nameOf(loop.variable())] = extentOf(loop);
  return ranges;
}

SymbolicInt KernelIndices::inLastIteration(SymbolicInt expression, Operation *op) {
  Shape extents;
  for (Operation *around = op; around; around = around->getParentOp()) {
    auto loop = dyn_cast<ForOp>(around);
    if (!loop)
      continue;
    extents.push_back(extentOf(loop));
    llvm::StringMap<SymbolicInt> last;
    last[names.nameOf(loop.variable())] = extents.back() - SymbolicInt(1);
    expression = expression.substitute(last);
    for (SymbolicInt &extent : extents)
      extent = extent.substitute(last);
  }
  bool isRun = llvm::all_of(extents, [](const SymbolicInt &extent) { return extent.knownPositive(); });
  return isRun ? expression : SymbolicInt::poison();
}
