//===- ScheduleKernels.cpp - the default schedule of every kernel ----------===//
//
// Rules, no search. Runs on kernels whose bodies are still operators on tensors;
// the result is the attribute tile.schedule (see Schedule.h).
//
// Units are leading dimensions, enough of them to share work between threads, so
// that inner loops stay long. A unit of a matrix product is a block of rows that
// fits half the second-level cache, times one panel of packed columns. What is
// worth another thread follows from an estimate of the kernel's time (CostModel.h).
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

/// Rows of a block of one column: enough multiply-adds at a time, and each ends with a sum of its lanes.
static constexpr int64_t mostColumnRows = 8;

namespace {
class Scheduler {
public:
  Scheduler(const target::TargetInfo &target, func::FuncOp kernel)
      : target(target), kernel(kernel), seconds(estimateSeconds(kernel, target)) {}

  void run() {
    Operation *root = kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
    Shape shape = shapeOf(root->getResult(0));
    Operation *leading = leadingOperator(kernel);
    if (auto sequence = dyn_cast<graph::SequenceInterface>(root))
      scheduleSequence(sequence);
    else if (std::optional<graph::RowChain> chain = rowChainOf(kernel))
      scheduleRows(shape, chain->rowDims);
    else if (auto matmul = dyn_cast_or_null<MatmulOp>(leading))
      scheduleMatmul(matmul);
    else if (auto conv = dyn_cast_or_null<ConvOp>(leading))
      scheduleConv(conv);
    else if (hasSum())
      scheduleElements(shape, dyn_cast_or_null<graph::ReduceOp>(leading));
    else
      return schedule.attachTo(kernel); // its rule makes its loops
    schedule.grain = static_cast<int64_t>(leastSecondsOfPart * units / seconds) + 1;
    schedule.attachTo(kernel);
  }

private:
  bool hasSum() { return llvm::any_of(kernel.getBody().front(), llvm::IsaPred<graph::ReductionInterface>); }

  void scheduleMatmul(MatmulOp op) {
    Shape lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
    schedule.cols = *rhs.back().constant() / groupOf(op.getRhs());
    schedule.rows = blockRows(lhs[lhs.size() - 2], groupOf(op.getRhs()));
    int64_t depthBytes = llvm::divideCeil(estimate(lhs.back()) * 4, groupOf(op.getRhs()));
    int64_t cached =
        std::max<int64_t>(1, static_cast<int64_t>(target.l2Bytes) / 2 / depthBytes / schedule.rows) * schedule.rows;
    int64_t rows = estimate(lhs[lhs.size() - 2]);
    int64_t columns = estimate(graph::elementCount(shapeOf(op.getResult()))) / rows; // of the whole batch
    int64_t panels = llvm::divideCeil(columns, schedule.cols);
    int64_t blocks = std::max<int64_t>(llvm::divideCeil(rows, cached), dividable(panels, rows / schedule.rows));
    schedule.block = llvm::alignTo(llvm::divideCeil(rows, blocks), schedule.rows);
    units = static_cast<double>(panels) * blocks;
  }

  void scheduleConv(ConvOp op) {
    Shape input = shapeOf(op.getInput()), filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
    int64_t group = groupOf(op.getFilter());
    schedule.cols = *filter.back().constant() / group;
    schedule.rows = blockRows(result[2], group);
    int64_t rowBytes = llvm::divideCeil(estimate(input[2]) * estimate(input[3]) * 4 * op.getStrides()[0], group);
    int64_t height = estimate(result[1]);
    int64_t cached = std::clamp<int64_t>(static_cast<int64_t>(target.l2Bytes) / 4 / rowBytes, 1, height);
    int64_t panels = estimate(result[0]) * estimate(filter[0]) * estimate(filter[1]);
    int64_t blocks = std::max<int64_t>(llvm::divideCeil(height, cached), dividable(panels, height));
    schedule.block = llvm::divideCeil(height, blocks);
    units = static_cast<double>(panels) * blocks;
  }

  /// A unit is a row; what it does inside is scheduled on blocks.
  void scheduleRows(ArrayRef<SymbolicInt> shape, unsigned rowDims) {
    units = estimate(graph::elementCount(shape.take_front(rowDims)));
  }

  /// Chunks of a single lane, whole cache lines; of several, one index of the first.
  void scheduleSequence(graph::SequenceInterface op) {
    Shape shape = shapeOf(op->getResult(0));
    auto [first, last] = op.sequentialDims();
    schedule.row = shape.size() - last == 1 ? 64 : 1;
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (dim < first || dim == last)
        units *= dim == last ? llvm::divideCeil(estimate(extent), schedule.row) : estimate(extent);
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
    units = estimate(graph::elementCount(unitShape));
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
    double secondsOfElement = seconds / units / estimate(last);
    auto least = std::min<int64_t>(leastPart, leastSecondsOfPart / secondsOfElement + 1);
    int64_t wanted = llvm::divideCeil(wantedUnits, known);
    int64_t even = last.constant() ? llvm::divideCeil(estimate(last), wanted) : leastPart;
    int64_t part = llvm::alignTo(std::max(even, least), schedule.row ? schedule.row : 64);
    Shape parts(unitShape);
    parts.push_back(ceilDiv(last, SymbolicInt(part)));
    if (wanted == 1 || (last.constant() && part >= *last.constant()) || !isExpression(parts))
      return;
    schedule.part = part;
    units *= static_cast<double>(estimate(last)) / part;
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

  /// Rows of the micro-kernel: as many accumulators as registers allow, spread evenly over the rows there are.
  /// On some targets, products of integers need a register before they are added.
  int64_t blockRows(const SymbolicInt &extent, int64_t group) const {
    int64_t vectors = std::max<int64_t>(1, schedule.cols / target.vectorLanes(4)),
            others = vectors + (group > 1 ? 2 : 1);
    int64_t most = std::min<int64_t>(24, (target.vectorRegisters - others) / vectors);
    if (vectors == 2)
      most = std::min<int64_t>(most, target.gemmRows);
    if (schedule.cols == 1)
      most = std::min<int64_t>(most, mostColumnRows);
    most = std::max<int64_t>(most, 1);
    std::optional<int64_t> count = extent.constant();
    return count && *count > 0 ? llvm::divideCeil(*count, llvm::divideCeil(*count, most)) : most;
  }

  static int64_t groupOf(Value packed) { return elementsPerWord(graph::tensorTypeOf(packed).getElementType()); }

  /// Into how many blocks to divide each of `panels` equal parts of the kernel, of at most `most`.
  int64_t dividable(int64_t panels, int64_t most) const {
    double wanted = std::min<double>(wantedUnits, seconds / leastSecondsOfPart);
    return std::clamp<int64_t>(wanted / panels, 1, std::max<int64_t>(most, 1));
  }

  const target::TargetInfo &target;
  func::FuncOp kernel;
  Schedule schedule;
  double seconds, units = 1;
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
