//===- LoopNest.cpp - loops over several dimensions -----------------------===//

#include "graph/primitives/LoopNest.h"

using namespace mlir;
using namespace perpend::graph;

static Value emitLoops(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> counts, Value initial,
                       ElementEmitter &emitter, SmallVectorImpl<Value> &indices, NestBody body) {
  if (counts.empty())
    return body(builder, indices, initial);
  return emitter.loop(builder, loc, counts.front(), initial, [&](OpBuilder &inner, Value index, Value carried) {
    indices.push_back(index);
    Value next = emitLoops(inner, loc, counts.drop_front(), carried, emitter, indices, body);
    indices.pop_back();
    return next;
  });
}

Value perpend::graph::emitNest(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> counts, Value initial,
                               ElementEmitter &emitter, NestBody body) {
  SmallVector<Value> indices;
  return emitLoops(builder, loc, counts, initial, emitter, indices, body);
}

Value perpend::graph::emitReduction(OpBuilder &builder, Location loc, ReductionInterface op, ValueRange index,
                                    ElementEmitter &emitter) {
  return emitNest(builder, loc, op.reducedExtents(), op.initial(builder, loc), emitter,
                  [&](OpBuilder &b, ValueRange reduced, Value carried) {
                    return op.accumulate(b, loc, index, reduced, carried, emitter);
                  });
}
