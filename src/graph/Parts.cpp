//===- Parts.cpp - kernels on parts of a leading dimension ----------------===//

#include "graph/Parts.h"

#include "graph/Attributes.h"
#include "graph/KernelIdentity.h"
#include "graph/Shapes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace perpend::graph {

RankedTensorType withRows(RankedTensorType type, int64_t rows) {
  Shape shape = shapeOf(type);
  shape.front() = SymbolicInt(rows);
  return tensorType(shape, type.getElementType());
}

Value partOf(OpBuilder &builder, Value value, int64_t start, int64_t size) {
  RankedTensorType type = tensorTypeOf(value);
  Shape starts(type.getRank(), SymbolicInt(0));
  starts.front() = SymbolicInt(start);
  const SmallVector<int64_t> steps(type.getRank(), 1);
  auto part = builder.create<SliceOp>(value.getLoc(), withRows(type, size), value,
                                      ShapeAttr::get(builder.getContext(), starts), steps);
  part->setAttr(inPlaceAttribute, builder.getUnitAttr());
  return part;
}

Value assembled(OpBuilder &builder, RankedTensorType type, ValueRange parts) {
  auto whole = builder.create<ConcatOp>(parts.front().getLoc(), type, parts, uint64_t{0});
  whole->setAttr(assembledAttribute, builder.getUnitAttr());
  return whole;
}

static bool hasRows(Value value, int64_t rows) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 && type.getDimSize(0) == rows;
}

/// Whether an index of the result's first dimension needs nothing of the operand but the same index, or all indices
/// need the same of it; `isDivided` says which.
static bool isIndependent(DimensionFlowInterface flow, OpOperand &operand, int64_t rows, bool &isDivided) {
  isDivided = false;
  Shape shape = shapeOf(operand.get());
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (flow.followingDim(operand, dim) != 0u)
      continue;
    if (dim == 0 && hasRows(operand.get(), rows))
      isDivided = true;
    else if (!flow.repeatsOperands() || shape[dim] != SymbolicInt(1))
      return false;
  }
  return true;
}

namespace {
/// From the results to the arguments.
class PartFinder {
public:
  explicit PartFinder(int64_t extent) { parts.extent = extent; }

  bool divide(Value value) {
    if (!hasRows(value, parts.extent) || whole.contains(value))
      return false;
    if (!parts.values.insert(value) || isa<BlockArgument>(value))
      return true;
    auto flow = dyn_cast<DimensionFlowInterface>(value.getDefiningOp());
    if (!flow)
      return false;
    bool followsOne = flow.repeatsOperands();
    for (OpOperand &operand : flow->getOpOperands()) {
      bool isDivided;
      if (!isIndependent(flow, operand, parts.extent, isDivided) ||
          !(isDivided ? divide(operand.get()) : keep(operand.get())))
        return false;
      followsOne |= isDivided;
    }
    return followsOne;
  }

  Parts parts;

private:
  /// All of a value is needed.
  bool keep(Value value) {
    if (parts.values.contains(value))
      return false;
    if (!whole.insert(value) || isa<BlockArgument>(value))
      return true;
    return llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value operand) { return keep(operand); });
  }

  llvm::SetVector<Value> whole;
};
} // namespace

std::optional<Parts> Parts::of(func::FuncOp kernel) {
  if (kernel->hasAttr(symbolsAttribute) || kernel.getNumResults() == 0)
    return std::nullopt;
  auto first = cast<RankedTensorType>(kernel.getResultTypes().front());
  if (first.getRank() == 0 || first.isDynamicDim(0))
    return std::nullopt;
  PartFinder finder(first.getDimSize(0));
  for (Value result : kernel.getBody().front().getTerminator()->getOperands())
    if (!finder.divide(result))
      return std::nullopt;
  if (llvm::none_of(finder.parts.values, llvm::IsaPred<BlockArgument>))
    return std::nullopt;
  return std::move(finder.parts);
}

