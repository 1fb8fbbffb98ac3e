//===- Rows.cpp - chains of operators on rows -----------------------------===//

#include "graph/Rows.h"

#include "graph/Attributes.h"
#include "graph/Shapes.h"
#include "graph/Work.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace perpend::graph;

static bool isView(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  return element && element.elementKind() == ElementKind::View;
}

bool perpend::graph::movesLastDimension(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  ArrayRef<int64_t> order = transpose ? transpose.getPermutation() : ArrayRef<int64_t>();
  return !order.empty() && order.back() != static_cast<int64_t>(order.size()) - 1;
}

bool perpend::graph::isOfWholeRows(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  if (!slice || !llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }))
    return false;
  Shape whole = shapeOf(slice.getInput()), part = shapeOf(slice.getResult());
  size_t outermost = 0;
  while (outermost + 1 < whole.size() && whole[outermost] == SymbolicInt(1))
    ++outermost;
  for (size_t dim = 0; dim < whole.size(); ++dim)
    if (dim != outermost && part[dim] != whole[dim])
      return false;
  return true;
}

bool perpend::graph::isInOperandsMemory(Operation *op) {
  return isa_and_nonnull<ReshapeOp>(op) || (isa_and_nonnull<SliceOp>(op) && op->hasAttr(inPlaceAttribute));
}

SymbolicInt perpend::graph::firstElementInOperand(Operation *op) {
  SymbolicInt first(0);
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice)
    return first;
  Shape whole = shapeOf(slice.getInput()), starts(slice.getStarts().values());
  for (size_t dim = 0; dim < whole.size(); ++dim)
    first = first + starts[dim] * elementCount(ArrayRef(whole).drop_front(dim + 1));
  return first;
}

Value perpend::graph::originOf(Value value) {
  while (isInOperandsMemory(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

ArrayRef<int64_t> perpend::graph::orderOfRows(Operation *op) {
  auto transpose = dyn_cast_or_null<TransposeOp>(op);
  return transpose && !movesLastDimension(op) ? transpose.getPermutation() : ArrayRef<int64_t>();
}

bool perpend::graph::viewsRows(Value value, int64_t rowBytes, llvm::function_ref<bool(Value)> isStored) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (reshape ? reshape.mergesDimensions() : !value.getDefiningOp<TransposeOp>())
    return false;
  Value operand = value.getDefiningOp()->getOperand(0);
  if (!isStored(operand))
    return viewsRows(operand, rowBytes, isStored);
  Shape rows = shapeOf(reshape ? value : operand);
  const std::optional<int64_t> last = rows.empty() ? std::nullopt : rows.back().constant();
  return last && *last * bitWidth(tensorTypeOf(value).getElementType()) >= rowBytes * 8;
}

bool perpend::graph::isProduct(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  return element && element.needsStoredOperands() && isa<ReductionInterface>(op) && isa<DimensionFlowInterface>(op) &&
         op->getNumOperands() == 2;
}

/// A view that is stored although its elements need a search, because a product reads it or a kernel returns it, as
/// rows padded with zeros.
static bool isCopy(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  if (!isView(op) || !element.looksForElements() || element.readsAgain(0) || !op->hasOneUse())
    return false;
  Operation *user = *op->user_begin();
  return isProduct(user) || user->hasTrait<OpTrait::IsTerminator>();
}

bool perpend::graph::isReadOften(Value value) {
  if (!value.hasOneUse())
    return true;
  Operation *user = *value.user_begin();
  if (isProduct(user))
    return true;
  if (!isView(user) || isCopy(user))
    return false;
  auto flow = dyn_cast<DimensionFlowInterface>(user);
  return (flow && flow.repeatsOperands()) || isReadOften(user->getResult(0));
}

bool perpend::graph::onlyWidens(Operation *op) {
  constexpr double mostWork = 4;
  auto map = dyn_cast_or_null<MapOp>(op);
  if (!map || map.getInputs().size() != 1 || scalarWork(*op) > mostWork)
    return false;
  auto bits = [](Value value) { return bitWidth(tensorTypeOf(value).getElementType()); };
  return 4 * bits(map.getInputs()[0]) <= bits(map.getResult());
}

bool perpend::graph::extendsFloats(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumRegions() != 1)
    return false;
  Block &body = op->getRegion(0).front();
  return body.getOperations().size() == 2 && isa<arith::ExtFOp>(body.front());
}

bool perpend::graph::isMultiplied(Value value, bool throughViews) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
    const bool isMoved = isa<TransposeOp, ReshapeOp>(user) || (throughViews && isView(user));
    return isa<ProductInterface>(user) || (isMoved && isMultiplied(user->getResult(0), throughViews));
  });
}

