//===- FuseKernels.cpp - fuses operators into kernels ---------------------===//
//
// Decides which values are stored in memory. One kernel computes each stored value, together with all values that it
// needs and that are not stored; a reshape of a stored value needs none, because it is an alias. Runs after
// simplification and packing, before scheduling. Afterwards main holds only constants, aliases, calls of kernels and
// of the library, updates in place, definitions and checks of symbols, and control flow, whose regions look like main.
//
// A product on packed operands reads stored ones. Exception: it reads the rows of a growing state (a KV cache) in
// place, through a transpose, so that a run does not copy all rows.
//
// Each block is fused separately: values read by another block are stored, and so are those that control flow reads
// (conditions, limits, yielded values).
//
// A chain of reductions over the same rows (Rows.h) becomes one kernel.
//
// Any other value that is not stored is recomputed at every use. So it must be a view; or pointwise with a single use
// that reads each element once; or a map that does little more than widen its operand. The result of a reduction is
// kept in registers if a map is its only user and reads no other reduction. The result of a concat, and a result whose
// elements depend on one another (scatter, sort, scan), are always stored.
//
// Where elements lie that are looked up may be computed by the kernel that looks them up, if the target does that once
// for all that lie side by side.
//
// In a target with little memory, so is the result of a product, with the maps behind it, that only a reduction over
// windows apart from each other reads (pooling): the kernel computes it for the windows of a line at a time.
//
// Kernels that compute the same are shared (KernelIdentity.h).
//
//   %c = tile.matmul %x, %w             %y = graph.call_kernel @matmul_add_7f3a(%x, %w, %b)
//   %y = graph.map (%c, %b) { add } =>  func private @matmul_add_7f3a { tile.matmul, map, return }
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/BatchInvariance.h"
#include "graph/Entries.h"
#include "graph/KernelIdentity.h"
#include "graph/KernelSymbols.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/SubstituteSymbols.h"
#include "graph/Work.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHFUSEKERNELS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

/// Most operators of a kernel.
static constexpr unsigned maxKernelOperators = 40;

namespace {
/// Cost of computing one element of a value from stored operands.
struct Computation {
  ElementKind kind;
  unsigned operators;
  double work; ///< of scalar code
};

class KernelFuser {
public:
  using Kernels = llvm::StringMap<func::FuncOp>; ///< by their hash

  /// kernels: those that the module has, to which new ones are added.
  KernelFuser(ModuleOp module, const GraphFuseKernelsOptions &options, Kernels &kernels)
      : module(module), isEnabled(options.isEnabled), keepsNarrow(options.keepsNarrow),
        savesMemory(options.savesMemory), looksUpOnce(options.looksUpOnce), rowBytes(options.rowBytes),
        kernelsByHash(kernels) {}
  void run(Block &block);

private:
  bool isStored(Value value) const { return !computations.contains(value); }
  Computation computationOf(Operation *op) const;
  bool readsThroughCostlyView(Operation *op) const;
  bool isWidenedInside(Operation *op) const;
  bool storesRowsInOrder(Value value, Operation *user) const;
  bool readsRowsInPlace(Value value, Operation *user) const;
  bool isWidenedByUsers(Operation *op) const;
  bool isOfProduct(Value value) const;
  bool mayStayUnstored(Operation *op, const Computation &computation) const;
  bool mayComputeInside(Value value, const Computation &computation, OpOperand &use) const;
  void visit(Block &block);
  void findChains(Block &block);
  void decide(Operation *op);
  void outline(Operation *root);
  func::FuncOp createKernel(Operation *root, ArrayRef<Operation *> operators, ArrayRef<Value> inputs);
  func::FuncOp shared(func::FuncOp kernel);
  void collect(Operation *op, SetVector<Operation *> &operators, SetVector<Value> &inputs) const;

  ModuleOp module;
  bool isEnabled;
  bool keepsNarrow;
  bool savesMemory;
  bool looksUpOnce;
  int64_t rowBytes;
  /// Operators for which a decision has been made.
  SmallVector<Operation *> operators;
  /// The values that are not stored.
  DenseMap<Value, Computation> computations;
  /// The last operators of chains of rows.
  DenseSet<Operation *> chainRoots;
  /// All other operators of chains.
  DenseSet<Operation *> chainMembers;
  Kernels &kernelsByHash;
};
} // namespace

/// A constant with equal elements becomes an immediate, not a buffer.
static bool isSplatConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.isOneNumber();
}

