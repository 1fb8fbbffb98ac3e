//===- Lists.cpp - ONNX operators on sequences ----------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/SequenceTypes.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// The body's outputs for the elements at a position; inputs that are tensors are the same for all.
static std::optional<Results> mapElement(Node &node, const GraphProto &body, Value position) {
  SmallVector<Value> inputs;
  for (Value input : node.inputs)
    inputs.push_back(sequenceTypeOf(input) ? listElement(node.builder, input, position) : input);
  if (llvm::is_contained(inputs, Value()))
    return std::nullopt;
  return node.subgraphs.importSubgraph(body, inputs);
}

/// Returns one list per output of the body.
Results importSequenceMap(Node &node) {
  const GraphProto *body = node.graph("body");
  Builder &b = node.builder;
  if (!body || !sequenceTypeOf(node.input(0)) || llvm::is_contained(node.inputs, Value()))
    return node.fail("expected a sequence and a body");
  size_t outputs = body->outputs.size();
  SmallVector<Value> lists;
  for (size_t i = 0; i < outputs; ++i)
    lists.push_back(makeList(b, {}));
  auto insert = [&](ArrayRef<Value> into, ArrayRef<Value> elements) {
    SmallVector<Value> longer;
    for (auto [list, element] : llvm::zip_equal(into, elements))
      longer.push_back(applyComposite(b, "sequence_insert", {list, element})[0]);
    return longer;
  };
  if (std::optional<SmallVector<Value>> known = listElements(node.input(0))) {
    for (size_t i = 0; i < known->size(); ++i) {
      std::optional<Results> elements = mapElement(node, *body, b.dims(SymbolicInt(static_cast<int64_t>(i)), true));
      if (!elements)
        return {};
      lists = insert(lists, *elements);
    }
    return Results(lists);
  }
  return Results(b.loop({listLength(b, node.input(0)), {}}, lists, [&](Value number, ValueRange carried) {
    Iteration iteration;
    if (std::optional<Results> elements = mapElement(node, *body, number))
      iteration.carried = insert(SmallVector<Value>(carried), *elements);
    return iteration;
  }));
}
} // namespace perpend::onnx