func::FuncOp Parts::copyOf(func::FuncOp kernel, int64_t rows) const {
  OpBuilder builder(kernel);
  IRMapping mapping;
  auto part = cast<func::FuncOp>(builder.clone(*kernel, mapping));
  for (Value value : values)
    mapping.lookup(value).setType(withRows(tensorTypeOf(value), rows));
  return part;
}

func::FuncOp DividedKernels::kernelOf(Operation *op) {
  auto call = dyn_cast<CallKernelOp>(op);
  return call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr()) : func::FuncOp();
}

bool DividedKernels::isCall(Operation *op) { return isa<CallKernelOp>(op); }

const Parts *DividedKernels::partsOf(Operation *op) {
  func::FuncOp kernel = kernelOf(op);
  if (!kernel)
    return nullptr;
  auto [known, isNew] = parts.try_emplace(kernel);
  if (isNew)
    known->second = Parts::of(kernel);
  return known->second ? &*known->second : nullptr;
}

bool DividedKernels::isDivided(OpOperand &operand) {
  Operation *call = operand.getOwner();
  return partsOf(call)->isDivided(kernelOf(call).getArgument(operand.getOperandNumber()));
}

bool DividedKernels::readsSome(OpOperand &operand) {
  Value argument = kernelOf(operand.getOwner()).getArgument(operand.getOperandNumber());
  int64_t most = 0; // views read an element for each of their own
  for (Operation *user : argument.getUsers()) {
    auto view = dyn_cast<ElementInterface>(user);
    if (!view || view.elementKind() != ElementKind::View || !tensorTypeOf(user->getResult(0)).hasStaticShape())
      return false;
    most += tensorTypeOf(user->getResult(0)).getNumElements();
  }
  return most < tensorTypeOf(argument).getNumElements();
}

/// Whether each element of an operator's result needs of this operand the element with the same indices, or of the last
/// dimension any.
static bool keepsRows(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto flow = dyn_cast<DimensionFlowInterface>(op);
  auto element = dyn_cast<ElementInterface>(op);
  if (!flow || !element || element.needsStoredOperands() || element.looksForElements())
    return false;
  const auto rank = static_cast<unsigned>(shapeOf(operand.get()).size());
  for (unsigned dim = 0; dim < rank; ++dim)
    if (std::optional<unsigned> next = flow.followingDim(operand, dim);
        next != dim && (next || dim + 1 != rank || !isa<ReductionInterface>(op)))
      return false;
  return true;
}

bool DividedKernels::mayOverwrite(OpOperand &operand) {
  func::FuncOp kernel = kernelOf(operand.getOwner());
  if (!kernel || kernel.getNumResults() != 1)
    return false;
  Value argument = kernel.getArgument(operand.getOperandNumber());
  if (argument.getType() != kernel.getResultTypes().front())
    return false;
  llvm::SetVector<Value> values; // that depend on it
  values.insert(argument);
  for (size_t next = 0; next < values.size(); ++next)
    for (OpOperand &use : values[next].getUses()) {
      if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        continue;
      if (!keepsRows(use))
        return false;
      values.insert(use.getOwner()->result_begin(), use.getOwner()->result_end());
    }
  return true;
}

void DividedKernels::runPart(Operation *copy, Operation *call, int64_t rows) {
  func::FuncOp kernel = kernelOf(call), &part = made[{kernel, rows}];
  if (!part)
    part = shared(partsOf(call)->copyOf(kernel, rows));
  cast<CallKernelOp>(copy).setKernel(part.getSymName());
  copy->removeAttr(resultAttribute);
}

func::FuncOp DividedKernels::shared(func::FuncOp copy) {
  mlir::Builder builder(copy.getContext());
  Block &body = copy.getBody().front();
  copy.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  std::string hash = structuralHash(copy);
  auto [known, isNew] = copies.try_emplace(hash, copy);
  if (!isNew) {
    copy.erase();
    return known->second;
  }
  copy->setAttr(structureAttribute, builder.getStringAttr(hash));
  copy.setSymName("");
  copy.setSymName(kernelName(copy, hash));
  return copy;
}
} // namespace perpend::graph
