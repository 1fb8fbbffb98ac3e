//===- Bands.cpp - kernels on a part of the rows --------------------------===//

#include "graph/Bands.h"

#include "graph/Attributes.h"
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
  bool read(func::FuncOp kernel, const Parts &parts) {
    Block &body = kernel.getBody().front();
    Value result = body.getTerminator()->getOperand(0);
    const std::optional<int64_t> rows = rowCountOf(result);
    if (!rows || !need(result, rowDim))
      return false;
    found.rows = *rows;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (!visit(op))
        return false;
    for (Value argument : body.getArguments()) {
      auto part = numbers.find(argument);
      const bool isPart = part != numbers.end();
      if (isPart ? found.dims[part->second] != rowDim || !parts.isDivided(argument) : parts.isDivided(argument))
        return false;
      found.arguments.push_back(isPart ? std::optional(part->second) : std::nullopt);
    }
    return true;
  }

  KernelWindows found;

private:
  bool need(Value value, unsigned dim) {
    if (whole.contains(value))
      return false;
    auto [known, isNew] = numbers.try_emplace(value, static_cast<unsigned>(found.values.size()));
    if (isNew) {
      found.values.push_back(value);
      found.dims.push_back(dim);
    }
    return found.dims[known->second] == dim;
  }

  bool needWhole(Value value) {
    whole.insert(value);
    return !numbers.contains(value);
  }

  bool visit(Operation &op) {
    auto part = op.getNumResults() == 1 ? numbers.find(op.getResult(0)) : numbers.end();
    if (part == numbers.end())
      return llvm::all_of(op.getOperands(), [&](Value operand) { return needWhole(operand); });
    const unsigned made = part->second;
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    bool follows = flow && flow.repeatsOperands();
    for (OpOperand &operand : op.getOpOperands()) {
      std::optional<RowWindow> window = rowWindowOf(operand, found.dims[made]);
      if (!window) {
        if (!needWhole(operand.get()))
          return false;
        continue;
      }
      const std::optional<int64_t> extent = shapeOf(operand.get())[window->dim].constant();
      if (!extent || !need(operand.get(), window->dim))
        return false;
      found.steps.push_back({made, numbers.lookup(operand.get()), *window, *extent});
      follows = true;
    }
    return follows;
  }

  llvm::DenseMap<Value, unsigned> numbers; ///< of `found.values`
  llvm::SmallPtrSet<Value, 8> whole;
};

std::optional<SmallVector<RowRange>> BandedKernels::KernelWindows::needed(const RowRange &ofResult) const {
  SmallVector<RowRange> ranges(values.size()); // empty: nothing yet
  if (rows < ofResult.end)
    return std::nullopt;
  ranges.front() = ofResult;
  for (const Step &step : steps) {
    const std::optional<RowRange> read = step.window.read(ranges[step.made], step.extent);
    if (!read)
      return std::nullopt;
    RowRange &range = ranges[step.read];
    if (range == RowRange())
      range = *read;
    else
      range.include(*read);
  }
  return ranges;
}

const BandedKernels::KernelWindows *BandedKernels::windowsOf(Operation *call) {
  auto [entry, isNew] = known.try_emplace(cast<CallKernelOp>(call).getKernelAttr());
  if (isNew) {
    func::FuncOp kernel = DividedKernels::kernelOf(call);
    const Parts *parts = kernels.partsOf(call);
    Reader reader;
    if (parts && kernel.getNumResults() == 1 && reader.read(kernel, *parts))
      entry->second = std::make_unique<KernelWindows>(std::move(reader.found));
  }
  return entry->second.get();
}

std::optional<OperandRows> BandedKernels::read(Operation *call, const RowRange &rows) {
  const KernelWindows *windows = windowsOf(call);
  const std::optional<SmallVector<RowRange>> needed = windows ? windows->needed(rows) : std::nullopt;
  if (!needed)
    return std::nullopt;
  return llvm::map_to_vector(windows->arguments, [&](std::optional<unsigned> number) {
    return number ? std::optional((*needed)[*number]) : std::nullopt;
  });
}

