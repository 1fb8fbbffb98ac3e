//===- Bands.cpp - kernels on a part of the rows --------------------------===//

#include "graph/Bands.h"

#include "graph/Attributes.h"
#include "graph/KernelIdentity.h"
#include "graph/Shapes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace perpend::graph {

/// The dimension of a kernel's arguments and results in which the rows are.
static constexpr unsigned rowDim = 1;

std::optional<int64_t> rowCountOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() <= rowDim || !type.hasStaticShape())
    return std::nullopt;
  return type.getDimSize(rowDim);
}

static RankedTensorType withExtent(RankedTensorType type, unsigned dim, int64_t extent) {
  Shape shape = shapeOf(type);
  shape[dim] = SymbolicInt(extent);
  return tensorType(shape, type.getElementType());
}

/// The rows of an operand that lie in the dimension that `dim` of its user's result follows.
static Value sliceOf(OpBuilder &builder, Value value, unsigned dim, int64_t start, int64_t size) {
  RankedTensorType type = tensorTypeOf(value);
  Shape starts(type.getRank(), SymbolicInt(0));
  starts[dim] = SymbolicInt(start);
  const SmallVector<int64_t> steps(type.getRank(), 1);
  return builder.create<SliceOp>(value.getLoc(), withExtent(type, dim, size), value,
                                 ShapeAttr::get(builder.getContext(), starts), steps);
}

//===----------------------------------------------------------------------===//
// Rows of a kernel's values
//===----------------------------------------------------------------------===//

/// From the result to the arguments.
class BandedKernels::Reader {
public:
  bool read(func::FuncOp kernel, const Parts &parts, const RowRange &rows) {
    Block &body = kernel.getBody().front();
    Value result = body.getTerminator()->getOperand(0);
    if (rowCountOf(result).value_or(0) < rows.end || !need(result, {rowDim, rows}))
      return false;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (!visit(op))
        return false;
    for (Value argument : body.getArguments()) {
      auto part = found.needed.find(argument);
      const bool isPart = part != found.needed.end();
      if (isPart ? part->second.dim != rowDim || !parts.isDivided(argument) : parts.isDivided(argument))
        return false;
      found.operands.push_back(isPart ? std::optional(part->second.rows) : std::nullopt);
    }
    return true;
  }

  KernelRows found;

private:
  bool need(Value value, const Needed &part) {
    if (whole.contains(value))
      return false;
    auto [known, isNew] = found.needed.try_emplace(value, part);
    known->second.rows.include(part.rows);
    return known->second.dim == part.dim;
  }

  bool needWhole(Value value) {
    whole.insert(value);
    return !found.needed.contains(value);
  }

  bool visit(Operation &op) {
    auto part = op.getNumResults() == 1 ? found.needed.find(op.getResult(0)) : found.needed.end();
    if (part == found.needed.end())
      return llvm::all_of(op.getOperands(), [&](Value operand) { return needWhole(operand); });
    const Needed result = part->second;
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    bool follows = flow && flow.repeatsOperands();
    for (OpOperand &operand : op.getOpOperands()) {
      std::optional<RowWindow> window = rowWindowOf(operand, result.dim);
      if (!window) {
        if (!needWhole(operand.get()))
          return false;
        continue;
      }
      const std::optional<int64_t> extent = shapeOf(operand.get())[window->dim].constant();
      const std::optional<RowRange> read = extent ? window->read(result.rows, *extent) : std::nullopt;
      if (!read || !need(operand.get(), {window->dim, *read}))
        return false;
      follows = true;
    }
    return follows;
  }

  llvm::SmallPtrSet<Value, 8> whole;
};

const std::optional<BandedKernels::KernelRows> &BandedKernels::rowsOf(Operation *call, const RowRange &rows) {
  func::FuncOp kernel = DividedKernels::kernelOf(call);
  auto [entry, isNew] = known.try_emplace({kernel, rows.begin, rows.end});
  if (!isNew)
    return entry->second;
  const Parts *parts = kernels.partsOf(call);
  Reader reader;
  if (parts && kernel.getNumResults() == 1 && reader.read(kernel, *parts, rows))
    entry->second = std::move(reader.found);
  return entry->second;
}

const OperandRows *BandedKernels::read(Operation *call, const RowRange &rows) {
  const std::optional<KernelRows> &found = rowsOf(call, rows);
  return found ? &found->operands : nullptr;
}

//===----------------------------------------------------------------------===//
// Copies of kernels
//===----------------------------------------------------------------------===//