/// Whether a dimension of the result follows no dimension of an operand, as with sliding windows.
static bool readsWindows(Operation *op) {
  auto flow = dyn_cast<DimensionFlowInterface>(op);
  if (!flow)
    return true;
  llvm::SmallBitVector following(tensorTypeOf(op->getResult(0)).getRank());
  for (OpOperand &operand : op->getOpOperands())
    for (int64_t dim = 0; dim < tensorTypeOf(operand.get()).getRank(); ++dim)
      if (std::optional<unsigned> next = flow.followingDim(operand, dim))
        following.set(*next);
  return !following.all();
}

static bool looksForElements(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  return element && element.looksForElements();
}

/// Whether an operand says where elements of the first one lie.
static bool isPlaceOfElements(OpOperand &use) {
  return use.getOperandNumber() > 0 && looksForElements(use.getOwner()) &&
         tensorTypeOf(use.get()).getElementType().isInteger();
}

/// Whether a map does no more than compare, choose and add integers: what units that look up compute.
static bool onlyChooses(Operation *map) {
  return map->getNumRegions() == 1 && llvm::all_of(map->getRegion(0).front().without_terminator(), [](Operation &op) {
           return isa<arith::ConstantOp, arith::CmpIOp, arith::SelectOp, arith::AddIOp, arith::SubIOp, arith::MaxSIOp,
                      arith::MinSIOp>(op);
         });
}

/// Views that separate contiguous elements, or that search for each element.
static bool isCostlyView(Operation *op) { return movesLastDimension(op) || looksForElements(op); }

bool KernelFuser::readsThroughCostlyView(Operation *op) const {
  return isCostlyView(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return !isStored(operand) && readsThroughCostlyView(operand.getDefiningOp());
         });
}

/// Whether products read its operand, and widen the elements.
bool KernelFuser::isWidenedInside(Operation *op) const {
  return keepsNarrow && extendsFloats(op) && isMultiplied(op->getResult(0), /*throughViews=*/true);
}

/// Whether products load pieces of a view's rows from where they are stored, and widen the elements.
bool KernelFuser::readsRowsInPlace(Value value, Operation *user) const {
  auto stored = [&](Value operand) { return isStored(operand); };
  return rowBytes && viewsRows(value, rowBytes, stored) && llvm::all_of(user->getUsers(), [](Operation *product) {
           return isa<ProductInterface>(product) && !readsWindows(product);
         });
}

/// Whether a map belongs to the product before it, which then stores as few bits as the map leaves.
static bool isEpilogue(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  return element && element.elementKind() == ElementKind::Pointwise &&
         llvm::any_of(op->getOperands(), [](Value operand) {
           return operand.hasOneUse() && isa_and_nonnull<ProductInterface>(operand.getDefiningOp());
         });
}

/// Whether a product, or a map behind it, is stored only in the order of a transpose that keeps rows, of whole lines.
bool KernelFuser::storesRowsInOrder(Value value, Operation *user) const {
  if (!rowBytes || !value.hasOneUse() || orderOfRows(user).empty() ||
      !(isa<ProductInterface>(value.getDefiningOp()) || isEpilogue(value.getDefiningOp())))
    return false;
  const std::optional<int64_t> last = shapeOf(value).back().constant();
  return last && *last * bitWidth(tensorTypeOf(value).getElementType()) % (rowBytes * 8) == 0;
}

/// Whether an operator only widens floats, and its users do that themselves if the operand is stored, in fewer bits.
bool KernelFuser::isWidenedByUsers(Operation *op) const {
  return keepsNarrow && isEnabled && extendsFloats(op) &&
         mayStayUnstored(op, {cast<ElementInterface>(op).elementKind(), 1, scalarWork(*op)});
}

Computation KernelFuser::computationOf(Operation *op) const {
  Computation result{cast<ElementInterface>(op).elementKind(), 1, scalarWork(*op)};
  if (isWidenedInside(op))
    result.kind = ElementKind::View;
  for (Value operand : op->getOperands())
    if (auto inner = computations.find(operand); inner != computations.end()) {
      result.kind = std::max(result.kind, inner->second.kind);
      result.operators += inner->second.operators;
      result.work += inner->second.work;
    }
  return result;
}

/// Whether users compute it, with its other operands in memory.
static bool isComputedByUsers(Value value) {
  return value.getDefiningOp() && value.getDefiningOp()->hasAttr(computedByUsersAttribute);
}

