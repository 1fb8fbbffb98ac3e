//===- Pipeline.cpp - the phases of the compiler --------------------------===//
//
// Read this first. Front ends import a model as graph operators on tensors.
// Each phase below lowers the same module a little further, until LLVM can
// translate it. Compiler.cpp does what follows the last phase.
//
//===----------------------------------------------------------------------===//

#include "Pipeline.h"
#include "graph/Attributes.h"
#include "tile/Attributes.h"
#include "tile/ir/KernelIndices.h"

#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/Graph.h"
#include "graph/Parts.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "graph/passes/Passes.h"
#include "host/Host.h"
#include "host/VerifyProgram.h"
#include "host/passes/Passes.h"
#include "interp/Evaluate.h"
#include "target/Accelerator.h"
#include "target/cpu/passes/Passes.h"
#include "target/vector/passes/Passes.h"
#include "tile/ir/Tile.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/kernel/Partition.h"
#include "tile/passes/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/Passes.h"

#include <chrono>

using namespace mlir;

namespace perpend {

//===----------------------------------------------------------------------===//
// What each phase runs
//===----------------------------------------------------------------------===//

/// Control flow is still in regions, so there are few blocks; merging equal ones would cost time and find nothing.
static std::unique_ptr<Pass> createCanonicalizer() {
  GreedyRewriteConfig config;
  config.useTopDownTraversal = true;
  config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
  return createCanonicalizerPass(config);
}

static bool packsOperands(const PhaseContext &context) {
  return context.optLevel >= 2 && !context.isUnpacked && context.target.gemmRows;
}

/// Products read floats in the bits that the model has.
static bool keepsNarrow(const PhaseContext &context) {
  return packsOperands(context) || (context.optLevel >= 2 && context.target.hasUnit(target::productUnit));
}

static void buildSimplify(OpPassManager &passes, const PhaseContext &context) {
  passes.addPass(graph::createGraphInferRequirements());
  if (context.optLevel == 0)
    return;
  passes.addPass(graph::createGraphPlaceScales());
  passes.addPass(graph::createGraphSimplify({keepsNarrow(context)}));
  if (!context.target.hasUnit(target::nestUnit))
    return;
  passes.addPass(graph::createGraphMakeNests());
  passes.addPass(graph::createGraphSimplify({keepsNarrow(context)}));
}

static void buildLayout(OpPassManager &passes, const PhaseContext &context) {
  if (context.optLevel < 2)
    return;
  passes.addNestedPass<func::FuncOp>(graph::createGraphPlaceChannelsLast({context.target.hasUnit(target::windowUnit)}));
  passes.addNestedPass<func::FuncOp>(graph::createGraphPlaceTransposes());
  passes.addNestedPass<func::FuncOp>(graph::createGraphPlaceSmallTransposes());
  passes.addNestedPass<func::FuncOp>(graph::createGraphPlaceProducts()); // what it moves leaves other transposes
  passes.addNestedPass<func::FuncOp>(graph::createGraphPlaceSmallTransposes());
  passes.addPass(graph::createGraphSimplify({keepsNarrow(context)}));
}

static void buildPack(OpPassManager &passes, const PhaseContext &context) {
  if (context.precision != "f32")
    passes.addPass(tile::createTileLowerPrecision({context.precision.str()}));
  if (!packsOperands(context))
    return;
  passes.addPass(tile::createTilePackOperands({context.target, context.precision.str()}));
  passes.addPass(graph::createGraphSimplify());
}

/// Whether results lie where operands did that are read no later.
static bool sharesPlaces(const target::Machine &machine) {
  const StringRef name = StringRef(machine.name).split(':').first;
  return machine.takes(target::sharingDecision) &&
         llvm::any_of(target::accelerators(), [&](const target::Accelerator *each) {
           return each->name == name && llvm::is_contained(each->decisions, target::sharingDecision);
         });
}

static void buildFuse(OpPassManager &passes, const PhaseContext &context) {
  const bool isNarrow = context.optLevel != 1 && context.target.hasUnit(target::productUnit);
  if (context.optLevel > 0) {
    passes.addPass(graph::createGraphPlaceCalls());
    passes.addNestedPass<func::FuncOp>(graph::createGraphFuseMaps({isNarrow}));
    passes.addNestedPass<func::FuncOp>(graph::createGraphPlaceReshapes());
    passes.addNestedPass<func::FuncOp>(graph::createGraphFuseMaps({isNarrow}));
    passes.addPass(createCSEPass());
  }
  passes.addPass(graph::createGraphPlaceStates());
  graph::GraphFuseKernelsOptions options;
  options.isEnabled = context.optLevel > 0;
  options.keepsNarrow = isNarrow;
  options.savesMemory = context.optLevel >= 2 && context.target.global.bytes != 0;
  options.looksUpOnce = context.target.hasUnit(target::nestUnit);
  if (context.optLevel >= 2 && isNarrow && !context.target.mainMemories.empty())
    options.rowBytes = context.target.mainMemories.front().lineBytes;
  passes.addPass(graph::createGraphFuseKernels(options));
  passes.addPass(graph::createGraphScheduleUpdates());
  if (context.optLevel >= 2 && !context.target.mainMemories.empty() && context.target.takes(target::partsDecision)) {
    const target::Memory &near = context.target.mainMemories.front();
    passes.addPass(graph::createGraphScheduleCalls());
    const target::Rates rates = target::ratesOf(context.target);
    graph::GraphSplitBatchesOptions split;
    split.nearBytes = static_cast<int64_t>(near.bytes);
    split.lineBytes = near.lineBytes;
    split.overwrites = sharesPlaces(context.target);
    if (rates.farBytes > 0)
      split.productsPerByte = static_cast<int64_t>(rates.products / rates.farBytes);
    passes.addPass(graph::createGraphSplitBatches(split));
  }
}

static void buildSchedule(OpPassManager &passes, const PhaseContext &context) {
  passes.addPass(tile::createTileBuildBlocks());
  passes.addPass(tile::createTileAssignDevices({context.target}));
  passes.addPass(tile::createTileScheduleBlocks({context.target}));
}

static void buildTile(OpPassManager &passes, const PhaseContext &context) {
  passes.addPass(tile::createTileFlattenBlocks({context.target}));
  passes.addPass(createCanonicalizer());
  passes.addPass(tile::createTileHoistDivisions());
  passes.addPass(createCSEPass());
}

static void buildPlan(OpPassManager &passes, const PhaseContext &context) {
  passes.addPass(host::createHostPlaceCopies({context.target}));
  passes.addPass(host::createHostPlanMemory({context.plan.str(), context.target}));
  passes.addPass(host::createHostPlaceValues({context.target}));
  passes.addPass(host::createHostPlaceWaits({context.target}));
}

static void buildLower(OpPassManager &passes, const PhaseContext &context) {
  passes.addPass(tile::createTileLowerIntrinsics({context.target}));
  passes.addPass(target::createVectorFuseProducts({context.target}));
  passes.addPass(createConvertMathToFuncs());
  passes.addPass(tile::createTileExpandIntegers());
  passes.addPass(tile::createTileExpandRounding());
  passes.addPass(tile::createTileExpandMath({context.target, /*kept=*/{}}));
  passes.addPass(target::createCpuExpandFloats({context.target}));
  if (context.isChecked)
    passes.addPass(tile::createTileVerifyAccesses());
  passes.addPass(target::createCpuLowerMain({context.target}));
  passes.addPass(createCanonicalizer());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createConvertVectorToSCFPass());
  // These passes rewrite greedily and so merge equal blocks. With hundreds of blocks that is slow, and MLIR 19 may give
  // merged blocks arguments of wrong types. So they run while branches are still regions.
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  // Functions of libm take scalars, so these conversions unroll vectors.
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(target::createCpuLowerBFloat16({context.target}));
  passes.addPass(createCanonicalizer());
}

