//===- BuildBlocks.cpp - operators into loops around blocks ---------------===//
//
// Turns a kernel's operators on tensors into loops around blocks on buffers, in
// their plainest form: a nest of its own for each value that is kept, in the
// order of the operators. Everything else about how the kernel runs is said by
// its schedule, afterwards.
//
// Kernels are built so that are chains of rows, which have a rule, and those that
// come with a trace (KernelTraces.h).
//
// Kept are the kernel's results and, where something is a sum, what graph/Rows says; other
// values are computed where they are used.
//
//   %m = graph.reduce max %x dims [1]        tile.for %i0 in n { tile.for %k0 in 64 {
//   %y = graph.map (%x, %m) { subf }     =>    tile.block "reduce" spatial(…) reduced(…) { … } } }
//   return %y                                tile.for %i0 in n { tile.for %i1 in 64 { tile.block "map" … } }
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/BlockEmitter.h"
#include "tile/KernelWork.h"
#include "tile/passes/Passes.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/KernelTraces.h"

#include "graph/Attributes.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "tile/Schedule.h"
#include "tile/Scratch.h"

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
      : kernel(kernel), chain(std::move(chain)),
        hasReduction(llvm::any_of(kernel.getBody().front(), llvm::IsaPred<graph::ReductionInterface>)),
        builder(kernel) {}

  /// An operator without elements (sequences have none yet), or one that needs operands in memory and computes them,
  /// outside of a chain; null: blocks can be built.
  Operation *obstacle() {
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      auto element = dyn_cast<graph::ElementInterface>(op);
      bool isInChain = chain && (&op == chain->root || chain->members.contains(&op));
      bool isPossible =
          isa<graph::ConstantOp>(op) || (element && (!element.needsStoredOperands() || isInChain ||
                                                     llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>)));
      if (!isPossible)
        return &op;
    }
    return nullptr;
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
    if (chain && chain->members.contains(&op))
      return chain->kept.contains(&op);
    return hasReduction && graph::isWorthKeeping(&op);
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
  using TileBuildBlocksBase::TileBuildBlocksBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr(graph::kernelAttribute) ||
          !llvm::any_of(kernel.getResultTypes(), llvm::IsaPred<RankedTensorType>))
        continue;
      std::optional<graph::RowChain> chain = rowChainOf(kernel);
      KernelBuilder build(kernel, chain);
      if (Operation *obstacle = build.obstacle(); obstacle && hasTrace(kernel)) {
        emitNotPossible(kernel, obstacle);
        return signalPassFailure();
      }
      if (build.obstacle() || !(all || hasTrace(kernel) || chain || isPointwise(kernel) || sumsWindows(kernel)))
        continue;
      func::FuncOp built = build.run();
      KernelWork work = workOf(built);
      for (func::FuncOp form : {kernel, built})
        work.attachTo(form);
      func::FuncOp scheduled = all || hasTrace(kernel) ? func::FuncOp() : trySchedule(built, chain, target);
      bool isOfProducts = chain && (graph::isProduct(chain->root) || llvm::any_of(chain->members, graph::isProduct));
      bool isKept = all || hasTrace(kernel) || scheduled || isOfProducts;
      if (isOfProducts && !scheduled && !all && !hasTrace(kernel))
        setTrace(built, KernelSchedule(built)); // operators cannot do without these blocks
      (isKept ? kernel : built).erase();
      if (!scheduled)
        continue;
      if (schedules) {
        OpBuilder(built).insert(scheduled);
        built.erase();
      } else {
        scheduled.erase();
      }
    }
  }

  static void emitNotPossible(func::FuncOp kernel, Operation *obstacle) {
    kernel.emitError("kernel '") << kernel.getSymName() << "': it has a trace, but its operator '"
                                 << obstacle->getName() << "' has no form as blocks\nhint: leave out the schedule "
                                 << "of this kernel (its attribute " << traceAttribute << ")";
  }

  /// Views, and what is computed of them element by element.
  static bool isPointwise(func::FuncOp kernel) {
    return llvm::all_of(kernel.getBody().front().without_terminator(), [](Operation &op) {
      auto element = dyn_cast<graph::ElementInterface>(op);
      return isa<graph::ConstantOp>(op) || (element && element.elementKind() != graph::ElementKind::Reduction);
    });
  }

  /// One reduction, whose result the others read where it is.
  static bool sumsWindows(func::FuncOp kernel) {
    auto isReduction = [](Operation &op) { return isa<graph::ReductionInterface>(op); };
    return kernel.getNumResults() == 1 && llvm::count_if(kernel.getBody().front(), isReduction) == 1;
  }

  /// Whether a local buffer is no more than a few rows of a value that the chain keeps; rows may be as long as whole
  /// panels.
  static bool isOfRows(BufferType buffer, const graph::RowChain &chain) {
    static constexpr int64_t mostRows = 64, mostColumns = 64;
    graph::SymbolicInt count = graph::elementCount(buffer.extents());
    return llvm::any_of(chain.kept, [&](Operation *op) {
      graph::SymbolicInt row = graph::elementCount(chain.rowOf(op->getResult(0)));
      return ((row + graph::SymbolicInt(mostColumns)) * graph::SymbolicInt(mostRows) - count).knownNonNegative();
    });
  }

  /// A copy that its rule has transformed. Null: no rule can, and the kernel stays one of operators, which are computed
  /// where they are used.
  static func::FuncOp trySchedule(func::FuncOp built, const std::optional<graph::RowChain> &chain,
                                  const target::TargetInfo &target) {
    const Rule *rule = ruleFor(built, target);
    if (!rule)
      return {};
    func::FuncOp trial = built.clone();
    KernelSchedule schedule(trial, target.scopes());
    bool isScheduled = succeeded(rule->schedule(schedule, trial, target));
    compactBuffers(trial);
    isScheduled &= !accessWithoutPlace(trial) && exceededMemory(trial, target).empty();
    trial.walk([&](AllocOp alloc) {
      BufferType buffer = alloc.getBuffer().getType();
      if (buffer.memorySpace())
        return;
      std::optional<int64_t> count = graph::elementCount(buffer.extents()).constant();
      isScheduled &= (count && *count <= mostStackBytes) || (chain && isOfRows(buffer, *chain));
    });
    if (isScheduled) {
      setTrace(trial, schedule);
      return trial;
    }
    trial.erase();
    return {};
  }
};
} // namespace
