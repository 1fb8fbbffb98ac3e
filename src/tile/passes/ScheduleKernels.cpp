//===- ScheduleKernels.cpp - the default schedule of every kernel ----------===//
//
// Rules, no search. Runs on kernels whose bodies are still operators on tensors;
// the result is the attribute tile.schedule (see Schedule.h).
//
// Units are leading dimensions, enough of them to share work between threads, so
// that inner loops stay long. How long one must be follows from an estimate of the
// kernel's time (CostModel.h). Chains of rows, products and kernels without a sum
// get their units and all else from their rule (rules/Rules.h).
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Shapes.h"
#include "tile/Attributes.h"
#include "tile/CostModel.h"
#include "tile/KernelAbi.h"
#include "tile/Schedule.h"
#include "tile/Tile.h"
#include "tile/passes/Passes.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILESCHEDULEKERNELS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

namespace {
class Scheduler {
public:
  Scheduler(const target::TargetInfo &target, func::FuncOp kernel)
      : kernel(kernel), seconds(estimateSeconds(kernel, target)) {}

  void run() {
    Operation *root = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
    Shape shape = shapeOf(root->getResult(0));
    Operation *leading = leadingOperator(kernel);
    if (auto sequence = dyn_cast<graph::SequenceInterface>(root))
      scheduleSequence(sequence);
    else if (hasSum() && !rowChainOf(kernel) && !isa_and_nonnull<MatmulOp, ConvOp>(leading))
      scheduleElements(shape, dyn_cast_or_null<graph::ReduceOp>(leading));
    schedule.attachTo(kernel);
  }

private:
  bool hasSum() { return llvm::any_of(kernel.getBody().front(), llvm::IsaPred<graph::ReductionInterface>); }

  /// Chunks of a single lane, whole cache lines; of several, one index of the first.
  void scheduleSequence(graph::SequenceInterface op) {
    Shape shape = shapeOf(op->getResult(0));
    size_t last = op.sequentialDims().second;
    schedule.row = shape.size() - last == 1 ? 64 : 1;
  }

  void scheduleElements(const Shape &shape, graph::ReduceOp reduce) {
    if (reduce) {
      Shape input = shapeOf(reduce.getInput());
      bool keepsLast = !input.empty() && reduce.getDims().back() != static_cast<int64_t>(input.size()) - 1;
      if (keepsLast && !shape.empty() && shape.back() != SymbolicInt(1))
        schedule.row = rowLength(shape.back());
    }
    int64_t rank = shape.size(), outer = 1, dims = 0;
    while (dims < rank - 1 && outer < wantedUnits && isExpression(ArrayRef(shape).take_front(dims + 1)))
      outer *= estimate(shape[dims++]);
    schedule.unitDims = rank <= 1 && !schedule.row ? rank : dims;
    ArrayRef<SymbolicInt> unitShape = ArrayRef(shape).take_front(schedule.unitDims);
    if (schedule.unitDims == rank - 1)
      divideLast(unitShape, shape.back());
  }

  /// Whether the number of units is not too long an expression to be written down.
  static bool isExpression(ArrayRef<SymbolicInt> units) { return !graph::elementCount(units).isPoison(); }

  /// A last dimension that is long is divided where those before it may be too few units: a symbol may be 1.
  void divideLast(ArrayRef<SymbolicInt> unitShape, const SymbolicInt &last) {
    constexpr int64_t leastPart = 4096; // of elements that take no time worth mentioning
    int64_t known = 1;
    for (const SymbolicInt &extent : unitShape)
      known *= std::max<int64_t>(1, extent.constant().value_or(1));
    double secondsOfElement = seconds / estimate(graph::elementCount(unitShape)) / estimate(last);
    auto least = std::min<int64_t>(leastPart, leastSecondsOfPart / secondsOfElement + 1);
    int64_t wanted = llvm::divideCeil(wantedUnits, known);
    int64_t even = last.constant() ? llvm::divideCeil(estimate(last), wanted) : leastPart;
    int64_t part = llvm::alignTo(std::max(even, least), schedule.row ? schedule.row : 64);
    Shape parts(unitShape);
    parts.push_back(ceilDiv(last, SymbolicInt(part)));
    if (wanted == 1 || (last.constant() && part >= *last.constant()) || !isExpression(parts))
      return;
    schedule.part = part;
  }

  /// How many elements to accumulate at once: all if they are few, else a divisor of their number if there is a good
  /// one.
  static int64_t rowLength(const SymbolicInt &extent) {
    constexpr int64_t most = 256;
    std::optional<int64_t> count = extent.constant();
    if (!count || *count == 0)
      return most;
    for (int64_t parts = llvm::divideCeil(*count, most); parts <= *count / 64; ++parts)
      if (*count % parts == 0)
        return *count / parts;
    return std::min(*count, most);
  }

  func::FuncOp kernel;
  Schedule schedule;
  double seconds;
};

struct ScheduleKernels : perpend::tile::impl::TileScheduleKernelsBase<ScheduleKernels> {
  using TileScheduleKernelsBase::TileScheduleKernelsBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(graph::kernelAttribute) && !kernel->hasAttr(scheduleAttribute) &&
          !KernelAbi::isLowered(kernel)) {
        if (failed(verifyResults(kernel)))
          return signalPassFailure();
        Scheduler(target, kernel).run();
      }
  }
};
} // namespace