bool perpend::graph::isWorthKeeping(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  if (!element || op->hasAttr(computedByUsersAttribute))
    return false;
  if (isView(op))
    return isCopy(op);
  return element.elementKind() == ElementKind::Reduction || isReadOften(op->getResult(0));
}

static bool isPointwise(Operation *op) {
  auto element = dyn_cast_or_null<ElementInterface>(op);
  return element && op->getNumResults() == 1 && element.elementKind() == ElementKind::Pointwise;
}

/// Whether a reduction is behind pointwise values of more bits. `seen`: those that were asked before.
static bool followsReduction(Value value, unsigned bits, SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ReductionInterface>(op))
    return true;
  return isPointwise(op) && bitWidth(tensorTypeOf(value).getElementType()) > bits && seen.insert(op).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return followsReduction(operand, bits, seen); });
}

bool perpend::graph::isKeptForWindows(Operation *op) {
  auto bitsOf = [](Operation *one) { return bitWidth(tensorTypeOf(one->getResult(0)).getElementType()); };
  SmallPtrSet<Operation *, 8> seen;
  if (!isPointwise(op) ||
      llvm::none_of(op->getOperands(), [&](Value operand) { return followsReduction(operand, bitsOf(op), seen); }))
    return false;
  for (Operation *next = op; next->hasOneUse();) {
    OpOperand &use = *next->use_begin();
    next = use.getOwner();
    if (readsWindowsApart(use))
      return true;
    if (!isPointwise(next) || bitsOf(next) < bitsOf(op))
      return false;
  }
  return false;
}

namespace {
class ChainFinder {
public:
  /// \p within: if not null, only these operators may join the chain, besides the root.
  ChainFinder(Operation *root, int64_t mostBytes, const llvm::SetVector<Operation *> *within)
      : within(within), mostBytes(mostBytes) {
    chain.root = root;
  }

  std::optional<RowChain> find() {
    if (!isRowwise(chain.root) || !findRowDims() || (isProduct(chain.root) && !joins(chain.root)))
      return std::nullopt;
    for (bool grows = true; grows;) {
      grows = addProducers(chain.root);
      for (size_t i = 0; i < chain.members.size(); ++i)
        grows |= addProducers(chain.members[i]);
    }
    releaseCheap();
    keepShortRows();
    if (!canRunProducts())
      return std::nullopt;
    bool combines = combinesRows(chain.root) || llvm::any_of(chain.members, combinesRows);
    bool needsRows = combines && llvm::any_of(chain.members, [](Operation *op) {
                       return !isView(op) && isReadOften(op->getResult(0));
                     });
    return needsRows ? std::optional(chain) : std::nullopt;
  }

private:
  static constexpr size_t mostOperators = 40;
  static constexpr unsigned mostRecomputed = 2;
  /// Work of about an operation or two: no more than writing a kept row and reading it again.
  static constexpr double cheapWork = 3;

  /// Most elements on a product's other side. It is read again for each block of rows, which must cost less than
  /// storing the value.
  static constexpr int64_t mostSharedElements = 256;
  /// Smaller values stay in a cache from one kernel to the next.
  static constexpr int64_t leastSavedBytes = 1 << 18;
  /// Least rows in a block of a product.
  static constexpr int64_t leastBlockRows = 8;

  static bool combinesRows(Operation *op) { return isa<ReductionInterface>(op) && !isProduct(op); }

