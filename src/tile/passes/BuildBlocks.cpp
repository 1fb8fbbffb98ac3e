//===- BuildBlocks.cpp - operators into loops around blocks ---------------===//
//
// Turns a kernel's operators on tensors into loops around blocks on buffers, in
// their plainest form: a nest of its own for each value that is kept, in the
// order of the operators. Everything else about how the kernel runs is said by
// its schedule, afterwards.
//
// Kept are the kernel's results and what graph/Rows says; other values are computed
// where they are used.
//
//   %m = graph.reduce max %x dims [1]        tile.for %i0 in n { tile.for %k0 in 64 {
//   %y = graph.map (%x, %m) { subf }     =>    tile.block "reduce" spatial(…) reduced(…) { … } } }
//   return %y                                tile.for %i0 in n { tile.for %i1 in 64 { tile.block "map" … } }
//
//===----------------------------------------------------------------------===//

#include "tile/BlockEmitter.h"
#include "tile/passes/Passes.h"
#include "tile/rules/Rules.h"

#include "graph/Attributes.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "tile/Schedule.h"

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
  KernelBuilder(func::FuncOp kernel, std::optional<graph::RowChain> chain)
      : kernel(kernel), chain(std::move(chain)), builder(kernel) {}

  /// Whether every operator has elements: sequences have none yet.
  bool isPossible() {
    Block &body = kernel.getBody().front();
    return llvm::all_of(body.without_terminator(), [](Operation &op) {
      return isa<graph::ConstantOp>(op) ||
             (isa<graph::ElementInterface>(op) && !cast<graph::ElementInterface>(op).needsStoredOperands());
    });
  }

  /// The kernel on buffers, behind that on tensors.
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
    return chain && chain->members.contains(&op) ? chain->kept.contains(&op) : graph::isWorthKeeping(&op);
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
  OpBuilder builder;
  BlockEmitter emitter;
  llvm::StringMap<unsigned> counts;
};

struct BuildBlocks : perpend::tile::impl::TileBuildBlocksBase<BuildBlocks> {
  using TileBuildBlocksBase::TileBuildBlocksBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr(graph::kernelAttribute) ||
          !llvm::any_of(kernel.getResultTypes(), llvm::IsaPred<RankedTensorType>))
        continue;
      std::optional<graph::RowChain> chain = rowChainOf(kernel);
      KernelBuilder build(kernel, chain);
      if (!build.isPossible() || (!all && !chain))
        continue;
      func::FuncOp built = build.run();
      bool isKept = all || canBeScheduled(built);
      (isKept ? kernel : built).erase();
    }
  }

  /// A kernel that its rule cannot transform stays one of operators, which are computed where they are used.
  static bool canBeScheduled(func::FuncOp built) {
    func::FuncOp trial = built.clone();
    KernelSchedule schedule(trial);
    bool isScheduled = succeeded(scheduleRows(schedule, trial));
    trial.walk([&](AllocOp alloc) {
      std::optional<int64_t> count = graph::elementCount(alloc.getBuffer().getType().extents()).constant();
      isScheduled &= count && *count <= graph::mostRowBytes;
    });
    trial.erase();
    return isScheduled;
  }
};
} // namespace