//===----------------------------------------------------------------------===//
// What each phase guarantees
//===----------------------------------------------------------------------===//

static LogicalResult holds(ModuleOp module, llvm::function_ref<bool(Operation *)> isAllowed, StringRef guarantee) {
  WalkResult result = module.walk([&](Operation *op) {
    if (isAllowed(op))
      return WalkResult::advance();
    graph::emitInternalError(op->getLoc()) << guarantee;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkSimplified(ModuleOp module, const PhaseContext &context) {
  if (context.optLevel == 0)
    return success();
  return holds(
      module,
      [](Operation *op) {
        auto function = op->getParentOfType<func::FuncOp>();
        return !function || function->hasAttr(graph::kernelAttribute) || op->hasTrait<OpTrait::ConstantLike>() ||
               !isOpTriviallyDead(op);
      },
      "nothing needs the results of an operator");
}

static LogicalResult checkLayout(ModuleOp module, const PhaseContext &context) {
  if (context.optLevel < 2)
    return success();
  return holds(
      module,
      [](Operation *op) {
        auto conv = dyn_cast<graph::ConvOp>(op);
        return !conv || conv.getChannelsLast();
      },
      "the channels of a convolution do not come last");
}

static LogicalResult checkPacked(ModuleOp module, const PhaseContext &) {
  return holds(
      module,
      [](Operation *op) {
        auto product = dyn_cast<tile::MatmulOp>(op);
        auto conv = dyn_cast<tile::ConvOp>(op);
        return (!product || product.panel()) && (!conv || conv.panel());
      },
      "a packed operand is not in panels");
}

static LogicalResult checkFused(ModuleOp module, const PhaseContext &) {
  for (func::FuncOp main : graph::entriesOf(module))
    if (failed(graph::checkSymbolOrder(main)))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(graph::kernelAttribute) && failed(tile::verifyKernel(function)))
      return failure();
  return holds(
      module,
      [](Operation *op) {
        auto function = op->getParentOfType<func::FuncOp>();
        return !function || function->hasAttr(graph::kernelAttribute) || op->hasAttr(graph::inPlaceAttribute) ||
               op->hasAttr(graph::assembledAttribute) ||
               isa<graph::ConstantOp, graph::ReshapeOp, graph::CallKernelOp, graph::CallLibraryOp, graph::MeasureOp,
                   graph::RequireOp, graph::IfOp, graph::LoopOp, graph::YieldOp, func::ReturnOp>(op);
      },
      "main holds an operator outside a kernel");
}

static LogicalResult checkNoTensors(ModuleOp module) {
  return holds(
      module,
      [](Operation *op) {
        auto function = op->getParentOfType<func::FuncOp>();
        return !function || !function->hasAttr(graph::kernelAttribute) ||
               llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
      },
      "a kernel still has tensors");
}

static LogicalResult checkScheduled(ModuleOp module, const PhaseContext &) {
  return success(llvm::all_of(module.getOps<func::FuncOp>(),
                              [](func::FuncOp function) {
                                return !function->hasAttr(graph::kernelAttribute) ||
                                       (succeeded(tile::verifyKernel(function)) &&
                                        succeeded(tile::Partition::verify(function)));
                              }) &&
                 succeeded(checkNoTensors(module)));
}

static LogicalResult checkTiled(ModuleOp module, const PhaseContext &) {
  return success(succeeded(checkNoTensors(module)) && llvm::none_of(module.getOps<func::FuncOp>(), tile::isOnBlocks));
}

static LogicalResult checkPlanned(ModuleOp module, const PhaseContext &context) {
  if (graph::firstEntryOf(module))
    return graph::emitInternalError(module.getLoc()) << "main is no host program";
  return failure(failed(host::verifyPrograms(module)) || failed(host::verifyDevices(module, context.target)));
}

static LogicalResult checkLowered(ModuleOp module, const PhaseContext &) {
  return holds(
      module, [](Operation *op) { return isa<ModuleOp>(op) || isa<LLVM::LLVMDialect>(op->getDialect()); },
      "an operation did not reach LLVM");
}

static constexpr Phase table[] = {
    {"simplify", "From -O1 on, something needs the results of every operator.", buildSimplify, checkSimplified},
    {"layout", "From -O2 on, the channels of every convolution come last.", buildLayout, checkLayout},
    {"pack", "Packed operands are in panels.", buildPack, checkPacked},
    {"fuse", "Every operator is in a kernel function; main calls kernels and library functions, branches and loops.",
     buildFuse, checkFused, &PhaseListener::afterKernelsAreMade},
    {"schedule", "Every kernel is loops around blocks on buffers, and its trace says how they came about.",
     buildSchedule, checkScheduled, &PhaseListener::afterKernelsAreScheduled},
    {"tile", "Kernels are loops on buffers.", buildTile, checkTiled},
    {"plan", "Main is a host program: launches on places in memory.", buildPlan, checkPlanned,
     &PhaseListener::afterMemoryIsPlanned},
    {"lower", "The module is in the LLVM dialect and exports bind, sizes and run.", buildLower, checkLowered},
};

llvm::ArrayRef<Phase> phases() { return table; }

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// What a pass cannot do is the compiler's mistake, unless it says whose it is. The module is verified once:
/// behind every pass, as perpend-opt does, takes longer than many passes.
static LogicalResult runPhase(ModuleOp module, const PhaseContext &context, const Phase &phase) {
  using enum graph::ErrorKind;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    std::optional<graph::ErrorKind> kind = graph::kindOf(diagnostic);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && kind.value_or(Internal) == Internal)
      diagnostic << Internal << (kind ? " (in phase '" : " (perpend bug in phase '") << phase.name << "')";
    return failure(); // printed by the handler outside
  });
  PassManager passes(module.getContext(), module->getName().getStringRef());
  passes.enableVerifier(false);
  phase.build(passes, context);
  return failure(failed(passes.run(module)) || failed(verify(module)) || failed(phase.check(module, context)));
}

