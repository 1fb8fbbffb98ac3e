//===- Rows.cpp - values that are needed row by row -----------------------===//

#include "graph/Rows.h"

#include "graph/Shapes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace perpend::graph;

static bool isView(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  return element && element.elementKind() == ElementKind::View;
}

bool perpend::graph::isReadOften(Value value) {
  if (!value.hasOneUse())
    return true;
  Operation *user = *value.user_begin();
  if (!isView(user))
    return false;
  auto flow = dyn_cast<DimensionFlowInterface>(user);
  return (flow && flow.repeatsOperands()) || isReadOften(user->getResult(0));
}

bool perpend::graph::isWorthKeeping(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  if (!element || isView(op))
    return false;
  return element.elementKind() == ElementKind::Reduction || isReadOften(op->getResult(0));
}

namespace {
class ChainFinder {
public:
  ChainFinder(Operation *root, int64_t mostBytes) : mostBytes(mostBytes) { chain.root = root; }

  std::optional<RowChain> find() {
    if (!isRowwise(chain.root) || !findRowDims())
      return std::nullopt;
    for (bool grows = true; grows;) {
      grows = addProducers(chain.root);
      for (size_t i = 0; i < chain.members.size(); ++i)
        grows |= addProducers(chain.members[i]);
    }
    bool combines =
        isa<ReductionInterface>(chain.root) || llvm::any_of(chain.members, llvm::IsaPred<ReductionInterface>);
    bool needsRows = combines && llvm::any_of(chain.members, [](Operation *op) {
                       return !isView(op) && isReadOften(op->getResult(0));
                     });
    return needsRows ? std::optional(chain) : std::nullopt;
  }

private:
  static constexpr size_t mostOperators = 40;
  static constexpr unsigned mostRecomputed = 2;

  /// A reduction that reads each element once: what reads them again wants blocks, not rows.
  static bool isRowwise(Operation *op) {
    auto element = dyn_cast<ElementInterface>(op);
    if (!element || element.needsStoredOperands() || op->getNumResults() != 1)
      return false;
    auto reduction = dyn_cast<ReductionInterface>(op);
    if (!reduction)
      return element.elementKind() != ElementKind::Reduction;
    SymbolicInt read = elementCount(shapeOf(op->getResult(0))) * elementCount(reduction.reducedExtents());
    return op->getNumOperands() == 1 && read == elementCount(shapeOf(op->getOperand(0)));
  }

  /// The result's dimensions that are rows: those of the first reduction before the root over trailing dimensions.
  bool findRowDims() {
    SmallVector<Operation *> open{chain.root};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty() && seen.size() < mostOperators) {
      Operation *op = open.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      if (auto reduction = dyn_cast<ReductionInterface>(op)) {
        chain.rowDims = tensorTypeOf(op->getResult(0)).getRank();
        return true;
      }
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && isCandidate(producer))
          open.push_back(producer);
    }
    return false;
  }

  bool isCandidate(Operation *op) const { return op->getBlock() == chain.root->getBlock() && isRowwise(op); }

  /// Row i of the user needs row i of the operand, and no other. What a view reads of the row must be known as well, or
  /// the row would be computed again for each element.
  bool followsRows(OpOperand &use) const {
    auto flow = dyn_cast<DimensionFlowInterface>(use.getOwner());
    unsigned rank = tensorTypeOf(use.get()).getRank();
    if (!flow || !flow.keepsDimensions() || rank < chain.rowDims)
      return false;
    for (unsigned dim = 0; dim < chain.rowDims; ++dim)
      if (flow.followingDim(use, dim) != dim)
        return false;
    Shape shape = shapeOf(use.get());
    for (unsigned dim = chain.rowDims; dim < rank && isView(use.getOwner()); ++dim)
      if (!flow.followingDim(use, dim) && shape[dim] != SymbolicInt(1))
        return false;
    return true;
  }

  bool isInChain(Operation *op) const { return op == chain.root || chain.members.contains(op); }

  bool addProducers(Operation *user) {
    bool added = false;
    for (Value operand : user->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || isInChain(producer) || !isCandidate(producer) || chain.members.size() >= mostOperators)
        continue;
      bool isOwn = llvm::all_of(operand.getUses(),
                                [&](OpOperand &use) { return isInChain(use.getOwner()) && followsRows(use); });
      if (isOwn && admit(producer))
        added |= chain.members.insert(producer);
    }
    return added;
  }

  /// Whether there is room for a row of the value, or it can do without.
  bool admit(Operation *op) {
    if (!isWorthKeeping(op))
      return true;
    if (refused.contains(op))
      return false;
    RankedTensorType type = tensorTypeOf(op->getResult(0));
    Shape row(ArrayRef(shapeOf(op->getResult(0))).drop_front(chain.rowDims));
    std::optional<int64_t> count = elementCount(row).constant();
    Type element = type.getElementType();
    int64_t elementBytes = element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
    if (count && *count <= mostBytes && bytes + *count * elementBytes <= mostBytes) {
      bytes += *count * elementBytes;
      chain.kept.insert(op);
      return true;
    }
    if (!isa<ReductionInterface>(op) && recomputed < mostRecomputed) {
      ++recomputed;
      return true;
    }
    refused.insert(op);
    return false;
  }

  RowChain chain;
  int64_t mostBytes, bytes = 0;
  unsigned recomputed = 0;
  llvm::SmallPtrSet<Operation *, 8> refused;
};
} // namespace

std::optional<RowChain> perpend::graph::rowChainAt(Operation *root, int64_t mostBytes) {
  return ChainFinder(root, mostBytes).find();
}
