//===- NarrowReductions.cpp - rows of a few columns side by side ----------===//
//
// Of a tensor whose leading dimensions are combined, and whose lines of the others are shorter than vectors: as many
// lines side by side as make whole vectors, then these lines, with what is left of the tensor.
//
//   %y = graph.reduce sum %x dims [0] : [100003, 5] -> [5]
// becomes
//   %p = graph.reduce sum (the first 100000 lines of %x as [12500, 40]) dims [0]
//   %y = graph.reduce sum (%p as [8, 5], and the last 3 lines) dims [0]
//
//===----------------------------------------------------------------------===//

#include "graph/LibraryCalls.h"
#include "graph/builder/Builder.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::graph;

/// Lines side by side; the most bytes of a line, and the least ones of the tensor that pay for another kernel.
static constexpr int64_t linesTogether = 8, mostLineBytes = 64, leastBytes = 1 << 16;

namespace {
struct NarrowReduction : LibraryInterface::ExternalModel<NarrowReduction, ReduceOp> {
  std::pair<Operation *, Value> placeCall(Operation *op, perpend::graph::Builder &b) const {
    auto reduce = cast<ReduceOp>(op);
    Value input = reduce.getInput();
    Shape shape = shapeOf(input);
    ArrayRef<int64_t> dims = reduce.getDims();
    const unsigned leading = dims.size(), bits = bitWidth(tensorTypeOf(input).getElementType());
    // A computed operand would be computed in both kernels, or be stored. Partial results must not be rounded more.
    if (input.getDefiningOp() || leading == 0 || dims.back() + 1 != leading || bits < 32)
      return {};
    std::optional<int64_t> count = elementCount(ArrayRef(shape).take_front(leading)).constant();
    std::optional<int64_t> columns = elementCount(ArrayRef(shape).drop_front(leading)).constant();
    if (!count || !columns || *columns < 2 || *columns * bits > mostLineBytes * 8 ||
        *count * *columns * bits < leastBytes * 8)
      return {};
    const int64_t rows = *count / linesTogether, inside = linesTogether * *columns, whole = rows * inside;
    Value flat = b.reshape(input, {SymbolicInt(*count * *columns)});
    Value first = b.slice(flat, {SymbolicInt(0)}, {SymbolicInt(whole)}, {1});
    first = b.reshape(first, {SymbolicInt(rows), SymbolicInt(inside)});
    Value lines = b.reduce(reduce.getKind(), first, {0}, false);
    lines = b.reshape(lines, {SymbolicInt(linesTogether), SymbolicInt(*columns)});
    if (const int64_t left = *count % linesTogether; left > 0) {
      Value last = b.slice(flat, {SymbolicInt(whole)}, {SymbolicInt(left * *columns)}, {1});
      lines = b.concat({lines, b.reshape(last, {SymbolicInt(left), SymbolicInt(*columns)})}, 0);
    }
    return {op, b.reshape(b.reduce(reduce.getKind(), lines, {0}, false), shapeOf(reduce.getResult()))};
  }
};
} // namespace

void perpend::graph::attachNarrowReductions(MLIRContext *context) {
  ReduceOp::attachInterface<NarrowReduction>(*context);
}
