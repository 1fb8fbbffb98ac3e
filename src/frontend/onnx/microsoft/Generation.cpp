//===- Generation.cpp - tokens from a decoder's graph ---------------------===//
//
// GreedySearch of the domain com.microsoft: a loop around a graph that gives
// the scores of the next token and the keys and values of the tokens so far.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
namespace {
/// What stays the same from token to token.
struct Search {
  SymbolicInt batch, prompt, longest;
  /// Integers [batch, longest]: 1 for tokens that are seen, also for those to come.
  Value mask;
  /// Integers [batch, prompt]: 1 for words, 0 for padding; only words have a position.
  Value words;
};

/// What a step hands to the next.
struct Step {
  /// Integers [batch, longest], with padding behind the tokens so far.
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

/// Inputs of a decoder's graph before those of its caches: ids, positions, mask.
constexpr size_t firstCache = 3;
} // namespace

static Value booleans(Builder &b, Value x) { return x ? b.cast(x, b.operations.getI1Type()) : x; }

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Scores [batch, words] of words that are in the first `length` tokens multiplied by the penalty where they are
/// negative, else divided by it.
static Value penalised(Builder &b, Value scores, Value penalty, Value tokens, const SymbolicInt &length) {
  if (!penalty)
    return scores;
  Value words = b.cast(sliceAxis(b, tokens, 1, SymbolicInt(0), length), b.i64());
  if (!words || !scores)
    return {};
  Shape places = shapeOf(words);
  Value rows = b.broadcastTo(b.unsqueeze(iota(b, places[0], b.i64()), {1}), places);
  Value ones = b.splat(places, 1, b.operations.getI32Type());
  Value counts = b.scatter(b.splat(shapeOf(scores), 0, b.operations.getI32Type()),
                           b.concat({b.unsqueeze(rows, {2}), b.unsqueeze(words, {2})}, 2), ones);
  Value factor = b.cast(b.reshape(penalty, {}), graph::elementTypeOf(scores));
  Value changed =
      pointwise(b, {scores, factor}, [](ArrayRef<Scalar> v) { return select(v[0] < 0, v[0] * v[1], v[0] / v[1]); });
  return graph::where(b, booleans(b, counts), changed, scores);
}

static double leastOf(Type type) {
  return -APFloat::getLargest(cast<FloatType>(type).getFloatSemantics()).convertToDouble();
}

/// The least number where a mask of integers is 0, or where a boolean says so.
static Value without(Builder &b, Value scores, Value isHidden) {
  if (!isHidden || !scores)
    return scores;
  Type type = graph::elementTypeOf(scores);
  return graph::where(b, isHidden, b.scalar(leastOf(type), type), scores);
}
static Value withoutZeros(Builder &b, Value scores, Value mask) {
  return mask ? without(b, scores, call(b, "logical_not", booleans(b, mask))) : scores;
}

/// The scores [batch, words] as the node's inputs and attributes change them, for the token behind `length` others.
static Value processed(Node &node, Value scores, Value tokens, const SymbolicInt &length, bool isFirst) {
  Builder &b = node.builder;
  scores = penalised(b, scores, node.input(3), tokens, length);
  if (int64_t size = node.attributes.getInt("no_repeat_ngram_size"); size > 0 && scores) {
    Node block{b,
               node.proto,
               {sliceAxis(b, tokens, 1, SymbolicInt(0), length), scores},
               Attributes(b.context(), node.attribute("ngram_size", b.operations.getI64IntegerAttr(size))),
               node.freedDimensions,
               node.subgraphs};
    Results blocked = importNGramRepeatBlock(block);
    // Words that repeat are as unlikely as words that a mask hides, and no more: one of them may be all that is left.
    scores = blocked.empty() || !blocked[0] ? Value() : pointwise(b, {blocked[0]}, [&](ArrayRef<Scalar> v) {
      Scalar least = v[0].constant(leastOf(graph::elementTypeOf(blocked[0])));
      return select(v[0] < least, least, v[0]);
    });
  }
  scores = withoutZeros(b, scores, node.input(4));
  if (isFirst)
    scores = withoutZeros(b, scores, node.input(5));
  if (!node.input(2) || !scores)
    return scores;
  Value end = b.scalar(static_cast<double>(node.attributes.getInt("eos_token_id")), b.i64());
  Value isEnd = call(b, "equal", {iota(b, shapeOf(scores)[1], b.i64()), end});
  Value isEarly = call(b, "less", {number(b, length, b.i64()), b.cast(b.reshape(node.input(2), {}), b.i64())});
  return without(b, scores, call(b, "logical_and", {isEnd, isEarly}));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The decoder's results for ids [batch, n] behind others, `length` tokens in all: logits and caches.
static std::optional<Results> decode(Node &node, const Search &search, const GraphProto &graph, Value ids,
                                     Value positions, ArrayRef<Value> caches, const SymbolicInt &length) {
  Builder &b = node.builder;
  SmallVector<Value> inputs{ids, positions, sliceAxis(b, search.mask, 1, SymbolicInt(0), length)};
  llvm::append_range(inputs, caches);
  for (size_t i = 0; i < firstCache && !b.hasFailed(); ++i)
    if (Type type = onnx::elementTypeOf(b.context(), graph.inputs[i].elementType))
      inputs[i] = b.cast(inputs[i], type);
  if (b.hasFailed())
    return std::nullopt;
  std::optional<Results> results = node.subgraphs.importSubgraph(graph, inputs);
  if (results && (!results->front() || rankOf(results->front()) != 3))
    return node.fail("expected logits [batch, length, words] as the first output of its decoder"
                     "\nhint: correct the order of the graph's outputs: the logits, then the caches"),
           std::nullopt;
  return results;
}

/// The scores [batch, words] of the last position. A decoder may give more than the vocabulary's, as padding.
static Value lastScores(Node &node, Value logits) {
  Builder &b = node.builder;
  Shape shape = shapeOf(logits);
  int64_t given = node.attributes.getInt("vocab_size", -1);
  SymbolicInt words = given > 0 ? SymbolicInt(given) : shape[2];
  b.require(shape[2] - words, "expected a vocab_size of at most the words of the decoder's logits, which are " +
                                  shape[2].str() + ", got " + words.str());
  Value last = b.squeeze(sliceAxis(b, logits, 1, shape[1] - SymbolicInt(1), SymbolicInt(1)), {1});
  return b.hasFailed() ? Value() : sliceAxis(b, last, 1, SymbolicInt(0), words);
}

/// The step behind one with `length` tokens, from what the decoder gave for the last of them.
static Step nextStep(Node &node, const Search &search, ArrayRef<Value> decoded, const Step &before,
                     const SymbolicInt &length, bool isFirst) {
  Builder &b = node.builder;
  Value scores = lastScores(node, decoded[0]);
  if (!scores)
    return {};
  requireShape(b, node.input(4), "vocab_mask", {shapeOf(scores)[1]});
  requireShape(b, node.input(5), "prefix_vocab_mask", shapeOf(scores));
  scores = processed(node, scores, before.tokens, length, isFirst);
  auto form = Attributes(b.context(), {node.attribute("axis", b.operations.getI64IntegerAttr(1)),
                                       node.attribute("keepdims", b.operations.getI64IntegerAttr(0))});
  Value best = scores ? applyComposite(b, "argmax", {scores}, form)[0] : scores;
  auto constant = [&](StringRef name) { return b.scalar(static_cast<double>(node.attributes.getInt(name)), b.i64()); };
  Value ends = call(b, "equal", {best, constant("eos_token_id")});
  Value hasEnded = before.hasEnded ? call(b, "logical_or", {before.hasEnded, ends}) : ends;
  Type type = graph::elementTypeOf(before.tokens);
  Value last = b.cast(graph::where(b, hasEnded, constant("pad_token_id"), best), type);
  Value isPlace = call(b, "equal", {iota(b, search.longest, b.i64()), number(b, length, b.i64())});
  Value tokens = last ? graph::where(b, isPlace, b.unsqueeze(last, {1}), before.tokens) : last;
  return {tokens, last, hasEnded, SmallVector<Value>(decoded.drop_front())};
}

/// A boolean: whether some sequence goes on.
static Value goesOn(Builder &b, Value hasEnded) {
  Value isOpen = call(b, "logical_not", hasEnded);
  return isOpen ? b.reduce(ReductionKind::Max, isOpen, 0, false) : isOpen;
}

/// Caches without tokens, of the types that the graph's inputs say.
static std::optional<SmallVector<Value>> emptyCaches(Node &node, const Search &search, const GraphProto &graph) {
  Builder &b = node.builder;
  SmallVector<Value> caches;
  for (const ValueInfo &input : ArrayRef(graph.inputs).drop_front(firstCache)) {
    bool isKnown = input.dims && input.dims->size() == 5 && (*input.dims)[2].value && (*input.dims)[4].value;
    Type type = onnx::elementTypeOf(b.context(), input.elementType);
    if (!isKnown || !type)
      return node.fail("expected caches [2, batch, heads, length, size] with known numbers as inputs of the decoder "
                       "from the fourth on, got '" +
                       input.name +
                       "'\nhint: declare its shape in the decoder, with the numbers of heads and of their size"),
             std::nullopt;
    caches.push_back(b.splat({SymbolicInt(2), search.batch, SymbolicInt(*(*input.dims)[2].value), SymbolicInt(0),
                              SymbolicInt(*(*input.dims)[4].value)},
                             0, type));
  }
  return caches;
}

/// The step behind the prompt.
static std::optional<Step> firstStep(Node &node, const Search &search, const GraphProto &graph, Value ids) {
  Builder &b = node.builder;
  std::optional<SmallVector<Value>> caches = emptyCaches(node, search, graph);
  if (!caches)
    return std::nullopt;
  Value ordinal = graph::sub(b, b.scan(ReductionKind::Sum, search.words, 1), b.scalar(1, b.i64()));
  Value positions = graph::mul(b, search.words, ordinal);
  std::optional<Results> decoded = decode(node, search, graph, ids, positions, *caches, search.prompt);
  if (!decoded)
    return std::nullopt;
  Type type = graph::elementTypeOf(ids);
  double padding = static_cast<double>(node.attributes.getInt("pad_token_id"));
  Value rest = b.splat({search.batch, search.longest - search.prompt}, padding, type);
  Step before{b.concat({ids, rest}, 1), {}, {}, {}};
  return nextStep(node, search, *decoded, before, search.prompt, /*isFirst=*/true);
}

/// The tokens [batch, longest] after the step and those behind it.
static Value generate(Node &node, const Search &search, const GraphProto &graph, const Step &first) {
  Builder &b = node.builder;
  Value limit = b.dims(search.longest - search.prompt - SymbolicInt(1), /*isScalar=*/true);
  Value condition = goesOn(b, first.hasEnded);
  if (b.hasFailed())
    return {};
  SmallVector<Value> results = b.loop({limit, condition}, first.all(), [&](Value number, ValueRange carried) {
    SymbolicInt length = search.prompt + b.measure(number, "generated");
    Step before{carried[0], carried[1], carried[2], {}};
    for (Value cache : carried.drop_front(before.all().size())) // how long they are is known, unlike to the loop
      before.caches.push_back(sliceAxis(b, cache, 3, SymbolicInt(0), length));
    Value positions = graph::add(b, graph::sum(b, search.words, {1}, /*keepDims=*/true), number);
    SymbolicInt now = length + SymbolicInt(1);
    auto decoded = decode(node, search, graph, b.unsqueeze(before.last, {1}), positions, before.caches, now);
    if (!decoded)
      return Iteration();
    Step next = nextStep(node, search, *decoded, before, now, /*isFirst=*/false);
    if (b.hasFailed())
      return Iteration();
    return Iteration{goesOn(b, next.hasEnded), next.all(), {}};
  });
  return results.empty() ? Value() : results[0];
}

//===----------------------------------------------------------------------===//
// GreedySearch
//===----------------------------------------------------------------------===//

/// Whether the graph is a decoder as GPT-2's: ids, positions, mask and caches to logits and caches.
static bool isDecoder(Node &node, const GraphProto &graph) {
  size_t caches = graph.inputs.size() - std::min(graph.inputs.size(), firstCache);
  bool fits = graph.inputs.size() >= firstCache && graph.outputs.size() == caches + 1;
  if (!fits)
    node.fail(
        "expected a decoder from ids, positions, a mask and caches to logits and as many caches, got " +
        Twine(graph.inputs.size()) + " inputs and " + Twine(graph.outputs.size()) +
        " outputs\nhint: export the decoder as ONNX Runtime's GreedySearch takes it, with one cache for each layer");
  return fits;
}

/// The lengths, and what is seen of the prompt: what the mask says, or all but padding.
static std::optional<Search> readSearch(Node &node) {
  Builder &b = node.builder;
  Value ids = node.input(0);
  Search search{shapeOf(ids)[0], shapeOf(ids)[1], b.measure(node.input(1), "max_length"), {}, {}};
  if (b.hasFailed())
    return std::nullopt;
  b.require(search.longest - search.prompt - SymbolicInt(1), "max_length is not more than the tokens of input_ids");
  b.require(search.prompt - SymbolicInt(1), "input_ids: expected at least one token");
  requireShape(b, node.input(6), "attention_mask", shapeOf(ids));
  double padding = static_cast<double>(node.attributes.getInt("pad_token_id"));
  Value isWord = call(b, "not_equal", {ids, b.scalar(padding, graph::elementTypeOf(ids))});
  if (!isWord)
    return std::nullopt;
  search.words = b.cast(isWord, b.i64());
  Value mask = node.input(6) ? b.cast(booleans(b, node.input(6)), b.i64()) : search.words;
  search.mask = b.concat({mask, b.splat({search.batch, search.longest - search.prompt}, 1, b.i64())}, 1);
  return search;
}

/// in: ids [batch, length], the length to reach, the least length, a penalty of words that are there, words that may be
/// used [words], that may come first [batch, words], what is seen of the ids [batch, length]. Result: [batch, longest],
/// with padding behind the end of a sequence. Source: GreedySearch of ONNX Runtime.
Results importGreedySearch(Node &node) {
  if (!node.hasInputs(2) || !hasRanks(node, {{0, 2}, {4, 1}, {5, 2}, {6, 2}}))
    return {};
  if (node.attributes.getInt("model_type"))
    return node.fail("expected the model_type 0, a decoder without an encoder, got " +
                     Twine(node.attributes.getInt("model_type")) +
                     "\nhint: export the encoder and the step of the decoder as two models, and loop over the tokens "
                     "in the program");
  bool hasOther = llvm::any_of(node.proto.attributes, [](auto &a) { return a.name == "init_decoder"; });
  const GraphProto *decoder = node.graph("decoder"), *first = hasOther ? node.graph("init_decoder") : decoder;
  if (!decoder || !first || !isDecoder(node, *decoder) || !isDecoder(node, *first))
    return {};
  std::optional<Search> search = readSearch(node);
  std::optional<Step> step = search ? firstStep(node, *search, *first, node.input(0)) : std::nullopt;
  return {step ? generate(node, *search, *decoder, *step) : Value()};
}
} // namespace perpend::onnx