static bool needsStoredOperands(Operation *op) {
  auto element = dyn_cast<ElementInterface>(op);
  return (element && element.needsStoredOperands()) || op->hasAttr(computedByUsersAttribute);
}

/// A transpose of rows of a cache that only products on packed operands read.
static bool isViewOfCache(Operation *op) {
  return !orderOfRows(op).empty() && isGrownState(op->getResult(0)) &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return isProduct(user); });
}

/// When a map reads two reductions, one is stored: the one with fewer bits.
static bool isWiderReduction(Value value, Value other) {
  value = originOf(value);
  auto bits = [](Value tensor) { return bitWidth(tensorTypeOf(tensor).getElementType()); };
  return value.hasOneUse() && isa_and_nonnull<ReductionInterface>(value.getDefiningOp()) && bits(value) > bits(other);
}

/// Whether a value is the result of a product of operands in memory, or computed elementwise from one that is not
/// stored.
bool KernelFuser::isOfProduct(Value value) const {
  Operation *op = value.getDefiningOp();
  auto element = dyn_cast<ElementInterface>(op);
  if (element && element.elementKind() == ElementKind::Pointwise)
    return llvm::any_of(op->getOperands(), [&](Value operand) { return !isStored(operand) && isOfProduct(operand); });
  return isa<ReductionInterface>(op) && needsStoredOperands(op);
}

/// Whether a value has more than one line of its last two dimensions, so that it can be computed line by line.
static bool hasSeveralLines(Operation *op) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  return llvm::any_of(shape.drop_back(std::min<size_t>(shape.size(), 2)), [](int64_t extent) { return extent != 1; });
}

bool KernelFuser::mayComputeInside(Value value, const Computation &computation, OpOperand &use) const {
  Operation *user = use.getOwner();
  if (user->hasAttr(inPlaceAttribute))
    return false;
  if (isWidenedInside(user))
    return readsRowsInPlace(value, user);
  if (auto sequence = dyn_cast<SequenceInterface>(user))
    return user->getBlock() == value.getParentBlock() && sequence.readsOnce(use.getOperandNumber()) &&
           (computation.kind == ElementKind::View || (computation.kind == ElementKind::Pointwise && value.hasOneUse()));
  auto element = dyn_cast<ElementInterface>(user);
  if (!element || user->getBlock() != value.getParentBlock() || isViewOfCache(user))
    return false;
  if (needsStoredOperands(user))
    return isViewOfCache(value.getDefiningOp());
  if (llvm::any_of(user->getOperands(), isComputedByUsers))
    return isComputedByUsers(value);
  // In a chain, rows are read together; values that would be recomputed per element, or gathered from afar, are stored.
  bool isInChain = chainRoots.contains(user) || chainMembers.contains(user);
  if (isInChain && (computation.kind == ElementKind::Reduction || movesLastDimension(value.getDefiningOp())))
    return false;
  if (computation.kind == ElementKind::Reduction && readsWindowsApart(use))
    return savesMemory && value.hasOneUse() && isOfProduct(value) && hasSeveralLines(user);
  if (computation.kind == ElementKind::Reduction && storesRowsInOrder(value, user))
    return true;
  if (computation.kind == ElementKind::Reduction && isWidenedByUsers(user))
    return false;
  if (computation.kind == ElementKind::Reduction)
    return isa<MapOp>(user) && !onlyWidens(user) && value.hasOneUse() &&
           !llvm::any_of(user->getOperands(), [&](Value other) {
             auto known = computations.find(other);
             return (known != computations.end() && known->second.kind == ElementKind::Reduction) ||
                    isWiderReduction(other, value);
           });
  if (auto reshape = dyn_cast<ReshapeOp>(user); reshape && reshape.mergesDimensions())
    return false;
  Operation *producer = value.getDefiningOp();
  if (computation.kind != ElementKind::View) { // in any loop order, a product reads one of its operands across
    if (looksUpOnce && isPlaceOfElements(use))
      return value.hasOneUse() && onlyChooses(producer) && !readsThroughCostlyView(producer);
    bool isAcross = isa<ProductInterface>(user) && producer->getNumOperands() > 1 && readsThroughCostlyView(producer);
    return (value.hasOneUse() || onlyWidens(producer)) && !element.readsAgain(use.getOperandNumber()) && !isAcross;
  }
  if (element.elementKind() != ElementKind::Reduction || !element.readsAgain(use.getOperandNumber()))
    return true;
  return !looksForElements(producer) && !(readsWindows(user) && readsThroughCostlyView(producer));
}