//===----------------------------------------------------------------------===//
// Copies of kernels
//===----------------------------------------------------------------------===//

func::FuncOp BandedKernels::kernelFor(func::FuncOp kernel, const Parts &parts, const KernelWindows &windows,
                                      ArrayRef<RowRange> rows) {
  OpBuilder builder(kernel);
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(builder.clone(*kernel, mapping));
  for (Value value : parts.values)
    mapping.lookup(value).setType(withRows(tensorTypeOf(value), 1));
  llvm::DenseMap<Value, std::pair<unsigned, RowRange>> needed; // with the dimension
  for (auto [value, dim, range] : llvm::zip_equal(windows.values, windows.dims, rows)) {
    needed[value] = {dim, range};
    if (Value copied = mapping.lookup(value); range.size() != shapeOf(value)[dim].constant())
      copied.setType(withExtent(tensorTypeOf(copied), dim, range.size()));
  }
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto part = op.getNumResults() == 1 ? needed.find(op.getResult(0)) : needed.end();
    if (part == needed.end())
      continue;
    const auto &[dim, computed] = part->second;
    Operation *copied = mapping.lookup(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      std::optional<RowWindow> window = rowWindowOf(operand, dim);
      if (!window)
        continue;
      const RowRange given = needed.at(operand.get()).second;
      const int64_t low = window->low - computed.begin * window->stride + given.begin;
      if (window->isMovable) {
        moveRowWindow(copied, dim, low);
      } else if (given != computed) {
        builder.setInsertionPoint(copied);
        Value rowsOfIt = copied->getOperand(operand.getOperandNumber());
        copied->setOperand(operand.getOperandNumber(), sliceOf(builder, rowsOfIt, window->dim, -low, computed.size()));
      }
    }
  }
  return kernels.shared(copy);
}

void BandedKernels::runRows(Operation *copy, Operation *call, const RowRange &rows) {
  const KernelWindows &windows = *windowsOf(call);
  func::FuncOp kernel =
      kernelFor(DividedKernels::kernelOf(call), *kernels.partsOf(call), windows, *windows.needed(rows));
  cast<CallKernelOp>(copy).setKernel(kernel.getSymName());
  copy->getResult(0).setType(kernel.getResultTypes().front());
  copy->removeAttr(resultAttribute);
}

//===----------------------------------------------------------------------===//
// Groups of calls
//===----------------------------------------------------------------------===//

bool BandedKernels::addRows(Operation *call, bool leaves, int64_t band, int64_t bands, ValueRows &rows) {
  if (!DividedKernels::isCall(call) || call->getNumResults() != 1)
    return false;
  Value result = call->getResult(0);
  const std::optional<int64_t> count = rowCountOf(result);
  if (!count || *count < bands)
    return false;
  if (leaves) {
    const RowRange own{*count * band / bands, *count * (band + 1) / bands};
    if (rows.try_emplace(result, own).first->second != own)
      return false;
  }
  auto made = rows.find(result);
  const std::optional<OperandRows> read = made == rows.end() ? std::nullopt : this->read(call, made->second);
  if (!read)
    return false;
  for (auto [operand, range] : llvm::zip_equal(call->getOperands(), *read))
    if (range)
      rows.try_emplace(operand, *range).first->second.include(*range);
  return true;
}

std::optional<ValueRows> BandedKernels::rowsOfBand(ArrayRef<Operation *> members, int64_t band, int64_t bands) {
  ValueRows rows;
  const SmallPtrSet<Operation *, 16> known(members.begin(), members.end());
  for (Operation *op : llvm::reverse(members)) {
    const bool leaves = !llvm::all_of(op->getUsers(), [&](Operation *user) { return known.contains(user); });
    if (!addRows(op, leaves, band, bands, rows))
      return std::nullopt;
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
