//===- VerifyKernel.cpp - checks kernels ----------------------------------===//
//
// Fusion creates kernels that pass these checks, but kernels in a text file may
// come from anybody. Lowering asserts what is checked here.
//
//===----------------------------------------------------------------------===//

#include "tile/ir/VerifyKernel.h"

#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/SubstituteSymbols.h"
#include "tile/Attributes.h"
#include "tile/ir/Tile.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/KernelEmitter.h"
#include "tile/kernel/Partition.h"
#include "tile/kernel/Scratch.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace perpend::tile {

static LogicalResult fail(func::FuncOp kernel, Operation *op, const Twine &message, StringRef hint) {
  return op->emitError("kernel '") << kernel.getSymName() << "': " << message.str() << graph::Hint(hint);
}

//===----------------------------------------------------------------------===//
// Kernels on tensors
//===----------------------------------------------------------------------===//

static LogicalResult verifyOperator(func::FuncOp kernel, Operation *op, ValueRange roots,
                                    const std::optional<graph::RowChain> &chain) {
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return constant.isOneNumber()
               ? success()
               : fail(kernel, op, "a constant of different elements has no memory here",
                      "make it an input of the kernel; only a constant of equal elements stays inside");
  if (isa<graph::SequenceInterface>(op) && !llvm::is_contained(roots, op->getResult(0)))
    return fail(kernel, op, "'" + op->getName().getStringRef() + "' must be what the kernel returns",
                "its elements are computed together, in memory; give it a kernel of its own");
  if (!isa<graph::ElementInterface, graph::SequenceInterface>(op))
    return fail(kernel, op, "'" + op->getName().getStringRef() + "' is no operator of a kernel",
                "a kernel holds operators whose elements are computed from an index, or together");
  auto element = dyn_cast<graph::ElementInterface>(op);
  auto isInput = [&](Value operand) {
    bool isRows = chain && operand == op->getOperand(0) && (op == chain->root || chain->members.contains(op));
    Operation *view = operand.getDefiningOp();
    bool isInputsRows = !graph::orderOfRows(view).empty() && isa<BlockArgument>(view->getOperand(0));
    return isa<BlockArgument>(operand) || isInputsRows || isRows;
  };
  if (element && element.needsStoredOperands() && !llvm::all_of(op->getOperands(), isInput))
    return fail(kernel, op, "the operands of '" + op->getName().getStringRef() + "' must lie in memory",
                "make them inputs of the kernel");
  return success();
}

static LogicalResult verifyOnTensors(func::FuncOp kernel) {
  auto isTensor = llvm::IsaPred<RankedTensorType>;
  Operation *end = kernel.getBody().front().getTerminator();
  if (kernel.getNumResults() == 0 || !llvm::all_of(kernel.getResultTypes(), isTensor) ||
      !llvm::all_of(kernel.getArgumentTypes(), isTensor) || !isa<func::ReturnOp>(end))
    return fail(kernel, kernel,
                "expected inputs and results that are tensors, got type " +
                    llvm::formatv("{0}", kernel.getFunctionType()).str(),
                "a kernel that works on tensors returns some of them");
  std::optional<graph::RowChain> chain = rowChainOf(kernel);
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (failed(verifyOperator(kernel, &op, end->getOperands(), chain)))
      return failure();
  return verifyResults(kernel);
}

//===----------------------------------------------------------------------===//
// Kernels of blocks
//===----------------------------------------------------------------------===//

bool isOnBlocks(func::FuncOp kernel) { return llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<BufferType>); }

/// Whether the body stores; a store in the init alone does not count.
static bool storesSomething(BlockOp block) {
  return block
      .walk([&](Operation *op) { return isa<InitOp>(op) ? WalkResult::skip() : WalkResult(failure(isa<StoreOp>(op))); })
      .wasInterrupted();
}

