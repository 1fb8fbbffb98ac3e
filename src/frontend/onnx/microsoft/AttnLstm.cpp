//===- AttnLstm.cpp - an LSTM with attention over a memory ----------------===//
//
// AttnLSTM of the domain com.microsoft: each step concatenates the input with the attention vector of the previous
// step. That is the context read from the memory, or, with an attention layer, the projection of hidden state and
// context. Source: Bahdanau et al. (2015), "Neural machine translation by jointly learning to align and translate".
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
namespace {
/// The node's inputs by position.
enum Input : size_t {
  Sequence = 0,
  Weights,
  Recurrent,
  Bias,
  Lengths,
  FirstHidden,
  FirstCell,
  Peepholes,
  QueryWeights,
  MemoryWeights,
  Scores,
  Memory,
  MemoryLengths,
  ReadWeights
};

/// The memory of one direction: memory [batch, places, depth], its keys [batch, places, size], which places are valid
/// (null: all), and weights of the query, of the scores and of the result (null: none).
struct Attended {
  Value memory, keys, isThere, query, scores, read;
};
} // namespace

/// Direction `index` of an input; keeps the dimension.
static Value direction(Node &node, size_t input, int64_t index) {
  Value x = node.input(input);
  return x ? sliceAxis(node.builder, x, 0, SymbolicInt(index), SymbolicInt(1)) : x;
}
static Value directionOnly(Node &node, size_t input, int64_t index) {
  return node.builder.squeeze(direction(node, input, index), {0});
}

static Attended attendedOf(Node &node, int64_t index) {
  Builder &b = node.builder;
  Attended a;
  a.memory = node.input(Memory);
  a.keys = b.matmul(a.memory, directionOnly(node, MemoryWeights, index));
  a.query = directionOnly(node, QueryWeights, index);
  a.scores = directionOnly(node, Scores, index);
  a.read = node.input(ReadWeights) ? directionOnly(node, ReadWeights, index) : Value();
  if (Value lengths = node.input(MemoryLengths))
    a.isThere = call(b, "less", {iota(b, shapeOf(a.memory)[1], b.i64()), b.unsqueeze(b.cast(lengths, b.i64()), {1})});
  return a;
}

/// Reads the memory for a state [batch, hidden]: [batch, size].
static Value readMemory(Builder &b, const Attended &a, Value hidden) {
  Value query = b.unsqueeze(b.matmul(hidden, a.query), {1});
  Value products = graph::mul(b, call(b, "tanh", graph::add(b, a.keys, query)), a.scores);
  Value scores = products ? graph::sum(b, products, {2}, false) : products;
  if (a.isThere && scores)
    scores = graph::where(b, a.isThere, scores,
                          b.scalar(-std::numeric_limits<double>::infinity(), graph::elementTypeOf(scores)));
  Value shares = scores ? graph::softmax(b, scores, 1, false) : scores;
  if (!shares)
    return {};
  Value context = b.contract(shares, a.memory, {0}, {0}, {1}, {1});
  return a.read ? b.matmul(b.concat({hidden, context}, 1), a.read) : context;
}

/// The part of the node's lists that belongs to a direction.
static SmallVector<NamedAttribute> formOf(Node &node, int64_t index) {
  SmallVector<NamedAttribute> changes{node.attribute("direction", node.builder.operations.getStringAttr("forward"))};
  SmallVector<StringRef> names = node.attributes.getStrings("activations");
  constexpr int64_t perDirection = 3;
  if (static_cast<int64_t>(names.size()) >= (index + 1) * perDirection)
    changes.push_back(node.attribute("activations", node.builder.operations.getStrArrayAttr(
                                                        ArrayRef(names).slice(index * perDirection, perDirection))));
  return changes;
}