func::FuncOp BandedKernels::kernelFor(func::FuncOp kernel, const Parts &parts, const KernelRows &rows) {
  OpBuilder builder(kernel);
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(builder.clone(*kernel, mapping));
  for (Value value : parts.values)
    mapping.lookup(value).setType(withRows(tensorTypeOf(value), 1));
  for (auto &[value, part] : rows.needed)
    if (Value copied = mapping.lookup(value); part.rows.size() != shapeOf(value)[part.dim].constant())
      copied.setType(withExtent(tensorTypeOf(copied), part.dim, part.rows.size()));
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto part = op.getNumResults() == 1 ? rows.needed.find(op.getResult(0)) : rows.needed.end();
    if (part == rows.needed.end())
      continue;
    Operation *copied = mapping.lookup(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      std::optional<RowWindow> window = rowWindowOf(operand, part->second.dim);
      if (!window)
        continue;
      const RowRange &given = rows.needed.at(operand.get()).rows, &computed = part->second.rows;
      const int64_t low = window->low - computed.begin * window->stride + given.begin;
      if (window->isMovable) {
        moveRowWindow(copied, part->second.dim, low);
      } else if (given != computed) {
        builder.setInsertionPoint(copied);
        Value rowsOfIt = copied->getOperand(operand.getOperandNumber());
        copied->setOperand(operand.getOperandNumber(), sliceOf(builder, rowsOfIt, window->dim, -low, computed.size()));
      }
    }
  }
  Block &body = copy.getBody().front();
  copy.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  std::string hash = structuralHash(copy);
  func::FuncOp &same = made[{kernel, hash}];
  if (same) {
    copy.erase();
    return same;
  }
  copy->setAttr(structureAttribute, builder.getStringAttr(hash));
  copy.setSymName("");
  copy.setSymName(kernelName(copy, hash));
  return same = copy;
}

void BandedKernels::runRows(Operation *copy, Operation *call, const RowRange &rows) {
  func::FuncOp kernel = kernelFor(DividedKernels::kernelOf(call), *kernels.partsOf(call), *rowsOf(call, rows));
  cast<CallKernelOp>(copy).setKernel(kernel.getSymName());
  copy->getResult(0).setType(kernel.getResultTypes().front());
  copy->removeAttr(resultAttribute);
}

//===----------------------------------------------------------------------===//
// Groups of calls
//===----------------------------------------------------------------------===//

std::optional<ValueRows> BandedKernels::rowsOfBand(ArrayRef<Operation *> members, int64_t band, int64_t bands) {
  ValueRows rows;
  auto isMember = [&](Operation *user) { return llvm::is_contained(members, user); };
  for (Operation *op : llvm::reverse(members)) {
    if (!DividedKernels::isCall(op) || op->getNumResults() != 1)
      return std::nullopt;
    Value result = op->getResult(0);
    const std::optional<int64_t> count = rowCountOf(result);
    if (!count || *count < bands)
      return std::nullopt;
    if (!llvm::all_of(result.getUsers(), isMember)) {
      const RowRange own{*count * band / bands, *count * (band + 1) / bands};
      if (rows.try_emplace(result, own).first->second != own)
        return std::nullopt;
    }
    auto made = rows.find(result);
    const OperandRows *read = made == rows.end() ? nullptr : this->read(op, made->second);
    if (!read)
      return std::nullopt;
    for (auto [operand, range] : llvm::zip_equal(op->getOperands(), *read))
      if (range)
        rows.try_emplace(operand, *range).first->second.include(*range);
  }
  return rows;
}

Value rowsOfImage(OpBuilder &builder, Value value, int64_t image, const RowRange &rows) {
  const int64_t count = *rowCountOf(value);
  Shape flat(ArrayRef(shapeOf(value)).drop_front());
  flat.front() = shapeOf(value).front() * flat.front();
  Type element = tensorTypeOf(value).getElementType();
  Value all = builder.create<ReshapeOp>(value.getLoc(), tensorType(flat, element), value);
  Value part = partOf(builder, all, image * count + rows.begin, rows.size());
  Shape one = shapeOf(part);
  one.insert(one.begin(), SymbolicInt(1));
  return builder.create<ReshapeOp>(value.getLoc(), tensorType(one, element), part);
}

Value assembledBands(OpBuilder &builder, RankedTensorType type, ValueRange bands) {
  auto reshaped = [&](Value value, const Shape &shape) -> Value {
    return builder.create<ReshapeOp>(value.getLoc(), tensorType(shape, type.getElementType()), value);
  };
  SmallVector<Value> flat;
  for (Value band : bands)
    flat.push_back(reshaped(band, Shape(ArrayRef(shapeOf(band)).drop_front())));
  Shape shape(ArrayRef(shapeOf(type)).drop_front());
  shape.front() = shapeOf(type).front() * shape.front();
  return reshaped(assembled(builder, tensorType(shape, type.getElementType()), flat), shapeOf(type));
}

} // namespace perpend::graph
