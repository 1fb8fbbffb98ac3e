//===- HostBinding.cpp - from the extents of inputs to symbols ------------===//

#include "interp/HostRun.h"

#include "graph/Shapes.h"
#include "support/ReadableText.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {
namespace {
class Binder {
public:
  Binder(host::EntryOp entry, Tensors &inputs, Environment &environment)
      : entry(entry), inputs(inputs), environment(environment) {}

  LogicalResult run() {
    if (failed(checkTypes()))
      return failure();
    for (Operation &op : entry.getBody().front()) {
      LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(&op)
                                 .Case([&](host::ExtentOp op) { return bind(op); })
                                 .Case([&](host::RepeatOp op) { return repeat(op); })
                                 .Case([&](host::ExpectOp op) { return expect(op); })
                                 .Case([&](host::RequireOp op) { return require(op); })
                                 .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    return repeatInputs();
  }

private:
  InFlightDiagnostic fail(size_t input) {
    return entry.emitError("input ") << input << " of '" << entry.getSymName() << "': ";
  }
  int64_t &extent(Value input, uint64_t dim) { return inputs[cast<BlockArgument>(input).getArgNumber()].shape[dim]; }

  LogicalResult checkTypes() {
    if (inputs.size() != entry.inputCount())
      return entry.emitError("expected ") << support::counted(entry.inputCount(), "input") << ", got " << inputs.size();
    for (auto [i, input] : llvm::enumerate(inputs)) {
      RankedTensorType type = entry.tensorOf(i);
      if (type.getElementType() != input.elementType)
        return fail(i) << "expected elements of type " << type.getElementType() << ", got " << input.elementType;
      if (type.getRank() != static_cast<int64_t>(input.shape.size()))
        return fail(i) << "expected " << type.getRank() << " dimensions, got " << input.shape.size();
    }
    return success();
  }

  LogicalResult bind(host::ExtentOp op) {
    int64_t above = extent(op.getInput(), op.getDim()) - static_cast<int64_t>(op.getOffset());
    if (above < 0)
      return fail(cast<BlockArgument>(op.getInput()).getArgNumber())
             << "expected dimension " << op.getDim() << " to be at least " << op.getOffset() << ", got "
             << extent(op.getInput(), op.getDim());
    environment.symbols[op.getSymbol()] = above / static_cast<int64_t>(op.getFactor());
    return success();
  }

  LogicalResult repeat(host::RepeatOp op) {
    SmallVector<int64_t> values;
    for (auto choices : op.getExtents().getAsRange<ShapeAttr>()) {
      FailureOr<Extents> extents = environment.evaluate(op, choices.values());
      if (failed(extents))
        return failure();
      auto found = llvm::find_if(*extents, [](int64_t extent) { return extent != 1; });
      values.push_back(found == extents->end() ? 1 : *found);
    }
    for (auto [symbol, value] : llvm::zip_equal(op.getSymbols().getAsRange<StringAttr>(), values))
      environment.symbols[symbol] = value;
    return success();
  }

  LogicalResult expect(host::ExpectOp op) {
    SymbolicInt wanted = op.getExtent().values()[0];
    std::optional<int64_t> expected = wanted.evaluate(environment.symbols);
    int64_t got = extent(op.getInput(), op.getDim());
    if (expected == got)
      return success();
    InFlightDiagnostic error = fail(cast<BlockArgument>(op.getInput()).getArgNumber());
    error << "expected dimension " << op.getDim() << " to be " << wanted.str();
    if (expected && !wanted.isConstant())
      error << " = " << *expected;
    return error << ", got " << got;
  }

  LogicalResult require(host::RequireOp op) {
    std::optional<int64_t> value = op.getValue().values()[0].evaluate(environment.symbols);
    if (!value || *value >= 0)
      return success();
    return entry.emitError(op.getMessage())
           << " (got " << op.getGot().values()[0].evaluate(environment.symbols).value_or(*value) << ")";
  }

  /// Every extent is now what the entry's type says.
  LogicalResult repeatInputs() {
    for (auto [i, input] : llvm::enumerate(inputs)) {
      FailureOr<Extents> shape = environment.shapeOf(entry, entry.tensorOf(i));
      if (failed(shape))
        return failure();
      if (ArrayRef<int64_t>(*shape) == ArrayRef<int64_t>(input.shape))
        continue;
      SmallVector<int64_t> strides = rowMajorStrides(input.shape);
      for (auto [dim, stride] : llvm::enumerate(strides))
        stride = input.shape[dim] == (*shape)[dim] ? stride : 0;
      FailureOr<Tensor> larger = environment.allocate(entry, input.elementType, *shape);
      if (failed(larger))
        return failure();
      copyStrided(larger->mutableData(), rowMajorStrides(*shape), input.data(), strides, *shape,
                  input.format().bytes());
      input = *larger;
    }
    return success();
  }

  host::EntryOp entry;
  Tensors &inputs;
  Environment &environment;
};
} // namespace

LogicalResult bindInputs(host::EntryOp entry, Tensors &inputs, Environment &environment) {
  return Binder(entry, inputs, environment).run();
}
} // namespace perpend::interp
