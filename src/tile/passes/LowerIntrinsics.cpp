//===- LowerIntrinsics.cpp - lowers calls of intrinsics -------------------===//
//
// Runs first in the phase `lower`, so that implementations are lowered together with kernels,
// and modules written after earlier phases contain no machine code. Each implementation
// becomes one function, which LLVM inlines; one in an object file becomes a call. Emitters
// generate the code of their intrinsics.
//
//   tile.call_intrinsic "i8.dot" %a, … at(%i, …) strides(%one, …) extents() : memref<?xi8>, …
// becomes
//   %0 = memref.reinterpret_cast %a to offset: [%i], sizes: [4], strides: [1] : …
//   func.call @intrinsic_i8.dot(%0, …)
//
//===----------------------------------------------------------------------===//

#include "graph/ErrorKind.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/ObjectCall.h"
#include "tile/ir/Levels.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILELOWERINTRINSICS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
struct LowerIntrinsics : perpend::tile::impl::TileLowerIntrinsicsBase<LowerIntrinsics> {
  using TileLowerIntrinsicsBase::TileLowerIntrinsicsBase;

  void runOnOperation() override {
    functions.clear(); // they belong to another module
    WalkResult result = getOperation().walk([&](CallIntrinsicOp op) { return WalkResult(lower(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult lower(CallIntrinsicOp op);
  func::FuncOp functionOf(const Intrinsic &intrinsic);
  Value partOf(OpBuilder &builder, CallIntrinsicOp op, const Intrinsic &intrinsic, unsigned buffer);

  llvm::DenseMap<const Intrinsic *, func::FuncOp> functions;
};
} // namespace

func::FuncOp LowerIntrinsics::functionOf(const Intrinsic &intrinsic) {
  func::FuncOp &function = functions[&intrinsic];
  if (function)
    return function;
  function = intrinsic.objects.empty() ? intrinsic.implementation.clone() : callOfObject(getOperation(), intrinsic);
  Builder builder(&getContext());
  function->setDiscardableAttrs(builder.getDictionaryAttr({
      builder.getNamedAttr("passthrough", builder.getStrArrayAttr({"alwaysinline"})),
      builder.getNamedAttr("llvm.linkage", LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal)),
  }));
  function.setPrivate();
  function.setSymName("intrinsic_" + intrinsic.name);
  SymbolTable(getOperation()).insert(function); // renames it if the name is taken
  return function;
}

/// Checks the numbers of operands and the types of buffers against the description.
static bool fits(CallIntrinsicOp op, const Intrinsic &intrinsic) {
  size_t buffers = intrinsic.strides.size(), ranks = 0;
  if (op.getBuffers().size() != buffers || op.getExtents().size() != intrinsic.parameters.size())
    return false;
  for (unsigned i = 0; i < buffers; ++i) {
    ranks += intrinsic.rank(i);
    auto given = dyn_cast<MemRefType>(op.getBuffers()[i].getType());
    if (!given || given.getElementType() != intrinsic.memoryType(i).getElementType())
      return false;
  }
  return op.getStrides().size() == ranks;
}

Value LowerIntrinsics::partOf(OpBuilder &builder, CallIntrinsicOp op, const Intrinsic &intrinsic, unsigned buffer) {
  MemRefType type = intrinsic.memoryType(buffer);
  size_t first = 0;
  for (unsigned i = 0; i < buffer; ++i)
    first += intrinsic.rank(i);
  SmallVector<int64_t> steps;
  int64_t offset;
  (void)getStridesAndOffset(type, steps, offset);
  SmallVector<OpFoldResult> extents, strides;
  for (auto [dim, extent] : llvm::enumerate(intrinsic.bufferType(buffer).extents())) {
    if (extent.isConstant()) {
      extents.push_back(builder.getIndexAttr(*extent.constant()));
    } else {
      size_t number = llvm::find(intrinsic.parameters, extent.str()) - intrinsic.parameters.begin();
      extents.push_back(op.getExtents()[number]);
    }
    bool isFree = ShapedType::isDynamic(steps[dim]);
    strides.push_back(isFree ? OpFoldResult(op.getStrides()[first + dim]) : builder.getIndexAttr(steps[dim]));
  }
  return builder.create<memref::ReinterpretCastOp>(op.getLoc(), type, op.getBuffers()[buffer],
                                                   OpFoldResult(op.getBases()[buffer]), extents, strides);
}

LogicalResult LowerIntrinsics::lower(CallIntrinsicOp op) {
  const Intrinsic *intrinsic = IntrinsicLibrary::of(&getContext()).find(op.getName());
  auto kernel = op->getParentOfType<func::FuncOp>();
  const target::Machine *machine = machineOf(kernel, target);
  if (!machine)
    return reportDevice(kernel, target);
  if (std::string lacks = intrinsic ? intrinsic->missingOn(*machine) : ""; !lacks.empty())
    return op.emitError("'") << op.getName() << "' is for another machine: the target has no " << lacks
                             << graph::Hint("pack the operands for this target (--start-from pack), or compile for the "
                                            "one that they were packed for");
  const Emitter *emitter = intrinsic ? findEmitter(intrinsic->emitter) : nullptr;
  if (emitter && fits(op, *intrinsic))
    return emitter->lower(op, *intrinsic, *machine);
  StringRef problem;
  if (!intrinsic)
    problem = "is no known intrinsic";
  else if (!fits(op, *intrinsic))
    problem = "takes operands of other numbers or types than this call has";
  else if (!intrinsic->implementation)
    problem = "has no implementation";
  if (!problem.empty())
    return op.emitError("'") << op.getName() << "' " << problem
                             << graph::Hint("--intrinsics FILE, where FILE describes it as when the module was made");
  OpBuilder builder(op);
  SmallVector<Value> parts;
  for (unsigned i = 0; i < op.getBuffers().size(); ++i)
    parts.push_back(partOf(builder, op, *intrinsic, i));
  builder.create<func::CallOp>(op.getLoc(), functionOf(*intrinsic), parts);
  op.erase();
  return success();
}