  /// A reduction that reads each element once, or a product. Operators that read elements repeatedly need blocks, not
  /// rows.
  static bool isRowwise(Operation *op) {
    if (isProduct(op))
      return true;
    auto element = dyn_cast<ElementInterface>(op);
    if (!element || element.needsStoredOperands() || op->getNumResults() != 1)
      return false;
    auto reduction = dyn_cast<ReductionInterface>(op);
    if (!reduction)
      return element.elementKind() != ElementKind::Reduction && !movesLastDimension(op);
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    for (int64_t dim = 0, rank = tensorTypeOf(op->getResult(0)).getRank(); dim < rank; ++dim)
      if (!flow || flow.followingDim(op->getOpOperand(0), dim) != dim)
        return false; // the combined elements are not contiguous
    SymbolicInt read = elementCount(shapeOf(op->getResult(0))) * elementCount(reduction.reducedExtents());
    return op->getNumOperands() == 1 && read == elementCount(shapeOf(op->getOperand(0)));
  }

  /// The number of the result's leading dimensions that index rows: taken from the first reduction over trailing
  /// dimensions before the root.
  bool findRowDims() {
    SmallVector<Operation *> open{chain.root};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty() && seen.size() < mostOperators) {
      Operation *op = open.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      if (combinesRows(op)) {
        chain.rowDims = tensorTypeOf(op->getResult(0)).getRank();
        return true;
      }
      for (Value operand : rowOperands(op))
        if (Operation *producer = operand.getDefiningOp(); producer && isCandidate(producer))
          open.push_back(producer);
    }
    return false;
  }

  /// The operands of which a row depends on one row only; for a product the left one.
  static ValueRange rowOperands(Operation *op) {
    ValueRange operands = op->getOperands();
    return isProduct(op) ? operands.take_front(1) : operands;
  }

  /// Whether including a product in the chain pays: its rows are those of the chain, and what it reads for each block
  /// of them is small.
  bool joins(Operation *op) const {
    bool isLast = op == chain.root || combinesBefore(op->getOperand(0));
    Shape result = shapeOf(op->getResult(0)), rows = shapeOf(op->getOperand(0));
    std::optional<int64_t> shared = (isLast ? result : rows).back().constant();
    std::optional<int64_t> saved = elementCount(isLast ? rows : result).constant();
    Type element = tensorTypeOf(isLast ? op->getOperand(0) : op->getResult(0)).getElementType();
    return result.size() == chain.rowDims + 1 && shared && *shared <= mostSharedElements &&
           (!saved || *saved * llvm::divideCeil(bitWidth(element), 8) >= leastSavedBytes);
  }

  /// Whether a value is computed from reduced rows without a product in between.
  bool combinesBefore(Value value) const {
    SmallVector<Value> open{value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty() && seen.size() < mostOperators) {
      Operation *producer = open.pop_back_val().getDefiningOp();
      if (!producer || !isCandidate(producer) || isProduct(producer) || !seen.insert(producer).second)
        continue;
      if (combinesRows(producer))
        return true;
      llvm::append_range(open, producer->getOperands());
    }
    return false;
  }

  /// A product's operands must be stored as they are: kept rows, or memory seen through views that only permute
  /// dimensions.
  bool canRunProducts() const {
    auto isReadable = [&](Operation *op) {
      Operation *producer = op->getOperand(0).getDefiningOp();
      while (producer && chain.members.contains(producer) && isView(producer) && !chain.kept.contains(producer)) {
        if (!movesDimensions(producer))
          return false;
        producer = producer->getOperand(0).getDefiningOp();
      }
      return !producer || !chain.members.contains(producer) || chain.kept.contains(producer);
    };
    return llvm::all_of(chain.members, [&](Operation *op) { return !isProduct(op) || isReadable(op); }) &&
           (!isProduct(chain.root) || isReadable(chain.root));
  }

  bool isCandidate(Operation *op) const {
    return op->getBlock() == chain.root->getBlock() && (!within || within->contains(op)) && isRowwise(op);
  }

