//===- VerifyAccesses.cpp - checks accesses at run time -------------------===//
//
// Implements --checked. Every load and store of a kernel, and of the functions that it calls, is executed only if it
// is within its memory; otherwise a load yields 0, a store is omitted, and the kernel's record notes the memory and
// the position (CheckedAccesses.h). The pass does not rely on how accesses were generated, so it runs as late as
// accesses are still operations on memrefs: after micro-kernels have become functions, before vectors and memrefs are
// lowered. An operation that accesses memory in an unknown way is refused, so that none goes unchecked. Exception: the
// code of object files cannot be checked, only that the parts of buffers passed to it lie within their memory.
//
//   %v = memref.load %x[%i] : memref<?xf32>
// becomes
//   %v = scf.if %isInside -> f32 { load, yield } else { call @note_outside(%record, %one, %i); yield 0.0 }
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "tile/kernel/CheckedAccesses.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEVERIFYACCESSES
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend::tile;

namespace {

/// An access: from `index`, `shape` elements along the last dimensions (empty: one element).
struct Access {
  Value memory;
  SmallVector<Value> index;
  SmallVector<int64_t> shape;
};

std::optional<Access> accessOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Access>>(op)
      .Case<memref::LoadOp, memref::StoreOp>(
          [](auto access) { return Access{access.getMemRef(), llvm::to_vector(access.getIndices()), {}}; })
      .Case<vector::LoadOp, vector::StoreOp>([](auto access) {
        return Access{access.getBase(), llvm::to_vector(access.getIndices()),
                      llvm::to_vector(access.getVectorType().getShape())};
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool touchesMemory(Operation *op) {
  if (isa<func::CallOp, memref::PrefetchOp>(op) ||
      llvm::none_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType, LLVM::LLVMPointerType>))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || effects.hasEffect<MemoryEffects::Read>() || effects.hasEffect<MemoryEffects::Write>();
}

/// Whether the cast claims more about extents than its source guarantees; nothing checks such a claim.
bool addsExtents(memref::CastOp cast) {
  auto source = dyn_cast<MemRefType>(cast.getSource().getType()), result = dyn_cast<MemRefType>(cast.getType());
  return !source || !result || llvm::any_of(llvm::zip(source.getShape(), result.getShape()), [](auto extents) {
    auto [known, said] = extents;
    return ShapedType::isDynamic(known) && !ShapedType::isDynamic(said);
  });
}

/// The argument or allocation behind `memory`, seen through views; null if unknown.
Value rootOf(Value memory, bool &isView) {
  while (Operation *op = memory.getDefiningOp()) {
    if (isa<memref::AllocaOp, memref::AllocOp>(op))
      return memory;
    auto view = dyn_cast<ViewLikeOpInterface>(op);
    if (!view)
      return {};
    auto cast = dyn_cast<memref::CastOp>(op);
    isView |= !cast || addsExtents(cast);
    memory = view.getViewSource();
  }
  return isa<func::FuncOp>(memory.getParentBlock()->getParentOp()) ? memory : Value();
}

/// Avoids memref.dim, which allocates on the stack at each use if arithmetic is lowered before memrefs.
SmallVector<Value> extentsOf(ImplicitLocOpBuilder &b, Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  if (!type.hasStaticShape())
    return b.create<memref::ExtractStridedMetadataOp>(memory).getSizes();
  return llvm::map_to_vector(type.getShape(),
                             [&](int64_t extent) -> Value { return b.create<arith::ConstantIndexOp>(extent); });
}

/// A call into an object file (intrinsics/ObjectCall.h): only the parts passed to it can be checked.
bool isCallOfObject(func::FuncOp function) { return !function.getOps<LLVM::CallOp>().empty(); }

bool hasMemory(TypeRange types) { return llvm::any_of(types, llvm::IsaPred<BaseMemRefType>); }

/// Adds checks to one function.
class CheckedFunction {
public:
  CheckedFunction(func::FuncOp function, func::FuncOp note) : function(function), note(note) {}

  LogicalResult run();

private:
  void addArguments();
  Value numberOf(Value root) { return isa<BlockArgument>(root) ? numbers.lookup(root) : own; }
  Value isInside(ImplicitLocOpBuilder &b, Value position, Value extent, int64_t count);
  Value positionInRoot(ImplicitLocOpBuilder &b, const Access &access, ArrayRef<Value> extents, bool isView);
  Value countOf(ImplicitLocOpBuilder &b, Value memory);
  LogicalResult guard(Operation *op, const Access &access);
  LogicalResult passOn(func::CallOp call);
  Value sinceStart(ImplicitLocOpBuilder &b, Value position, Value root);
  void guardPart(func::CallOp call, Value part, Value root);

  func::FuncOp function, note;
  Value record, own;
  llvm::DenseMap<Value, Value> numbers; // numbers of the arguments' memories
};

/// Functions called by kernels get the numbers of their memories as arguments.
void CheckedFunction::addArguments() {
  ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
  auto add = [&](Type type) {
    (void)function.insertArgument(function.getNumArguments(), type, {}, function.getLoc());
    return function.getArguments().back();
  };
  SmallVector<Value> memories;
  llvm::copy_if(function.getArguments(), std::back_inserter(memories),
                [](Value argument) { return hasMemory(argument.getType()); });
  bool isKernel = function->hasAttr(perpend::graph::kernelAttribute);
  record = add(note.getArgumentTypes()[0]);
  b.setInsertionPointToStart(&function.getBody().front());
  own = b.create<arith::ConstantIndexOp>(0);
  for (auto [position, memory] : llvm::enumerate(memories))
    numbers[memory] = isKernel ? b.create<arith::ConstantIndexOp>(position + 1).getResult() : add(b.getIndexType());
  if (isKernel)
    function->setAttr(checkedAttribute, b.getUnitAttr());
}

/// 0 <= position and position + count <= extent, without overflow.
Value CheckedFunction::isInside(ImplicitLocOpBuilder &b, Value position, Value extent, int64_t count) {
  if (count == 1)
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, position, extent);
  Value last = b.create<arith::SubIOp>(extent, b.create<arith::ConstantIndexOp>(count));
  Value isAfterStart = b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, position, own);
  Value isBeforeEnd = b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, position, last);
  return b.create<arith::AndIOp>(isAfterStart, isBeforeEnd);
}