/// A kernel of blocks takes the caller's buffers and consists of loops around blocks on them.
static LogicalResult verifyOnBlocks(func::FuncOp kernel) {
  auto isCallers = [](Type type) {
    auto buffer = dyn_cast<BufferType>(type);
    return buffer && buffer.isGlobal();
  };
  if (kernel.getNumResults() != 0 || !llvm::all_of(kernel.getArgumentTypes(), isCallers))
    return fail(kernel, kernel,
                "expected buffers only, got type " + llvm::formatv("{0}", kernel.getFunctionType()).str(),
                "(!tile.buffer<[n] x f32>, ...) -> ()");
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    if (auto block = dyn_cast<BlockOp>(op); block && !storesSomething(block)) {
      (void)fail(kernel, op, "the block '" + block.getName() + "' stores nothing",
                 "a block is what computes an element, and stores it in a buffer");
      return WalkResult::interrupt();
    }
    if (isa<func::ReturnOp, ForOp, BlockOp, InitOp, LoadOp, StoreOp, IndexOp, AllocOp>(op) ||
        isa_and_nonnull<arith::ArithDialect, math::MathDialect, scf::SCFDialect>(op->getDialect()))
      return WalkResult::advance();
    (void)fail(kernel, op, "'" + op->getName().getStringRef() + "' is no operation of a kernel of blocks",
               "a kernel of blocks holds tile.for, tile.block, buffers, and arithmetic in the blocks");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Whether the buffers have the types and shapes of the call's values, given the values of the kernel's symbols there.
static bool areBuffersOf(Operation *call, func::FuncOp kernel) {
  SmallVector<Type> values(call->getOperandTypes());
  llvm::append_range(values, call->getResultTypes());
  llvm::StringMap<graph::SymbolicInt> symbols = graph::symbolsAt(call, kernel);
  return values.size() == kernel.getNumArguments() &&
         llvm::all_of(llvm::zip(values, kernel.getArgumentTypes()), [&](auto pair) {
           auto tensor = cast<RankedTensorType>(std::get<0>(pair));
           auto buffer = cast<BufferType>(std::get<1>(pair));
           graph::Shape shape;
           for (const graph::SymbolicInt &extent : buffer.extents())
             shape.push_back(extent.substitute(symbols));
           return buffer.getElementType() == tensor.getElementType() && shape == graph::shapeOf(tensor);
         });
}

//===----------------------------------------------------------------------===//
// Kernels on memory
//===----------------------------------------------------------------------===//

bool isOnBuffers(func::FuncOp kernel) {
  return llvm::none_of(kernel.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
         llvm::none_of(kernel.getArgumentTypes(), llvm::IsaPred<RankedTensorType>);
}

/// The buffers of inputs and outputs; symbols, scratch memory and the range of units follow them.
static ArrayRef<Type> outerBuffers(func::FuncOp kernel) {
  unsigned others = KernelAbi(0, 0, KernelAbi::scratchCountOf(kernel), KernelAbi::unitCountOf(kernel)).argumentCount();
  return kernel.getArgumentTypes().drop_back(std::min<size_t>(others, kernel.getNumArguments()));
}

/// The scratch attribute, if present, gives the size of each scratch buffer.
static LogicalResult verifyScratch(func::FuncOp kernel) {
  Attribute given = kernel->getAttr(scratchAttribute);
  auto elements = dyn_cast_or_null<graph::ShapeAttr>(given);
  if (!given || (elements && !elements.getDims().empty() && !Scratch::of(kernel).partBytes.isPoison()))
    return success();
  return fail(kernel, kernel, "expected tile.scratch, the number of elements of each scratch buffer",
              "tile.scratch = #graph.shape<[\"n\"]> for one of n elements, whose argument stands behind the symbols");
}

static bool fitsOnStack(MemRefType type) {
  auto vector = dyn_cast<VectorType>(type.getElementType());
  Type element = vector ? vector.getElementType() : type.getElementType();
  if (!type.hasStaticShape() || !element.isIntOrIndexOrFloat())
    return false;
  int64_t bytes = element.isIndex() ? 8 : elementBytes(element);
  return type.getNumElements() <= mostStackBytes / (bytes * (vector ? vector.getNumElements() : 1));
}

/// Buffers, symbols, scratch memory and the range of units; the number of units is an expression.
static LogicalResult verifyOnBuffers(func::FuncOp kernel) {
  ArrayRef<Type> types = kernel.getArgumentTypes(), outer = outerBuffers(kernel);
  auto isBuffer = [](Type type) {
    auto buffer = dyn_cast<MemRefType>(type);
    return buffer && buffer.getElementType().isIntOrFloat() && buffer == bufferType(buffer.getElementType());
  };
  unsigned scratchCount = KernelAbi::scratchCountOf(kernel);
  auto scratch = types.drop_front(std::min(types.size(), outer.size() + 1)).take_front(scratchCount);
  bool fits =
      !outer.empty() && kernel.getNumResults() == 0 && llvm::all_of(outer, isBuffer) &&
      llvm::all_of(scratch, isBuffer) &&
      kernel.getFunctionType() == KernelAbi::type(kernel.getContext(), outer, scratch, KernelAbi::unitCountOf(kernel));
  if (!fits)
    return fail(kernel, kernel,
                std::string("expected buffers, the symbols") +
                    (scratchCount ? ", the scratch memory of tile.scratch" : "") +
                    " and the range of units, got type " + llvm::formatv("{0}", kernel.getFunctionType()).str(),
                "(memref<?xf32>, ..., memref<?xi64>, index, index) -> ()");
  auto extent = kernel->getAttrOfType<graph::ShapeAttr>(extentAttribute);
  unsigned extents = kernel->hasAttr(gridAttribute) ? KernelAbi::unitCountOf(kernel) : 1;
  if (!extent || extent.getDims().size() != extents ||
      llvm::any_of(extent.values(), [](const graph::SymbolicInt &value) { return value.isPoison(); }))
    return fail(kernel, kernel, "expected tile.extent, the number of its units", "tile.extent = #graph.shape<[1]>");
  if (failed(verifyScratch(kernel)))
    return failure();
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    Dialect *dialect = op->getDialect();
    bool isMemory = isa<memref::LoadOp, memref::StoreOp, memref::CastOp, memref::PrefetchOp>(op);
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      isMemory = fitsOnStack(alloca.getType());
    if (isMemory || isa<func::ReturnOp, CallIntrinsicOp>(op) ||
        isa_and_nonnull<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>(dialect))
      return WalkResult::advance();
    (void)fail(kernel, op, "'" + op->getName().getStringRef() + "' is no operation of a kernel",
               "a kernel holds loops, arithmetic, loads and stores of its buffers, and a little memory of its own");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult verifyBuffers(Operation *call, func::FuncOp kernel) {
  SmallVector<Type> expected;
  for (TypeRange types : {TypeRange(call->getOperandTypes()), TypeRange(call->getResultTypes())})
    for (Type type : types)
      expected.push_back(bufferType(cast<RankedTensorType>(type).getElementType()));
  if (isOnBlocks(kernel) ? areBuffersOf(call, kernel) : llvm::equal(expected, outerBuffers(kernel)))
    return success();
  return call->emitError("the call of kernel '")
         << kernel.getSymName() << "', whose type is " << kernel.getFunctionType() << ", has other operands and results"
         << graph::Hint("one buffer for each of them, in this order");
}

/// A kernel may use its own symbols only.
static LogicalResult verifySymbols(func::FuncOp kernel) {
  SmallVector<StringRef> own = graph::symbolsOfKernel(kernel);
  std::set<std::string> used;
  graph::collectSymbols(kernel, used);
  for (StringRef name : used)
    if (!name.starts_with("%") && !llvm::is_contained(own, name)) // "%0" stands for an operand
      return fail(kernel, kernel,
                  "expected one of its symbols (" + llvm::join(own, ", ") + "), got '" + name.str() + "'",
                  "list it in its attribute graph.symbols, and its value in that of each call");
  return success();
}

LogicalResult verifyKernel(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return fail(kernel, kernel, "expected a body of one block", "loops of a kernel are scf.for");
  if (failed(verifySymbols(kernel)))
    return failure();
  if (isOnBlocks(kernel))
    return verifyOnBlocks(kernel);
  return isOnBuffers(kernel) ? verifyOnBuffers(kernel) : verifyOnTensors(kernel);
}
} // namespace perpend::tile