  /// Whether row i of the user needs exactly row i of the operand. If a view reads only a part of the row, that must be
  /// known too; otherwise the row would be recomputed for each element.
  bool followsRows(OpOperand &use) const {
    auto flow = dyn_cast<DimensionFlowInterface>(use.getOwner());
    unsigned rank = tensorTypeOf(use.get()).getRank();
    if (!flow || !flow.keepsDimensions() || rank < chain.rowDims)
      return false;
    for (unsigned dim = 0; dim < chain.rowDims; ++dim)
      if (flow.followingDim(use, dim) != dim)
        return false;
    Shape shape = shapeOf(use.get());
    for (unsigned dim = chain.rowDims; dim < rank && isView(use.getOwner()) && !isCopy(use.getOwner()); ++dim)
      if (!flow.followingDim(use, dim) && shape[dim] != SymbolicInt(1))
        return false;
    return true;
  }

  bool isInChain(Operation *op) const { return op == chain.root || chain.members.contains(op); }

  bool addProducers(Operation *user) {
    bool added = false;
    for (Value operand : rowOperands(user)) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || isInChain(producer) || !isCandidate(producer) || chain.members.size() >= mostOperators ||
          work + scalarWork(*producer) > mostKernelWork)
        continue;
      bool isSeenThrough = isView(producer) && !isCopy(producer);
      if (isReadByProduct(user) && !(isSeenThrough ? movesDimensions(producer) : combinesBefore(operand)))
        continue;
      bool isOwn = llvm::all_of(operand.getUses(),
                                [&](OpOperand &use) { return isInChain(use.getOwner()) && followsRows(use); });
      if (isOwn && admit(producer)) {
        added |= chain.members.insert(producer);
        work += scalarWork(*producer);
      }
    }
    return added;
  }

  /// A product, or a view through which a product reads.
  bool isReadByProduct(Operation *op) const {
    return isProduct(op) ||
           (isView(op) && !isCopy(op) &&
            llvm::all_of(op->getResult(0).getUsers(), [&](Operation *user) { return isReadByProduct(user); }));
  }

  /// A view each of whose dimensions is one of the operand's.
  static bool movesDimensions(Operation *op) {
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    if (!flow || !flow.keepsDimensions() || op->getNumOperands() != 1)
      return false;
    Shape shape = shapeOf(op->getOperand(0));
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (extent != SymbolicInt(1) && !flow.followingDim(op->getOpOperand(0), dim))
        return false;
    return true;
  }

  /// Whether several rows read the same one of the value (a mask for all heads), which each of them would compute.
  bool isSharedByRows(Value value) const {
    Shape shape = shapeOf(value), whole = shapeOf(chain.root->getResult(0));
    auto rows = llvm::zip(ArrayRef(shape).take_front(chain.rowDims), ArrayRef(whole).take_front(chain.rowDims));
    return shape.size() > chain.rowDims && llvm::any_of(rows, [](const auto &extents) {
             auto [own, all] = extents;
             return own == SymbolicInt(1) && all != SymbolicInt(1);
           });
  }

  /// Whether a row of the value fits, or need not be kept.
  bool admit(Operation *op) {
    if (isProduct(op) && !joins(op))
      return false;
    if (!isWorthKeeping(op))
      return true;
    if (refused.contains(op) || isSharedByRows(op->getResult(0)))
      return false;
    std::optional<int64_t> count = elementCount(chain.rowOf(op->getResult(0))).constant();
    Type element = tensorTypeOf(op->getResult(0)).getElementType();
    int64_t elementBytes = element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
    bool hasBlocks = isOfBlocks || isProduct(op) || isProduct(chain.root);
    int64_t most = hasBlocks ? mostBytes / leastBlockRows : mostBytes;
    if (!count || (*count <= most && bytes + *count * elementBytes <= most)) {
      isOfBlocks = hasBlocks;
      bytes += count.value_or(0) * elementBytes;
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

  /// Cost of recomputing an element.
  struct Again {
    double work = 0;
    llvm::SmallPtrSet<Value, 4> rows; ///< the rows that it reads
    bool isScattered = false;
  };

  /// Does not keep rows that are recomputed about as fast as they are read, from at most one other row.
  void releaseCheap() {
    llvm::DenseMap<Operation *, Again> costs;
    SmallVector<Operation *> order(chain.members.begin(), chain.members.end());
    llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : order) {
      Again again{scalarWork(*op), {}, false};
      for (OpOperand &operand : op->getOpOperands())
        addOperand(operand, costs, again);
      bool isCheap = again.work <= cheapWork && again.rows.size() <= 1 && !again.isScattered;
      bool isMultiplied = llvm::any_of(op->getUsers(), [&](Operation *user) { return isReadByProduct(user); });
      if (isCheap && !isa<ReductionInterface>(op) && !isOneInRow(op->getResult(0)) && !isMultiplied)
        chain.kept.remove(op);
      costs[op] = std::move(again);
    }
  }

  /// Keeps what is expensive and reduced, in short rows: what vectors leave of a row costs little in a loop that only
  /// reduces.
  void keepShortRows() {
    constexpr int64_t leastElements = 8, mostElements = 32; // measured: below, the rest is all of the row
    auto keepOperand = [&](Operation *reduction) {
      Operation *reduced = isa<ReductionInterface>(reduction) ? reduction->getOperand(0).getDefiningOp() : nullptr;
      if (!reduced || !chain.members.contains(reduced) || !isPointwise(reduced) || scalarWork(*reduced) <= cheapWork)
        return;
      std::optional<int64_t> count = elementCount(chain.rowOf(reduced->getResult(0))).constant();
      if (count && *count >= leastElements && *count <= mostElements)
        chain.kept.insert(reduced);
    };
    for (Operation *op : chain.members)
      keepOperand(op);
    keepOperand(chain.root);
  }

  void addOperand(OpOperand &operand, const llvm::DenseMap<Operation *, Again> &costs, Again &again) const {
    Operation *producer = operand.get().getDefiningOp();
    auto inner = costs.find(producer);
    bool isRead = inner == costs.end() || chain.kept.contains(producer);
    if (!isRead) {
      again.work += inner->second.work;
      again.rows.insert(inner->second.rows.begin(), inner->second.rows.end());
      again.isScattered |= inner->second.isScattered;
    } else if (!isOneInRow(operand.get())) {
      again.rows.insert(operand.get());
    }
    again.isScattered |= isView(operand.getOwner()) && !isOneInRow(operand.get()) && !followsLast(operand);
  }

  /// Whether a row of the value has a single element, like the result of a reduction.
  bool isOneInRow(Value value) const {
    Shape shape = shapeOf(value), whole = shapeOf(chain.root->getResult(0));
    if (elementCount(shape) == SymbolicInt(1))
      return true;
    return shape.size() >= chain.rowDims && std::equal(whole.begin(), whole.begin() + chain.rowDims, shape.begin()) &&
           elementCount(chain.rowOf(value)) == SymbolicInt(1);
  }

  /// Whether elements that are contiguous in the result of a view are contiguous in its operand.
  static bool followsLast(OpOperand &use) {
    auto flow = dyn_cast<DimensionFlowInterface>(use.getOwner());
    int64_t last = tensorTypeOf(use.get()).getRank() - 1;
    return flow && flow.keepsDimensions() && last >= 0 &&
           flow.followingDim(use, last) == tensorTypeOf(use.getOwner()->getResult(0)).getRank() - 1;
  }

  RowChain chain;
  const llvm::SetVector<Operation *> *within;
  int64_t mostBytes, bytes = 0;
  double work = 0; ///< of the members
  unsigned recomputed = 0;
  /// There is a product, so a block of rows is kept instead of a row.
  bool isOfBlocks = false;
  llvm::SmallPtrSet<Operation *, 8> refused;
};
} // namespace

Shape RowChain::rowOf(Value value) const {
  return Shape(ArrayRef(shapeOf(value)).drop_front(std::min<size_t>(rowDims, tensorTypeOf(value).getRank())));
}

std::optional<RowChain> perpend::graph::rowChainAt(Operation *root, int64_t mostBytes,
                                                   const llvm::SetVector<Operation *> *among) {
  // Operators may have joined because of one that finally did not. So the chain is recomputed among its members until
  // none is left out any more.
  std::optional<RowChain> chain = ChainFinder(root, mostBytes, among).find();
  while (chain) {
    std::optional<RowChain> own = ChainFinder(root, mostBytes, &chain->members).find();
    if (own && own->members.size() == chain->members.size())
      return own;
    chain = std::move(own);
  }
  return std::nullopt;
}
