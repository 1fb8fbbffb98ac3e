//===- EmitSequences.cpp - kernels whose elements depend on one another -----===//
//
// A unit of work is one index of the lanes before the sequential dimensions and
// a chunk of the first lane after them; the operator emits the rest.
//
//===----------------------------------------------------------------------===//

#include "tile/KernelBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {

namespace {
class KernelSequence : public SequenceEmitter {
public:
  KernelSequence(KernelBody &body, SequenceInterface op)
      : SequenceEmitter(body.emitter), body(body), op(op), shape(shapeOf(body.root())) {
    auto [first, last] = op.sequentialDims();
    outerDims = first;
    lanes.append(shape.begin() + last, shape.end());
  }

  /// Returns the number of units.
  SymbolicInt emit(OpBuilder &builder) {
    ArrayRef<SymbolicInt> outerShape = ArrayRef(shape).take_front(outerDims);
    int64_t chunk = lanes.empty() ? 0 : std::max<int64_t>(1, body.schedule.row);
    return body.forEachUnit(builder, outerShape, lanes.empty() ? SymbolicInt(1) : lanes.front(), chunk,
                            [&](OpBuilder &unit, ArrayRef<Value> index, Value from, Value to) {
                              outer.assign(index.begin(), index.end());
                              begin = from;
                              end = to;
                              op.emitSequence(unit, body.loc, *this);
                            });
  }

  ValueRange outerIndex() override { return outer; }

  void forEachLane(OpBuilder &builder, Location, LaneBody emitLane) override {
    if (lanes.empty())
      return emitLane(builder, {});
    body.forEach(builder, begin, end, body.constant(1), [&](OpBuilder &b, Value first) {
      body.forEachIndex(b, ArrayRef(lanes).drop_front(), [&](OpBuilder &inner, ValueRange rest) {
        SmallVector<Value> lane{first};
        llvm::append_range(lane, rest);
        emitLane(inner, lane);
      });
    });
  }

  Value load(OpBuilder &builder, Location loc, ValueRange index) override {
    return body.emitter.loadFrom(builder, loc, body.output(), body.emitter.position(builder, loc, shape, index),
                                 scalarTypeOf(body.root()));
  }

  void store(OpBuilder &builder, Location loc, ValueRange index, Value scalar) override {
    body.emitter.store(builder, loc, scalar, body.output(), body.emitter.position(builder, loc, shape, index));
  }

private:
  KernelBody &body;
  SequenceInterface op;
  Shape shape, lanes;
  unsigned outerDims = 0;
  SmallVector<Value> outer;
  Value begin, end; // of the first lane
};
} // namespace

SymbolicInt emitSequence(OpBuilder &builder, KernelBody &body, SequenceInterface op) {
  return KernelSequence(body, op).emit(builder);
}
} // namespace perpend::tile
