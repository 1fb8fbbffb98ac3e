//===- GreedySearch.cpp - generates the best token at each step -----------===//
//
// GreedySearch of the domain com.microsoft: a loop around a graph that returns
// the scores of the next token and the keys and values of the tokens so far.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/microsoft/Generation.h"

#include "frontend/onnx/Ranks.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
namespace {
/// The loop's state.
struct Step {
  /// Integers [batch, longest]; padding follows the tokens so far.
  Value tokens;
  /// The last tokens [batch], and which sequences have ended.
  Value last, hasEnded;
  /// Per layer: [2, batch, heads, length, size].
  SmallVector<Value> caches;

  SmallVector<Value> all() const {
    SmallVector<Value> values{tokens, last, hasEnded};
    llvm::append_range(values, caches);
    return values;
  }
};
} // namespace

/// The state after a step on `length` tokens; `decoded` is the decoder's result for the last of them.
static Step nextStep(Node &node, const Search &search, ArrayRef<Value> decoded, const Step &before,
                     const SymbolicInt &length, bool isFirst) {
  Builder &b = node.builder;
  WordRules rules = rulesOf(node);
  rules.leastLength = node.input(2);
  rules.penalty = node.input(3);
  rules.mask = node.input(4);
  rules.firstMask = node.input(5);
  Value scores = ruledScores(b, rules, lastScores(node, decoded[0]), before.tokens, length, isFirst);
  auto form = Attributes(b.context(), {node.attribute("axis", b.operations.getI64IntegerAttr(1)),
                                       node.attribute("keepdims", b.operations.getI64IntegerAttr(0))});
  Value best = scores ? applyComposite(b, "argmax", {scores}, form)[0] : scores;
  Value ends = call(b, "equal", {best, token(node, "eos_token_id")});
  Value hasEnded = before.hasEnded ? call(b, "logical_or", {before.hasEnded, ends}) : ends;
  Type type = graph::elementTypeOf(before.tokens);
  Value last = b.cast(graph::where(b, hasEnded, token(node, "pad_token_id"), best), type);
  return {withToken(b, search.longest, before.tokens, last, length), last, hasEnded,
          SmallVector<Value>(decoded.drop_front())};
}

/// Runs the remaining steps; returns the tokens [batch, longest].
static Value generate(Node &node, const Search &search, const GraphProto &graph, const Step &first) {
  Builder &b = node.builder;
  Value limit = b.dims(search.longest - search.prompt - SymbolicInt(1), /*isScalar=*/true);
  Value condition = goesOn(b, first.hasEnded);
  if (b.hasFailed())
    return {};
  SmallVector<Value> results = b.loop({limit, condition}, first.all(), [&](Value number, ValueRange carried) {
    Step before{carried[0], carried[1], carried[2], {}};
    SmallVector<Value> caches(carried.drop_front(before.all().size()));
    auto decoded = decodeNext(node, search, graph, before.last, number, caches);
    if (!decoded)
      return Iteration();
    Step next = nextStep(node, search, *decoded, before, lengthAt(b, search.prompt, number), /*isFirst=*/false);
    if (b.hasFailed())
      return Iteration();
    return Iteration{goesOn(b, next.hasEnded), next.all(), {}};
  });
  return results.empty() ? Value() : results[0];
}

/// in: ids [batch, length], maximal length, minimal length, repetition penalty, words allowed [words], words allowed at
/// first [batch, words], attention mask of the ids [batch, length]. Result: [batch, longest]; padding follows the end
/// of a sequence. Source: GreedySearch of ONNX Runtime.
Results importGreedySearch(Node &node) {
  if (!node.hasInputs(2) || !hasRanks(node, {{0, 2}, {4, 1}, {5, 2}, {6, 2}}))
    return {};
  if (node.attributes.getInt("model_type"))
    return node.fail("expected the model_type 0, a decoder without an encoder, got " +
                     Twine(node.attributes.getInt("model_type")) +
                     "\nhint: export the encoder and the step of the decoder as two models, and loop over the tokens "
                     "in the program");
  const GraphProto *decoder = node.graph("decoder"), *first = firstDecoder(node);
  if (!decoder || !first || !isDecoder(node, *decoder))
    return {};
  std::optional<Search> search = readSearch(node, node.input(6));
  auto decoded = search ? decodePrompt(node, *search, *first, node.input(0)) : std::nullopt;
  if (!decoded)
    return {};
  Step before{withPlaces(node, *search, node.input(0)), {}, {}, {}};
  Step step = nextStep(node, *search, *decoded, before, search->prompt, /*isFirst=*/true);
  return {generate(node, *search, *decoder, step)};
}
} // namespace perpend::onnx