/// Whether an operator does nothing but round the elements of its operand to floats of fewer bits.
static bool narrowsFloats(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumRegions() != 1)
    return false;
  Block &body = op->getRegion(0).front();
  return llvm::hasSingleElement(body.without_terminator()) && isa<arith::TruncFOp>(body.front());
}

/// Without fusion, conversions are still in the kernel of the operator that computes with more bits than tensors have.
static bool isOfOneOperator(Operation *op) {
  return extendsFloats(op) || (op->hasOneUse() && narrowsFloats(*op->user_begin()));
}

bool KernelFuser::mayStayUnstored(Operation *op, const Computation &computation) const {
  bool isLarge = computation.operators > maxKernelOperators || computation.work > mostKernelWork;
  if ((!isEnabled && !(keepsNarrow && isOfOneOperator(op))) || isa<ConcatOp>(op) || op->use_empty() || isLarge)
    return false;
  Value result = op->getResult(0);
  return llvm::all_of(result.getUses(), [&](OpOperand &use) { return mayComputeInside(result, computation, use); });
}

void KernelFuser::collect(Operation *op, SetVector<Operation *> &operators, SetVector<Value> &inputs) const {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (isSplatConstant(operand) && !needsStoredOperands(op))
      operators.insert(producer);
    else if (isStored(operand))
      inputs.insert(operand);
    else
      collect(producer, operators, inputs);
  }
  operators.insert(op);
}

func::FuncOp KernelFuser::createKernel(Operation *root, ArrayRef<Operation *> operators, ArrayRef<Value> inputs) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = builder.getFunctionType(TypeRange(ValueRange(inputs)), root->getResultTypes());
  auto kernel = builder.create<func::FuncOp>(root->getLoc(), "kernel", type);
  kernel.setPrivate();
  kernel->setAttr(kernelAttribute, builder.getUnitAttr());
  if (isBatchInvariant(module))
    setBatchInvariant(kernel); // it is also transformed outside of its module
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(inputs, body->getArguments());
  for (Operation *op : operators)
    if (!mapping.contains(op->getResult(0))) // a constant that is also an input
      builder.clone(*op, mapping);
  builder.create<func::ReturnOp>(root->getLoc(), mapping.lookup(root->getResult(0)));
  return kernel;
}

/// The type of one kernel in terms of another's symbols, for kernels of the same structure. Expressions of several
/// symbols may be written differently, because the order of terms depends on names.
static Type typeWithSymbolsOf(func::FuncOp kernel, func::FuncOp other) {
  llvm::StringMap<SymbolicInt> values;
  for (auto [name, symbol] : llvm::zip_equal(symbolsOfKernel(kernel), symbolsOfKernel(other)))
    values[name] = SymbolicInt::symbol(symbol);
  AttrTypeReplacer replacer;
  addSymbolReplacements(replacer, values);
  return replacer.replace(kernel.getFunctionType());
}

/// An earlier equal kernel, or this one.
func::FuncOp KernelFuser::shared(func::FuncOp kernel) {
  std::string hash = structuralHash(kernel);
  auto [known, isNew] = kernelsByHash.try_emplace(hash, kernel);
  if (!isNew && typeWithSymbolsOf(known->second, kernel) == kernel.getFunctionType()) {
    kernel.erase();
    return known->second;
  }
  kernel->setAttr(structureAttribute, StringAttr::get(kernel.getContext(), hash));
  kernel.setSymName(kernelName(kernel, hash));
  return kernel;
}

void KernelFuser::outline(Operation *root) {
  SetVector<Operation *> operators;
  SetVector<Value> inputs;
  collect(root, operators, inputs);
  func::FuncOp kernel = createKernel(root, operators.getArrayRef(), inputs.getArrayRef());
  listSymbols(kernel);
  OpBuilder builder(root);
  SetVector<Location> nodes; // the root's come first
  for (Operation *op : llvm::reverse(operators))
    nodes.insert(op->getLoc());
  auto call = builder.create<CallKernelOp>(builder.getFusedLoc(nodes.getArrayRef()), root->getResultTypes(),
                                           kernel.getSymName(), inputs.getArrayRef());
  setSymbolValuesAt(call, symbolsOfKernel(kernel));
  call.setKernel(shared(kernel).getSymName());
  root->replaceAllUsesWith(call);
}