/// For modules written by users: the loops around a block must stay within the domains of its iterators.
static LogicalResult checkDomains(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](tile::BlockOp block) {
    if (!block.getConditions().values().empty())
      return WalkResult::skip(); // conditions may exclude the excess iterations
    tile::KernelIndices indices;
    tile::Shape bindings = indices.bindingsOf(block), domain(block.getDomain().values());
    for (size_t i = 0; i < bindings.size(); ++i) {
      tile::SymbolicInt last = indices.inLastIteration(bindings[i], block);
      if ((last - domain[i] + tile::SymbolicInt(1)).knownPositive())
        return block.emitError("block '")
                   << block.getName() << "': expected iterator " << i << " below " << domain[i].str() << ", got "
                   << last.str() << graph::Hint("check the extents of the loops around it"),
               WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult runPhases(ModuleOp module, const PhaseContext &context, StringRef first, StringRef last,
                        llvm::function_ref<LogicalResult(const Phase &, double)> after) {
  bool isRunning = first.empty();
  if (!isRunning && failed(checkDomains(module)))
    return failure();
  for (const Phase &phase : phases()) {
    isRunning |= phase.name == first;
    if (!isRunning)
      continue;
    auto start = std::chrono::steady_clock::now();
    if (failed(runPhase(module, context, phase)))
      return failure();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (failed(after(phase, seconds.count())))
      return failure();
    if (phase.name == last)
      break;
  }
  return success();
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<graph::GraphDialect, tile::TileDialect, host::HostDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registry.addExtension(+[](MLIRContext *, graph::GraphDialect *dialect) {
    dialect->evaluator = [](Operation *op, ArrayRef<Attribute> operands, SmallVectorImpl<Attribute> &results) {
      return interp::evaluate(op, operands, results);
    };
  });
}

void registerPasses() {
  graph::registerGraphPasses();
  tile::registerTilePasses();
  host::registerHostPasses();
  target::registerCpuPasses();
  target::registerVectorPasses();
}
} // namespace perpend
