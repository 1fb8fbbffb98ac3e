//===- CostModel.cpp - how long a kernel takes on one thread --------------===//

#include "tile/CostModel.h"

#include "graph/Graph.h"
#include "graph/Work.h"
#include "tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {

/// Of a symbolic extent.
static constexpr int64_t assumedExtent = 32;
/// Kernels reach this part of the machine's peak: blocks at edges, loads, and what follows a product.
static constexpr double reachedPartOfPeak = 0.5;
/// One element at a time: read at a stride, or at an index that is computed.
static constexpr double secondsPerScatteredElement = 0.3e-9;

int64_t estimate(const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return std::max<int64_t>(1, *number);
  std::set<std::string> names;
  value.symbols(names);
  llvm::StringMap<int64_t> values;
  for (const std::string &name : names)
    values[name] = assumedExtent;
  return std::max<int64_t>(1, value.evaluate(values).value_or(assumedExtent));
}

static double elementsOf(Value tensor) { return static_cast<double>(estimate(elementCount(shapeOf(tensor)))); }

/// Elements that a reduction reads for each of its result.
static double reducedElements(Operation &op) {
  if (auto window = dyn_cast<WindowReduceOp>(op)) {
    double elements = 1;
    for (int64_t extent : window.getWindow())
      elements *= extent;
    return elements;
  }
  double most = 1;
  for (Value operand : op.getOperands())
    most = std::max(most, elementsOf(operand) / elementsOf(op.getResult(0)));
  return most;
}

static bool isScattered(Operation &op) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    ArrayRef<int64_t> order = transpose.getPermutation();
    return !order.empty() && order.back() != static_cast<int64_t>(order.size()) - 1;
  }
  return isa<GatherOp>(op);
}

/// Seconds of one operator, apart from memory.
static double secondsOfOperator(Operation &op, const target::TargetInfo &target) {
  double flops = target.flopsPerSecond() * reachedPartOfPeak;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return 2 * elementsOf(matmul.getResult()) * estimate(shapeOf(matmul.getLhs()).back()) /
           (flops * matmul.panel()->group);
  if (auto conv = dyn_cast<ConvOp>(op)) {
    Shape filter = shapeOf(conv.getFilter());
    double depth = 1;
    for (const SymbolicInt &extent : ArrayRef(filter).slice(2, 3))
      depth *= estimate(extent);
    return 2 * elementsOf(conv.getResult()) * depth / flops;
  }
  auto element = dyn_cast<ElementInterface>(op);
  if (!element || op.getNumResults() == 0)
    return 0;
  double elements = elementsOf(op.getResult(0));
  if (isScattered(op))
    return elements * secondsPerScatteredElement;
  if (element.elementKind() == ElementKind::View)
    return 0;
  double work = std::max(1.0, scalarWork(op));
  if (element.elementKind() == ElementKind::Reduction)
    work *= reducedElements(op);
  return 2 * elements * work / flops;
}

static double bytesOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return elementsOf(tensor) *
         std::max(1u, type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() / 8 : 8u);
}

/// An operand of views alone (a table, a part of something) is read as far as those go.
static double bytesReadOf(Value input) {
  double most = 0;
  for (Operation *user : input.getUsers()) {
    auto element = dyn_cast<ElementInterface>(user);
    bool isView = element && element.elementKind() == ElementKind::View && user->getNumResults() == 1;
    most = std::max(most, isView ? std::min(bytesOf(input), bytesOf(user->getResult(0))) : bytesOf(input));
  }
  return most;
}

double estimateSeconds(func::FuncOp kernel, const target::TargetInfo &target) {
  Block &body = kernel.getBody().front();
  double seconds = 0, bytes = 0;
  for (Operation &op : body)
    seconds += secondsOfOperator(op, target);
  double result = 0;
  for (Value value : body.getTerminator()->getOperands())
    result += bytesOf(value);
  for (Value input : kernel.getArguments())
    bytes += bytesReadOf(input);
  bytes += result;
  return std::max(seconds, bytes / target.bytesPerSecondOf(bytes));
}

double estimateSeconds(const KernelWork &work, const target::TargetInfo &target) {
  auto words = static_cast<double>(estimate(work.operationBytes)) / 4,
       bytes = static_cast<double>(estimate(work.bytes));
  return std::max(words / (target.flopsPerSecond() * reachedPartOfPeak), bytes / target.bytesPerSecondOf(bytes));
}
} // namespace perpend::tile
