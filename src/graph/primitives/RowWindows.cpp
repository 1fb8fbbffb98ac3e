//===- RowWindows.cpp - positions that an index depends on ----------------===//

#include "graph/RowWindows.h"

#include "graph/Shapes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::graph {

std::optional<RowRange> RowWindow::read(const RowRange &rows, int64_t extent) const {
  auto meets = [&](int64_t index) { return index * stride - low + reach > 0 && index * stride - low < extent; };
  if (rows.size() < 1 || !meets(rows.begin) || !meets(rows.end - 1))
    return std::nullopt;
  return RowRange{std::max<int64_t>(rows.begin * stride - low, 0),
                  std::min((rows.end - 1) * stride - low + reach, extent)};
}

static std::optional<RowWindow> windowOf(ConvOp op, OpOperand &operand, unsigned dim) {
  if (operand.getOperandNumber() != 0)
    return std::nullopt;
  for (unsigned i = 0; i < op.getStrides().size(); ++i) {
    std::optional<int64_t> extent = shapeOf(op.getFilter())[op.filterWindowDim(i)].constant();
    if (op.windowDim(i) == dim && extent && op.getInputDilation()[i] == 1)
      return RowWindow{dim, op.getStrides()[i], op.getPadLow()[i], (*extent - 1) * op.getDilations()[i] + 1, true};
  }
  return std::nullopt;
}

static std::optional<RowWindow> windowOf(WindowReduceOp op, unsigned dim) {
  return RowWindow{dim, op.getStrides()[dim], op.getPadLow()[dim],
                   (op.getWindow()[dim] - 1) * op.getDilations()[dim] + 1, true};
}

static std::optional<RowWindow> windowOf(PadOp op, unsigned dim) {
  std::optional<int64_t> low = op.getLow().values()[dim].constant();
  return low && *low >= 0 ? std::optional(RowWindow{dim, 1, *low, 1, true}) : std::nullopt;
}

static std::optional<RowWindow> windowOf(SliceOp op, unsigned dim) {
  std::optional<int64_t> start = op.getStarts().values()[dim].constant();
  const int64_t step = op.getSteps()[dim];
  return start && step > 0 ? std::optional(RowWindow{dim, step, -*start, 1, true}) : std::nullopt;
}

std::optional<RowWindow> rowWindowOf(OpOperand &operand, unsigned dim) {
  Operation *op = operand.getOwner();
  if (auto flow = dyn_cast<DimensionFlowInterface>(op)) {
    Shape from = shapeOf(operand.get()), to = shapeOf(op->getResult(0));
    for (unsigned source = 0; source < from.size(); ++source)
      if (flow.followingDim(operand, source) == dim && from[source] == to[dim])
        return RowWindow{source};
  }
  return llvm::TypeSwitch<Operation *, std::optional<RowWindow>>(op)
      .Case([&](ConvOp conv) { return windowOf(conv, operand, dim); })
      .Case([&](WindowReduceOp reduce) { return windowOf(reduce, dim); })
      .Case([&](PadOp pad) { return windowOf(pad, dim); })
      .Case([&](SliceOp slice) { return windowOf(slice, dim); })
      .Default([](Operation *) { return std::nullopt; });
}

static Attribute replaced(ShapeAttr shape, unsigned dim, int64_t value) {
  Shape values(shape.values());
  values[dim] = SymbolicInt(value);
  return ShapeAttr::get(shape.getContext(), values);
}

static SmallVector<int64_t> replaced(ArrayRef<int64_t> list, unsigned position, int64_t value) {
  SmallVector<int64_t> values(list);
  values[position] = value;
  return values;
}

void moveRowWindow(Operation *op, unsigned dim, int64_t low) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ConvOp conv) { conv.setPadLow(replaced(conv.getPadLow(), dim - conv.windowDim(0), low)); })
      .Case([&](WindowReduceOp reduce) { reduce.setPadLow(replaced(reduce.getPadLow(), dim, low)); })
      .Case([&](PadOp pad) { pad.setLowAttr(cast<ShapeAttr>(replaced(pad.getLow(), dim, low))); })
      .Case([&](SliceOp slice) { slice.setStartsAttr(cast<ShapeAttr>(replaced(slice.getStarts(), dim, -low))); })
      .Default([](Operation *) { llvm_unreachable("the operator has no window"); });
}

} // namespace perpend::graph