Value CheckedFunction::positionInRoot(ImplicitLocOpBuilder &b, const Access &access, ArrayRef<Value> extents,
                                      bool isView) {
  Value position = own;
  if (isView) {
    auto metadata = b.create<memref::ExtractStridedMetadataOp>(access.memory);
    position = metadata.getOffset();
    for (auto [index, stride] : llvm::zip(access.index, metadata.getStrides()))
      position = b.create<arith::AddIOp>(position, b.create<arith::MulIOp>(index, stride));
    return position;
  }
  for (auto [index, extent] : llvm::zip(access.index, extents))
    position = b.create<arith::AddIOp>(b.create<arith::MulIOp>(position, extent), index);
  return position;
}

/// The number of elements from the first to the last; a strided part skips some of them.
Value CheckedFunction::countOf(ImplicitLocOpBuilder &b, Value memory) {
  Value one = b.create<arith::ConstantIndexOp>(1), count = one;
  if (cast<MemRefType>(memory.getType()).getLayout().isIdentity()) {
    for (Value extent : extentsOf(b, memory))
      count = b.create<arith::MulIOp>(count, extent);
    return count;
  }
  auto metadata = b.create<memref::ExtractStridedMetadataOp>(memory);
  for (auto [extent, stride] : llvm::zip(metadata.getSizes(), metadata.getStrides())) {
    Value steps = b.create<arith::SubIOp>(extent, one);
    count = b.create<arith::AddIOp>(count, b.create<arith::MulIOp>(steps, stride));
  }
  return count;
}

