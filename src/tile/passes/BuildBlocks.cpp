//===- BuildBlocks.cpp - converts operators into blocks -------------------===//
//
// Converts a kernel's operators on tensors into loops around blocks on buffers, in the plainest form: one nest for
// each stored value, in the order of the operators. The schedule decides everything else about the execution.
//
// The kernel's results are stored, and, in kernels with reductions, the values that graph/Rows.h selects; all others
// are computed at their uses.
//
//   %m = graph.reduce max %x dims [1]        tile.for %i0 in n { tile.for %k0 in 64 {
//   %y = graph.map (%x, %m) { subf }     =>    tile.block "reduce" spatial(…) reduced(…) { … } } }
//   return %y                                tile.for %i0 in n { tile.for %i1 in 64 { tile.block "map" … } }
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/ir/BlockEmitter.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/KernelWork.h"
#include "tile/kernel/Partition.h"
#include "tile/passes/Passes.h"

#include "graph/Attributes.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEBUILDBLOCKS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class KernelBuilder {
public:
  explicit KernelBuilder(func::FuncOp kernel)
      : kernel(kernel), chain(rowChainOf(kernel)),
        hasReduction(llvm::any_of(kernel.getBody().front(), llvm::IsaPred<graph::ReductionInterface>)),
        builder(kernel) {}

  /// Returns a new kernel on buffers, placed after the one on tensors.
  func::FuncOp run() {
    auto built = createFunction();
    Block *body = built.addEntryBlock();
    builder.setInsertionPointToStart(body);
    for (auto [argument, buffer] : llvm::zip(kernel.getArguments(), body->getArguments()))
      emitter.setBuffer(argument, buffer);
    Operation *terminator = kernel.getBody().front().getTerminator();
    for (auto [i, result] : llvm::enumerate(terminator->getOperands()))
      emitter.setBuffer(result, body->getArgument(kernel.getNumArguments() + i));
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (op.getNumResults() == 1 && isKept(op))
        emitValue(op);
    builder.setInsertionPointToEnd(body);
    builder.create<func::ReturnOp>(kernel.getLoc());
    return built;
  }

private:
  static BufferType bufferOf(Type tensor, StringRef scope) {
    auto type = cast<RankedTensorType>(tensor);
    return BufferType::get(type.getContext(), graph::shapeOf(type), type.getElementType(), scope);
  }

  func::FuncOp createFunction() {
    SmallVector<Type> buffers;
    for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
      buffers.push_back(bufferOf(type, "global"));
    auto built =
        builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(), builder.getFunctionType(buffers, {}));
    built->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
    built.setPrivate();
    return built;
  }

  bool isKept(Operation &op) {
    if (emitter.bufferOf(op.getResult(0)))
      return true;
    if (chain && chain->members.contains(&op))
      return chain->kept.contains(&op);
    return hasReduction && (graph::isWorthKeeping(&op) || graph::isKeptForWindows(&op));
  }

  void emitValue(Operation &op) {
    Value tensor = op.getResult(0);
    std::string name = uniqueName(op.getName().stripDialect());
    if (!emitter.bufferOf(tensor))
      emitter.setBuffer(tensor, builder.create<AllocOp>(op.getLoc(), bufferOf(tensor.getType(), "local"),
                                                        builder.getStringAttr(name)));
    emitter.emitBlock(builder, tensor, name);
  }

  std::string uniqueName(StringRef stem) {
    unsigned number = counts[stem]++;
    return number ? (stem + "_" + Twine(number)).str() : stem.str();
  }

  func::FuncOp kernel;
  std::optional<graph::RowChain> chain;
  bool hasReduction;
  OpBuilder builder;
  BlockEmitter emitter;
  llvm::StringMap<unsigned> counts;
};

struct BuildBlocks : perpend::tile::impl::TileBuildBlocksBase<BuildBlocks> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr(graph::kernelAttribute) || isOnBuffers(kernel))
        continue;
      if (failed(verifyKernel(kernel)) || failed(checkSizes(kernel)))
        return signalPassFailure();
      func::FuncOp built = KernelBuilder(kernel).run();
      if (!hasSequence(kernel))
        workOf(built).attachTo(built);
      kernel.erase();
    }
  }

  /// A sequence has a different amount of work per element.
  static bool hasSequence(func::FuncOp kernel) {
    return llvm::any_of(kernel.getBody().front(), llvm::IsaPred<graph::SequenceInterface>);
  }

  /// Positions in memory must fit 64 bits.
  static LogicalResult checkSizes(func::FuncOp kernel) {
    SmallVector<Value> stored(kernel.getArguments());
    llvm::append_range(stored, kernel.getBody().front().getTerminator()->getOperands());
    for (Value tensor : stored)
      if (llvm::any_of(graph::rowMajorStrides(graph::shapeOf(tensor)), [](auto &stride) { return stride.isPoison(); }))
        return reportTooLarge(tensor), failure();
    return success();
  }
};
} // namespace
