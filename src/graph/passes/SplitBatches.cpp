//===- SplitBatches.cpp - chains of kernels run part by part --------------===//
//
// A near memory often holds the values between kernels for some images of a batch, but not for all of them. A chain of
// kernels of which each computes the indices of the first dimension independently (Parts.h) then runs for a part of
// them, from its first kernel to its last, before the next part begins. Only what enters or leaves a group of kernels
// lies in far memory as a whole; parts are slices in its memory, and results are assembled in theirs. Where near memory
// does not hold the values of one image, either, a part has some of its rows, and what they need of the values before
// (Bands.h).
//
// Runs behind fusion, because kernels are what values go between. Into which groups a chain is cut, and each group's
// batch into parts, is decided in PlanParts.h.
//
//   %b = call_kernel @f(%a) : [16, m]        %a0 = slice %a [0] {in_place}   %b0 = call_kernel @f8(%a0) : [8, m]
//   %c = call_kernel @g(%b) : [16, m]   =>   %c0 = call_kernel @g8(%b0)      … the same of rows 8 to 15 …
//                                            %c = concat %c0, %c1 {graph.assembled}
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/passes/PlanParts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHSPLITBATCHES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {
/// Finds the chains of a block. Several may be open at a time; one ends at an operator that reads it otherwise, so that
/// what lies between the members of a chain can run before it.
class ChainFinder {
public:
  explicit ChainFinder(DividedKernels &kernels) : kernels(kernels) {}

  std::vector<Chain> find(Block &block) {
    for (Operation &op : block)
      visit(op);
    closeIf([](const Chain &) { return true; });
    return std::move(chains);
  }

private:
  void closeIf(llvm::function_ref<bool(const Chain &)> ends) {
    for (Chain &chain : open)
      if (ends(chain) && chain.members.size() > 1)
        chains.push_back(chain);
    llvm::erase_if(open, ends);
  }

  void visit(Operation &op) {
    const bool hasOrder =
        !DividedKernels::isCall(&op) && !op.hasTrait<OpTrait::ConstantLike>() && !isInOperandsMemory(&op);
    const std::optional<int64_t> rows = rowsOf(op);
    closeIf([&](const Chain &chain) {
      return hasOrder || (chain.isReadBy(&op) && (chain.rows != rows || readsWhole(op, chain)));
    });
    if (!rows)
      return;
    // What has as many rows by chance, such as the channels of a bias, is no member.
    Chain joined;
    joined.rows = *rows;
    for (const Chain &chain : open)
      if (chain.isReadBy(&op))
        llvm::append_range(joined.members, chain.members);
    llvm::sort(joined.members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (auto [number, member] : llvm::enumerate(joined.members))
      joined.numbers[member] = number;
    llvm::erase_if(open, [&](const Chain &chain) { return chain.isReadBy(&op); });
    joined.add(&op);
    open.push_back(std::move(joined));
  }

  /// Of what an operator computes index by index.
  std::optional<int64_t> rowsOf(Operation &op) {
    if (const Parts *parts = kernels.partsOf(&op))
      return parts->extent;
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    if (!flow || !isInOperandsMemory(&op) || !isInChain(op.getOperand(0)) || shapeOf(op.getResult(0)).empty() ||
        shapeOf(op.getOperand(0)).empty() || flow.followingDim(op.getOpOperand(0), 0) != 0u)
      return std::nullopt;
    return shapeOf(op.getResult(0))[0].constant();
  }

  bool isInChain(Value value) {
    return llvm::any_of(open, [&](const Chain &chain) { return chain.contains(value); });
  }

  bool readsWhole(Operation &op, const Chain &chain) {
    return kernels.partsOf(&op) && llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) {
             return chain.contains(operand.get()) && !kernels.isDivided(operand);
           });
  }

  DividedKernels &kernels;
  std::vector<Chain> open, chains;
};
} // namespace

//===----------------------------------------------------------------------===//
// Parts in main
//===----------------------------------------------------------------------===//

namespace {
/// Makes the members of a group anew for each part.
class GroupSplitter {
public:
  GroupSplitter(ArrayRef<Operation *> members, int64_t rows, DividedKernels &kernels, BandedKernels &banded)
      : members(members), rows(rows), kernels(kernels), banded(banded), builder(members.back()->getContext()) {}

  void split(int64_t parts) {
    moveOthers();
    builder.setInsertionPointAfter(members.back());
    std::vector<IRMapping> made(parts);
    int64_t start = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t size = rows / parts + (part < rows % parts);
      for (Operation *op : members)
        emit(op, start, size, made[part]);
      start += size;
    }
    replace(made, assembled);
  }

  /// Each index of the first dimension in so many bands of its rows.
  void splitRows(int64_t bands) {
    std::vector<ValueRows> parts;
    for (int64_t band = 0; band < bands; ++band)
      parts.push_back(*banded.rowsOfBand(members, band, bands));
    moveOthers();
    builder.setInsertionPointAfter(members.back());
    std::vector<IRMapping> made(rows * bands);
    for (int64_t image = 0; image < rows; ++image)
      for (auto [band, part] : llvm::enumerate(parts))
        for (Operation *op : members)
          emitBand(op, image, part, made[image * bands + band]);
    replace(made, assembledBands);
  }

private:
  using Assemble = llvm::function_ref<Value(OpBuilder &, RankedTensorType, ValueRange)>;