/// Runs one direction on a sequence [length, batch, size] in order. Results: all states, the last one, the last cell.
static Results runAttended(Node &node, Value sequence, int64_t index) {
  Builder &b = node.builder;
  Attended a = attendedOf(node, index);
  Value weights[] = {direction(node, Weights, index), direction(node, Recurrent, index), direction(node, Bias, index),
                     direction(node, Peepholes, index)};
  if (!a.keys || !a.query || !sequence || b.hasFailed())
    return {};
  Shape shape = shapeOf(sequence), states{SymbolicInt(1), shape[1], shapeOf(weights[1])[2]};
  Type type = graph::elementTypeOf(sequence);
  SymbolicInt width = a.read ? shapeOf(a.read)[1] : shapeOf(a.memory)[2];
  auto first = [&](size_t input) {
    return node.input(input) ? direction(node, input, index) : b.splat(states, 0, type);
  };
  Value initial[] = {b.broadcastTo(first(FirstHidden), states), b.broadcastTo(first(FirstCell), states),
                     b.splat({shape[1], width}, 0, type)};
  SmallVector<NamedAttribute> form = formOf(node, index);
  Value count = b.dims(shape[0], /*isScalar=*/true), lengths = b.cast(node.input(Lengths), b.i64());
  return b.loop({count, {}}, initial, [&](Value step, ValueRange last) -> Iteration {
    Value x = b.concat({b.gather(sequence, step, 0), last[2]}, 1);
    Results next = node.composite(
        "lstm", {b.unsqueeze(x, {0}), weights[0], weights[1], weights[2], Value(), last[0], last[1], weights[3]}, form);
    if (next.size() < 3 || !next[0])
      return {};
    Value hidden = next[1], cell = next[2], shown = hidden;
    if (lengths) {
      Value goesOn = b.unsqueeze(call(b, "less", {step, lengths}), {1});
      shown = graph::where(b, goesOn, hidden, b.scalar(0, type));
      hidden = graph::where(b, goesOn, hidden, last[0]);
      cell = graph::where(b, goesOn, cell, last[1]);
    }
    return {{}, {hidden, cell, readMemory(b, a, b.squeeze(hidden, {0}))}, {shown}};
  });
}

/// Reverses each sequence of [length, batch, ..] up to its end.
static Value reversed(Node &node, Value x) {
  Builder &b = node.builder;
  if (!x)
    return {};
  Value lengths = node.input(Lengths);
  if (!lengths)
    lengths = b.broadcastTo(number(b, shapeOf(x)[0], b.i64()), {shapeOf(x)[1]});
  NamedAttribute axes[] = {node.attribute("time_axis", b.operations.getI64IntegerAttr(0)),
                           node.attribute("batch_axis", b.operations.getI64IntegerAttr(1))};
  return call(b, "reverse_sequence", {x, b.cast(lengths, b.i64())}, Attributes(b.context(), axes));
}

static bool checkInputs(Node &node) {
  for (size_t index : {Sequence, Weights, Recurrent, QueryWeights, MemoryWeights, Scores, Memory})
    if (!node.input(index))
      return node.fail("the input " + Twine(index) + " is missing"), false;
  return hasRanks(node, {{Sequence, 3},
                         {Weights, 3},
                         {Recurrent, 3},
                         {Bias, 2},
                         {Lengths, 1},
                         {FirstHidden, 3},
                         {FirstCell, 3},
                         {Peepholes, 2},
                         {QueryWeights, 3},
                         {MemoryWeights, 3},
                         {Scores, 2},
                         {Memory, 3},
                         {MemoryLengths, 1},
                         {ReadWeights, 3}});
}

/// Results: all states [length, directions, batch, hidden], the last states and cells [directions, batch, hidden].
Results importAttnLSTM(Node &node) {
  if (!checkInputs(node))
    return {};
  Builder &b = node.builder;
  StringRef name = node.attributes.getString("direction", "forward");
  bool isBoth = name == "bidirectional";
  if (!isBoth && name != "forward" && name != "reverse")
    return node.fail("expected the direction forward, reverse or bidirectional, got '" + name + "'");
  if (isBoth && (node.attributes.has("activation_alpha") || node.attributes.has("activation_beta")))
    return node.fail("activation_alpha and activation_beta of two directions are not supported");
  Value sequence = node.input(Sequence);
  SmallVector<Value> all, hidden, cells;
  for (int64_t index = 0; index < (isBoth ? 2 : 1); ++index) {
    bool isBackwards = name == "reverse" || index == 1;
    Results results = runAttended(node, isBackwards ? reversed(node, sequence) : sequence, index);
    if (results.size() < 4 || b.hasFailed())
      return {};
    Value states = b.squeeze(results[3], {1});
    all.push_back(b.unsqueeze(isBackwards ? reversed(node, states) : states, {1}));
    hidden.push_back(results[0]);
    cells.push_back(results[1]);
  }
  return {b.concat(all, 1), b.concat(hidden, 0), b.concat(cells, 0)};
}
} // namespace perpend::onnx