/// A callee stays within the part that it gets; here the part is checked to be within the memory.
void CheckedFunction::guardPart(func::CallOp call, Value part, Value root) {
  ImplicitLocOpBuilder b(call.getLoc(), call);
  auto metadata = b.create<memref::ExtractStridedMetadataOp>(part);
  Value first = metadata.getOffset(), isEmpty = b.create<arith::ConstantIntOp>(0, 1);
  for (Value extent : metadata.getSizes())
    isEmpty = b.create<arith::OrIOp>(isEmpty, b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, extent, own));
  Value end = b.create<arith::AddIOp>(first, countOf(b, part)), count = countOf(b, root);
  Value isAfterStart = b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, first, own);
  Value isBeforeEnd = b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, end, count);
  Value isInside = b.create<arith::AndIOp>(isAfterStart, isBeforeEnd);
  auto choice = b.create<scf::IfOp>(b.create<arith::OrIOp>(isEmpty, isInside), /*withElseRegion=*/true);
  call->moveBefore(choice.thenBlock()->getTerminator());
  b.setInsertionPointToStart(choice.elseBlock());
  Value last = b.create<arith::SubIOp>(end, b.create<arith::ConstantIndexOp>(1));
  Value shown = b.create<arith::SelectOp>(isAfterStart, last, first);
  b.create<func::CallOp>(note, ValueRange{record, numberOf(root), shown});
}

/// Translates a position in `root` to the memory of which `root` is a part.
Value CheckedFunction::sinceStart(ImplicitLocOpBuilder &b, Value position, Value root) {
  if (cast<MemRefType>(root.getType()).getLayout().isIdentity())
    return position;
  return b.create<arith::SubIOp>(position, b.create<memref::ExtractStridedMetadataOp>(root).getOffset());
}

LogicalResult CheckedFunction::guard(Operation *op, const Access &access) {
  bool isView = false;
  Value root = rootOf(access.memory, isView);
  if (!root)
    return perpend::graph::emitInternalError(op->getLoc()) << "cannot tell whose memory this access is in";
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value condition = b.create<arith::ConstantIntOp>(1, 1);
  auto require = [&](Value isRight) { condition = b.create<arith::AndIOp>(condition, isRight); };
  size_t single = access.index.size() - access.shape.size(); // number of dimensions before the vector's
  SmallVector<Value> extents = extentsOf(b, access.memory);
  for (auto [dim, index, extent] : llvm::enumerate(access.index, extents))
    require(isInside(b, index, extent, dim < single ? 1 : access.shape[dim - single]));
  Value position = positionInRoot(b, access, extents, isView);
  int64_t run = access.shape.empty() ? 1 : access.shape.back(); // contiguous elements
  if (isView)
    require(isInside(b, sinceStart(b, position, root), countOf(b, root), run));
  auto choice = b.create<scf::IfOp>(op->getResultTypes(), condition, /*addThenBlock=*/true, /*addElseBlock=*/true);
  op->replaceAllUsesWith(choice);
  op->moveBefore(choice.thenBlock(), choice.thenBlock()->end());
  b.setInsertionPointToEnd(choice.thenBlock());
  b.create<scf::YieldOp>(op->getResults());
  b.setInsertionPointToStart(choice.elseBlock());
  // Report the end of a vector that is out of bounds, unless its start is.
  Value isBefore = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, position, own);
  Value last = b.create<arith::AddIOp>(position, b.create<arith::ConstantIndexOp>(run - 1));
  Value shown = b.create<arith::SelectOp>(isBefore, position, last);
  b.create<func::CallOp>(note, ValueRange{record, numberOf(root), shown});
  SmallVector<Value> zeros;
  for (Type type : op->getResultTypes())
    zeros.push_back(b.create<arith::ConstantOp>(b.getZeroAttr(type)));
  b.create<scf::YieldOp>(zeros);
  return success();
}

