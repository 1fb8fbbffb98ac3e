//===- ScheduleKernels.cpp - the default schedule of every kernel ----------===//
//
// Rules, no search. Runs on kernels whose bodies are still operators on tensors;
// the result is the attribute tile.schedule (see Schedule.h).
//
// Units are leading dimensions, enough of them to share work between threads, so
// that inner loops stay long. A unit of a matrix product is a block of rows that
// fits half the second-level cache, times one panel of packed columns. A thread
// must be worth the time it takes to wake it.
//
//===----------------------------------------------------------------------===//

#include "graph/Shapes.h"
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

/// A symbolic extent counts as this much in estimates.
static constexpr int64_t assumedExtent = 32;
/// A thread gets at least this much work. Waking one takes tens of microseconds on a virtual machine, and what it
/// writes lies in another core's cache when the next kernel reads it: that weighs more where a kernel computes little.
static constexpr double leastSecondsOfContraction = 100e-6;
static constexpr double leastSecondsOfElements = 400e-6;
/// Scalar work per element and operator in a vectorised loop.
static constexpr double secondsPerElementOperator = 0.15e-9;

static int64_t estimate(const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return std::max<int64_t>(1, *number);
  std::set<std::string> names;
  value.symbols(names);
  llvm::StringMap<int64_t> values;
  for (const std::string &name : names)
    values[name] = assumedExtent;
  return std::max<int64_t>(1, value.evaluate(values).value_or(assumedExtent));
}

namespace {
class Scheduler {
public:
  Scheduler(const MachineModel &machine, func::FuncOp kernel) : machine(machine), kernel(kernel) {}

  void run() {
    Operation *root = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
    Shape shape = shapeOf(root->getResult(0));
    Operation *leading = leadingOperator(kernel);
    if (auto sequence = dyn_cast<graph::SequenceInterface>(root))
      scheduleSequence(sequence);
    else if (auto matmul = dyn_cast_or_null<MatmulOp>(leading))
      scheduleMatmul(matmul);
    else if (auto conv = dyn_cast_or_null<ConvOp>(leading))
      scheduleConv(conv);
    else
      scheduleElements(shape, dyn_cast_or_null<graph::ReduceOp>(leading));
    schedule.attachTo(kernel);
  }

private:
  void scheduleMatmul(MatmulOp op) {
    Shape lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
    schedule.cols = *rhs.back().constant();
    schedule.rows = blockRows(lhs[lhs.size() - 2]);
    int64_t depth = estimate(lhs.back());
    int64_t cached = std::max<int64_t>(1, machine.l2Bytes / 2 / (depth * 4) / schedule.rows) * schedule.rows;
    int64_t rows = estimate(lhs[lhs.size() - 2]);
    schedule.block = std::min<int64_t>(cached, llvm::alignTo(rows, schedule.rows));
    setGrain(2.0 * std::min(rows, schedule.block) * depth * schedule.cols / machine.flopsPerSecond,
             leastSecondsOfContraction);
  }

  void scheduleConv(ConvOp op) {
    Shape input = shapeOf(op.getInput()), filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
    schedule.cols = *filter.back().constant();
    schedule.rows = blockRows(result[2]);
    int64_t rowBytes = estimate(input[2]) * estimate(input[3]) * 4 * op.getStrides()[0];
    int64_t height = estimate(result[1]);
    schedule.block = std::clamp<int64_t>(machine.l2Bytes / 4 / rowBytes, 1, height);
    double flops = 2.0 * schedule.block * estimate(result[2]) * estimate(filter[2]) * estimate(filter[3]) *
                   estimate(filter[4]) * schedule.cols;
    setGrain(flops / machine.flopsPerSecond, leastSecondsOfContraction);
  }

  /// Chunks of a single lane, whole cache lines; of several, one index of the first.
  void scheduleSequence(graph::SequenceInterface op) {
    Shape shape = shapeOf(op->getResult(0));
    auto [first, last] = op.sequentialDims();
    schedule.row = shape.size() - last == 1 ? 64 : 1;
    int64_t units = 1, elements = estimate(graph::elementCount(shape));
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (dim < first || dim == last)
        units *= dim == last ? llvm::divideCeil(estimate(extent), schedule.row) : estimate(extent);
    for (Value operand : op->getOperands())
      elements = std::max(elements, estimate(graph::elementCount(shapeOf(operand))));
    double operators = 2.0 * kernel.getBody().front().getOperations().size();
    setGrain(operators * secondsPerElementOperator * elements / units, leastSecondsOfElements);
  }

  void scheduleElements(const Shape &shape, graph::ReduceOp reduce) {
    schedule.flatten = isUniform();
    double secondsPerElement = 2 * secondsPerElementOperator * kernel.getBody().front().getOperations().size();
    if (reduce) {
      Shape input = shapeOf(reduce.getInput());
      for (int64_t dim : reduce.getDims())
        secondsPerElement *= estimate(input[dim]);
      bool keepsLast = !input.empty() && reduce.getDims().back() != static_cast<int64_t>(input.size()) - 1;
      if (keepsLast && !shape.empty() && shape.back() != SymbolicInt(1))
        schedule.row = rowLength(shape.back());
    }
    if (schedule.flatten)
      return setGrain(secondsPerElement, leastSecondsOfElements);
    int64_t rank = shape.size(), units = 1, dims = 0;
    while (dims < rank - 1 && units < 16)
      units *= estimate(shape[dims++]);
    schedule.unitDims = rank <= 1 && !schedule.row ? rank : dims;
    double elements = 1;
    for (int64_t dim = schedule.unitDims; dim < rank; ++dim)
      elements *= estimate(shape[dim]);
    setGrain(elements * secondsPerElement, leastSecondsOfElements);
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

  /// Elementwise over inputs that all have the result's shape.
  bool isUniform() {
    return llvm::all_of(kernel.getBody().front(), [](Operation &op) {
      if (auto constant = dyn_cast<graph::ConstantOp>(op))
        return llvm::all_of(constant->getUsers(), [](Operation *user) { return isa<graph::MapOp>(user); });
      return isa<graph::MapOp, func::ReturnOp>(op);
    });
  }

  /// Rows of the micro-kernel: as many accumulators as registers allow, spread evenly over the rows there are.
  int64_t blockRows(const SymbolicInt &extent) const {
    int64_t vectors = std::max<int64_t>(1, schedule.cols / machine.lanes);
    int64_t most = std::min<int64_t>(24, (machine.registers - vectors - 1) / vectors);
    if (vectors == 2)
      most = std::min(most, machine.rows);
    most = std::max<int64_t>(most, 1);
    std::optional<int64_t> count = extent.constant();
    return count && *count > 0 ? llvm::divideCeil(*count, llvm::divideCeil(*count, most)) : most;
  }

  void setGrain(double secondsPerUnit, double leastSeconds) {
    schedule.grain = static_cast<int64_t>(leastSeconds / std::max(secondsPerUnit, 1e-10)) + 1;
  }

  const MachineModel &machine;
  func::FuncOp kernel;
  Schedule schedule;
};

struct ScheduleKernels : perpend::tile::impl::TileScheduleKernelsBase<ScheduleKernels> {
  using TileScheduleKernelsBase::TileScheduleKernelsBase;

  void runOnOperation() override {
    MachineModel machine{lanes, registers, rows, l2Bytes, flopsPerSecond, bytesPerSecond};
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr("tile.kernel") && !kernel->hasAttr("tile.schedule"))
        Scheduler(machine, kernel).run();
  }
};
} // namespace
