//===- LowerKernels.cpp - operators into loops on buffers -------------------===//
//
// Turns each kernel function from operators on tensors into loops on 1-D
// buffers, in the form that KernelAbi.h describes. The number of units is left
// as the attribute tile.extent; how many are worth a thread follows from it and
// an estimate of the kernel's time (CostModel.h). Runs after scheduling;
// afterwards no tensor is left inside kernels.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"
#include "graph/SubstituteSymbols.h"
#include "tile/Attributes.h"
#include "tile/Buffers.h"
#include "tile/CostModel.h"
#include "tile/KernelAbi.h"
#include "tile/KernelBody.h"
#include "tile/VerifyKernel.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILELOWERKERNELS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
struct LowerKernels : perpend::tile::impl::TileLowerKernelsBase<LowerKernels> {
  using TileLowerKernelsBase::TileLowerKernelsBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(graph::kernelAttribute) &&
          llvm::any_of(kernel.getResultTypes(), llvm::IsaPred<RankedTensorType>))
        if (failed(verifyKernel(kernel)) || failed(lower(kernel)))
          return signalPassFailure();
  }

  static FunctionType loweredType(func::FuncOp kernel) {
    SmallVector<Type> buffers;
    auto add = [&](Type tensor) { buffers.push_back(bufferType(cast<RankedTensorType>(tensor).getElementType())); };
    llvm::for_each(kernel.getArgumentTypes(), add);
    llvm::for_each(kernel.getResultTypes(), add);
    return KernelAbi::type(kernel.getContext(), buffers);
  }

  LogicalResult lower(func::FuncOp kernel) {
    SmallVector<StringRef> symbolNames = graph::symbolsOfKernel(kernel);
    ValueRange roots = kernel.getBody().front().getTerminator()->getOperands();
    SmallVector<Value> stored(kernel.getArguments());
    stored.append(roots.begin(), roots.end());
    for (Value tensor : stored)
      if (llvm::any_of(graph::rowMajorStrides(graph::shapeOf(tensor)), [](auto &stride) { return stride.isPoison(); }))
        return reportTooLarge(tensor), failure();
    OpBuilder builder(kernel);
    auto lowered = builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(), loweredType(kernel));
    lowered.setPrivate();
    lowered->setAttr(graph::kernelAttribute, builder.getUnitAttr());
    for (StringRef kept : {graph::symbolsAttribute, graph::structureAttribute, scheduleAttribute, workAttribute})
      if (Attribute attribute = kernel->getAttr(kept))
        lowered->setAttr(kept, attribute);
    Block *body = lowered.addEntryBlock();
    auto abi = KernelAbi::ofTensors(kernel);
    KernelEmitter emitter(lowered, body->getArgument(abi.symbols()), symbolNames);
    for (auto [argument, buffer] : llvm::zip(kernel.getArguments(), body->getArguments()))
      emitter.setBuffer(argument, buffer);
    Schedule schedule = Schedule::of(kernel);
    KernelBody kernelBody{emitter,        schedule, {}, body->getArgument(abi.begin()), body->getArgument(abi.end()),
                          kernel.getLoc()};
    for (auto [number, root] : llvm::enumerate(roots))
      kernelBody.results.push_back({root, body->getArgument(abi.output(number))});
    builder.setInsertionPointToEnd(body);
    graph::SymbolicInt units = emit(builder, kernelBody, kernel);
    builder.setInsertionPointToEnd(body);
    builder.create<func::ReturnOp>(kernel.getLoc());
    if (units.isPoison())
      return lowered.emitError("expected a number of units that the symbols give, got an expression that is too long");
    lowered->setAttr(extentAttribute, graph::ShapeAttr::get(kernel.getContext(), ArrayRef<graph::SymbolicInt>(units)));
    if (!schedule.grain)
      schedule.grain = static_cast<int64_t>(leastSecondsOfPart * estimate(units) / estimateSeconds(kernel, target)) + 1;
    schedule.attachTo(lowered);
    kernel.erase();
    return success();
  }

  static graph::SymbolicInt emit(OpBuilder &builder, KernelBody &body, func::FuncOp kernel) {
    if (auto sequence = dyn_cast_or_null<graph::SequenceInterface>(body.root().getDefiningOp()))
      return emitSequence(builder, body, sequence);
    Operation *leading = leadingOperator(kernel);
    if (auto reduce = dyn_cast_or_null<graph::ReduceOp>(leading); reduce && body.schedule.row)
      return emitRows(builder, body, reduce);
    return emitElements(builder, body);
  }
};
} // namespace