void KernelFuser::run(Block &block) {
  visit(block);
  // Erased only now: the memory of an erased operator could be reused for a call, whose result would then count as not
  // stored.
  for (Operation *op : llvm::reverse(operators))
    if (op->use_empty())
      op->erase();
}

/// Searches from the end, so that chains are as long as possible.
void KernelFuser::findChains(Block &block) {
  SetVector<Operation *> others; // that may be in chains
  for (Operation &op : block)
    if (!keepsNarrow || !isEpilogue(&op))
      others.insert(&op);
  for (Operation &op : llvm::reverse(block)) {
    if (!isa<ElementInterface>(op) || op.hasAttr(inPlaceAttribute) || op.getNumResults() != 1 ||
        computations.contains(op.getResult(0)) || isWidenedInside(&op) || !others.contains(&op))
      continue;
    std::optional<RowChain> chain = rowChainAt(&op, mostRowBytes, &others);
    if (!chain)
      continue;
    chainRoots.insert(&op);
    chainMembers.insert(chain->members.begin(), chain->members.end());
    for (Operation *member : chain->members)
      computations.try_emplace(member->getResult(0), Computation{ElementKind::Reduction, 1, 0});
  }
}

void KernelFuser::visit(Block &block) {
  if (isEnabled)
    findChains(block);
  for (Operation &op : block) {
    if (op.hasAttr(inPlaceAttribute))
      continue; // stays
    if (isa<ElementInterface>(op)) {
      operators.push_back(&op);
      decide(&op);
    } else if (isa<SequenceInterface>(op)) {
      operators.push_back(&op);
      outline(&op);
    } else if (isa<SymbolInterface>(op)) {
      for (Region &region : op.getRegions())
        visit(region.front());
    }
  }
}

void KernelFuser::decide(Operation *op) {
  if (!isStored(op->getResult(0)))
    return; // belongs to a chain
  if (chainRoots.contains(op))
    return outline(op);
  Computation computation = computationOf(op);
  bool isAlias = isa<ReshapeOp>(op) && isStored(op->getOperand(0));
  if (mayStayUnstored(op, computation))
    computations.try_emplace(op->getResult(0), computation);
  else if (!isAlias)
    outline(op);
}

namespace {
struct FuseKernels : perpend::graph::impl::GraphFuseKernelsBase<FuseKernels> {
  using GraphFuseKernelsBase::GraphFuseKernelsBase;

  void runOnOperation() override {
    KernelFuser::Kernels kernels; // which entries share
    const GraphFuseKernelsOptions options{isEnabled, keepsNarrow, savesMemory, looksUpOnce, rowBytes};
    for (func::FuncOp main : entriesOf(getOperation())) {
      storeResults(main);
      KernelFuser(getOperation(), options, kernels).run(main.getBody().front());
      numberResults(main);
    }
  }

  /// Numbers calls that compute results of main, so that equal ones are not merged: each fills its own memory.
  static void numberResults(func::FuncOp main) {
    OpBuilder builder(main.getContext());
    for (OpOperand &operand : main.getBody().front().getTerminator()->getOpOperands()) {
      if (auto call = originOf(operand.get()).getDefiningOp<CallKernelOp>())
        call->setAttr(resultAttribute, builder.getI64IntegerAttr(operand.getOperandNumber()));
    }
  }

  /// Every result of main needs its own memory, so inputs, constants and values returned twice are copied. A state that
  /// is updated in place has its memory.
  static void storeResults(func::FuncOp main) {
    Operation *terminator = main.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    SmallPtrSet<Value, 8> returned;
    for (OpOperand &operand : terminator->getOpOperands()) {
      if (main.getResultAttr(operand.getOperandNumber(), inPlaceAttribute))
        continue;
      Value origin = originOf(operand.get());
      Operation *producer = origin.getDefiningOp();
      bool isOwn = producer && !producer->hasAttr(inPlaceAttribute) && !matchPattern(origin, m_Constant());
      if (isOwn && returned.insert(origin).second)
        continue;
      operand.set(copy(builder, terminator->getLoc(), operand.get()));
    }
  }

  static Value copy(OpBuilder &builder, Location loc, Value value) {
    auto map = builder.create<MapOp>(loc, value.getType(), ValueRange(value));
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&map.getBody(), {}, {scalarTypeOf(value)}, {loc});
    builder.create<YieldOp>(loc, body->getArguments());
    return map;
  }
};
} // namespace