LogicalResult CheckedFunction::passOn(func::CallOp call) {
  if (!hasMemory(call.getOperandTypes()))
    return success();
  SmallVector<Value> added{record};
  for (Value operand : call.getOperands()) {
    if (!hasMemory(operand.getType()))
      continue;
    bool isView = false;
    Value root = rootOf(operand, isView);
    if (!root)
      return perpend::graph::emitInternalError(call.getLoc()) << "cannot tell whose memory this call gets";
    added.push_back(numberOf(root));
    if (isView && call.getNumResults() == 0)
      guardPart(call, operand, root);
  }
  call->insertOperands(call->getNumOperands(), added);
  return success();
}

/// Replaces a gather, of which all lanes are loaded, by loads that can be checked one by one.
static void separateLanes(vector::GatherOp gather) {
  ImplicitLocOpBuilder b(gather.getLoc(), gather);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < gather.getVectorType().getNumElements(); ++lane) {
    Value behind = b.create<vector::ExtractOp>(gather.getIndexVec(), lane);
    Value index = b.create<arith::AddIOp>(gather.getIndices().back(), behind);
    lanes.push_back(b.create<memref::LoadOp>(gather.getBase(), index));
  }
  gather.replaceAllUsesWith(b.create<vector::FromElementsOp>(gather.getVectorType(), lanes).getResult());
  gather.erase();
}

LogicalResult CheckedFunction::run() {
  addArguments();
  if (isCallOfObject(function))
    return success();
  function.walk([](vector::GatherOp gather) { separateLanes(gather); });
  SmallVector<Operation *> operations;
  function.walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations) {
    std::optional<Access> access = accessOf(op);
    if (access ? failed(guard(op, *access)) : isa<func::CallOp>(op) && failed(passOn(cast<func::CallOp>(op))))
      return failure();
    if (!access && touchesMemory(op))
      return perpend::graph::emitInternalError(op->getLoc())
             << "checked code cannot have '" << op->getName() << "', whose accesses to memory are not known";
  }
  return success();
}

struct VerifyAccesses : perpend::tile::impl::TileVerifyAccessesBase<VerifyAccesses> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (hasMemory(function.getArgumentTypes()))
        functions.push_back(function);
    if (functions.empty())
      return;
    func::FuncOp note = createNote();
    for (func::FuncOp function : functions) {
      if (function.isExternal()) {
        perpend::graph::emitInternalError(function.getLoc())
            << "accesses of a function without a body cannot be checked";
        return signalPassFailure();
      }
      if (failed(CheckedFunction(function, note).run()))
        return signalPassFailure();
    }
  }

  /// Threads may race to note an access; any of them may win.
  func::FuncOp createNote() {
    ModuleOp module = getOperation();
    ImplicitLocOpBuilder b(module.getLoc(), module.getBodyRegion());
    Type index = b.getIndexType(), record = MemRefType::get({ShapedType::kDynamic}, b.getI64Type());
    auto note = b.create<func::FuncOp>("note_outside", b.getFunctionType({record, index, index}, {}));
    note.setPrivate();
    note->setAttr("passthrough", b.getStrArrayAttr({"noinline", "cold"}));
    note->setAttr("llvm.linkage", LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
    b.setInsertionPointToStart(note.addEntryBlock());
    auto store = [&](Value word, int64_t offset) {
      Value first = b.create<arith::MulIOp>(note.getArgument(1), b.create<arith::ConstantIndexOp>(recordWords));
      Value at = b.create<arith::AddIOp>(first, b.create<arith::ConstantIndexOp>(offset));
      b.create<memref::AtomicRMWOp>(b.getI64Type(), arith::AtomicRMWKind::assign, word, note.getArgument(0), at);
    };
    store(b.create<arith::IndexCastOp>(b.getI64Type(), note.getArgument(2)), 1);
    store(b.create<arith::ConstantIntOp>(1, 64), 0);
    b.create<func::ReturnOp>();
    return note;
  }
};
} // namespace