  void replace(ArrayRef<IRMapping> made, Assemble assemble) {
    for (Operation *op : members)
      for (Value result : op->getResults())
        replace(result, made, assemble);
    for (Operation *op : llvm::reverse(members))
      op->erase();
  }

  /// What lies between the members does not need them.
  void moveOthers() {
    SmallPtrSet<Operation *, 16> known(members.begin(), members.end());
    for (Operation *op = members.front(), *next; op != members.back(); op = next) {
      next = op->getNextNode();
      if (!known.contains(op))
        op->moveBefore(members.front());
    }
  }

  void emit(Operation *op, int64_t start, int64_t size, IRMapping &made) {
    const bool isCall = DividedKernels::isCall(op);
    for (OpOperand &operand : op->getOpOperands())
      if (!made.contains(operand.get()) && (!isCall || kernels.isDivided(operand)))
        made.map(operand.get(), partOf(builder, operand.get(), start, size));
    Operation *part = op->clone(made);
    if (isCall) {
      for (OpOperand &operand : op->getOpOperands())
        if (!kernels.isDivided(operand))
          part->setOperand(operand.getOperandNumber(), operand.get());
      kernels.runPart(part, op, size);
    }
    for (Value result : part->getResults())
      result.setType(withRows(tensorTypeOf(result), size));
    builder.insert(part);
  }

  void emitBand(Operation *op, int64_t image, const ValueRows &rows, IRMapping &made) {
    const RowRange computed = rows.at(op->getResult(0));
    Operation *part = op->clone();
    for (auto [number, read] : llvm::enumerate(*banded.read(op, computed)))
      if (read)
        part->setOperand(number, bandOf(op->getOperand(number), image, *read, rows, made));
    banded.runRows(part, op, computed);
    builder.insert(part);
    made.map(op->getResult(0), part->getResult(0));
  }

  /// The rows that a member reads, of those that another one has computed.
  Value bandOf(Value value, int64_t image, const RowRange &read, const ValueRows &rows, const IRMapping &made) {
    if (!made.contains(value))
      return rowsOfImage(builder, value, image, read);
    const RowRange &computed = rows.at(value);
    Value band = made.lookup(value);
    return read == computed ? band
                            : rowsOfImage(builder, band, 0, {read.begin - computed.begin, read.end - computed.begin});
  }

  void replace(Value result, ArrayRef<IRMapping> made, Assemble assemble) {
    auto isOutside = [&](OpOperand &use) { return !llvm::is_contained(members, use.getOwner()); };
    if (llvm::none_of(result.getUses(), isOutside))
      return;
    SmallVector<Value> parts =
        llvm::map_to_vector(made, [&](const IRMapping &mapping) { return mapping.lookup(result); });
    result.replaceUsesWithIf(assemble(builder, tensorTypeOf(result), parts), isOutside);
  }

  ArrayRef<Operation *> members;
  int64_t rows;
  DividedKernels &kernels;
  BandedKernels &banded;
  OpBuilder builder;
};

struct SplitBatches : perpend::graph::impl::GraphSplitBatchesBase<SplitBatches> {
  using GraphSplitBatchesBase::GraphSplitBatchesBase;

  void runOnOperation() override {
    if (!nearBytes)
      return;
    const GraphSplitBatchesOptions options{nearBytes, lineBytes, launchBytes, overwrites, productsPerByte};
    DividedKernels kernels;
    for (func::FuncOp main : entriesOf(getOperation())) {
      Block &block = main.getBody().front();
      // The first time also into bands; then parts are divided into parts again. A part has at most half as many
      // indices of the first dimension as what is divided, rounded up, and a band has one; one is not divided any more.
      bool isSplit = splitChains(block, kernels, /*hasBands=*/true, options);
      while (isSplit)
        isSplit = splitChains(block, kernels, /*hasBands=*/false, options);
    }
    eraseUnused();
  }

  /// False: nothing was divided.
  static bool splitChains(Block &block, DividedKernels &kernels, bool hasBands,
                          const GraphSplitBatchesOptions &options) {
    bool isSplit = false;
    BandedKernels banded(kernels);
    for (const Chain &chain : ChainFinder(kernels).find(block))
      for (const Group &group : planParts(chain, kernels, hasBands ? &banded : nullptr, options)) {
        const ArrayRef<Operation *> members = ArrayRef(chain.members).slice(group.first, group.end - group.first);
        GroupSplitter splitter(members, chain.rows, kernels, banded);
        if (group.bands > 1)
          splitter.splitRows(group.bands);
        else if (group.parts > 1)
          splitter.split(group.parts);
        isSplit |= group.parts > 1 || group.bands > 1;
      }
    return isSplit;
  }

  void eraseUnused() {
    llvm::StringSet<> called;
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(&getOperation().getBodyRegion());
    for (const SymbolTable::SymbolUse &use : *uses)
      called.insert(use.getSymbolRef().getLeafReference().getValue());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(kernelAttribute) && !called.contains(kernel.getSymName()))
        kernel.erase();
  }
};
} // namespace
