//===- FewChannels.cpp - depthwise convolutions of few channels -----------===//

#include "graph/primitives/FewChannels.h"

#include "graph/builder/Builder.h"

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

static bool hasFewChannels(ConvOp conv) {
  constexpr int64_t most = 3;
  return conv.isDepthwise() && !conv.getChannelsLast() && static_cast<int64_t>(conv.getGroups()) <= most &&
         shapeOf(conv.getFilter())[0] == SymbolicInt(conv.getGroups()) &&
         isa<FloatType>(tensorTypeOf(conv.getInput()).getElementType());
}

/// The slice of one index of a dimension.
static Value oneOf(GraphBuilder &builder, Value tensor, unsigned dim, int64_t index) {
  Shape shape = shapeOf(tensor), starts(shape.size(), SymbolicInt(0));
  starts[dim] = SymbolicInt(index);
  shape[dim] = SymbolicInt(1);
  return builder.slice(tensor, starts, shape, SmallVector<int64_t>(shape.size(), 1));
}

SmallVector<ConvOp> perpend::graph::separateFewChannels(ConvOp conv) {
  if (!hasFewChannels(conv))
    return {conv};
  OpBuilder operations(conv);
  GraphBuilder builder(operations, conv.getLoc());
  Shape shape = shapeOf(conv.getResult());
  shape[1] = SymbolicInt(1);
  SmallVector<ConvOp> separate;
  SmallVector<Value> results;
  for (int64_t channel = 0; channel < static_cast<int64_t>(conv.getGroups()); ++channel) {
    Value input = oneOf(builder, conv.getInput(), 1, channel), filter = oneOf(builder, conv.getFilter(), 0, channel);
    auto single = cast<ConvOp>(operations.clone(*conv));
    single->setOperands({input, filter});
    single.setGroups(1);
    single.getResult().setType(tensorType(shape, tensorTypeOf(conv.getResult()).getElementType()));
    separate.push_back(single);
    results.push_back(single.getResult());
  }
  conv.replaceAllUsesWith(builder.concat(results, 1));
  conv.erase();
  return separate;
}
