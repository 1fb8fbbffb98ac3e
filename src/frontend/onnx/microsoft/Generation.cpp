//===- Generation.cpp - tokens from a decoder's graph ---------------------===//
//
// What GreedySearch and BeamSearch share: how they read a prompt, run their
// decoder for the next token, and change the scores of words.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/microsoft/Generation.h"

#include "frontend/onnx/Ranks.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Value booleans(Builder &b, Value x) { return x ? b.cast(x, b.operations.getI1Type()) : x; }

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Scores [rows, words] of words that are in the first `length` tokens multiplied by the penalty where they are
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

/// The end is hidden where there are less tokens than the rules want.
static Value withoutEarlyEnd(Node &node, const ScoreRules &rules, Value scores, const SymbolicInt &length) {
  if (!rules.leastLength || !scores)
    return scores;
  Builder &b = node.builder;
  Value isEnd = call(b, "equal", {iota(b, shapeOf(scores)[1], b.i64()), token(node, "eos_token_id")});
  Value isEarly = call(b, "less", {number(b, length, b.i64()), b.cast(b.reshape(rules.leastLength, {}), b.i64())});
  return without(b, scores, call(b, "logical_and", {isEnd, isEarly}));
}

static Value cooled(Builder &b, Value scores, Value temperature) {
  return temperature && scores ? graph::div(b, scores, castLike(b, b.reshape(temperature, {}), scores)) : scores;
}

Value processed(Node &node, const ScoreRules &rules, Value scores, Value tokens, const SymbolicInt &length,
                bool isFirst) {
  Builder &b = node.builder;
  if (scores) {
    requireShape(b, rules.mask, "vocab_mask", {shapeOf(scores)[1]});
    requireShape(b, isFirst ? rules.firstMask : Value(), "prefix_vocab_mask", shapeOf(scores));
  }
  scores = penalised(b, scores, rules.penalty, tokens, length);
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
  scores = withoutZeros(b, scores, rules.mask);
  if (isFirst)
    scores = withoutZeros(b, scores, rules.firstMask);
  return cooled(b, withoutEarlyEnd(node, rules, scores, length), rules.temperature);
}

//===----------------------------------------------------------------------===//
// The decoder
//===----------------------------------------------------------------------===//

bool isDecoder(Node &node, const GraphProto &graph) {
  size_t caches = graph.inputs.size() - std::min(graph.inputs.size(), firstCache);
  bool fits = graph.inputs.size() >= firstCache && graph.outputs.size() == caches + 1;
  if (!fits)
    node.fail("expected a decoder from ids, positions, a mask and caches to logits and as many caches, got " +
              Twine(graph.inputs.size()) + " inputs and " + Twine(graph.outputs.size()) +
              " outputs\nhint: export the decoder as ONNX Runtime's " + node.proto.operation +
              " takes it, with one cache for each layer");
  return fits;
}

const GraphProto *firstDecoder(Node &node) {
  bool hasOther = llvm::any_of(node.proto.attributes, [](auto &a) { return a.name == "init_decoder"; });
  const GraphProto *graph = node.graph(hasOther ? "init_decoder" : "decoder");
  return graph && isDecoder(node, *graph) ? graph : nullptr;
}

std::optional<Search> readSearch(Node &node, Value seen) {
  Builder &b = node.builder;
  Value ids = node.input(0);
  Search search{shapeOf(ids)[0], shapeOf(ids)[1], b.measure(node.input(1), "max_length"), {}, {}};
  if (b.hasFailed())
    return std::nullopt;
  b.require(search.longest - search.prompt - SymbolicInt(1), "max_length is not more than the tokens of input_ids");
  b.require(search.prompt - SymbolicInt(1), "input_ids: expected at least one token");
  requireShape(b, seen, "attention_mask", shapeOf(ids));
  Value isWord = call(b, "not_equal", {ids, b.cast(token(node, "pad_token_id"), graph::elementTypeOf(ids))});
  if (!isWord)
    return std::nullopt;
  search.words = b.cast(isWord, b.i64());
  Value mask = seen ? b.cast(booleans(b, seen), b.i64()) : search.words;
  search.mask = b.concat({mask, b.splat({search.rows, search.longest - search.prompt}, 1, b.i64())}, 1);
  return search;
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
    caches.push_back(b.splat({SymbolicInt(2), search.rows, SymbolicInt(*(*input.dims)[2].value), SymbolicInt(0),
                              SymbolicInt(*(*input.dims)[4].value)},
                             0, type));
  }
  return caches;
}

bool areDecoded(Node &node, ArrayRef<Value> results, int64_t cacheRank) {
  auto hasRank = [](Value x, int64_t rank) { return x && rankOf(x) == rank; };
  bool are = !results.empty() && hasRank(results[0], 3) &&
             llvm::all_of(results.drop_front(), [&](Value cache) { return hasRank(cache, cacheRank); });
  if (!are)
    node.fail("expected logits [batch, length, words] as the first output of its decoder, and caches of " +
              Twine(cacheRank) +
              " dimensions\nhint: correct the order of the graph's outputs: the logits, then the caches");
  return are;
}

std::optional<Results> decode(Node &node, const Search &search, const GraphProto &graph, Value ids, Value positions,
                              ArrayRef<Value> caches, const SymbolicInt &length) {
  Builder &b = node.builder;
  SmallVector<Value> inputs{ids, positions, sliceAxis(b, search.mask, 1, SymbolicInt(0), length)};
  llvm::append_range(inputs, caches);
  for (size_t i = 0; i < firstCache && !b.hasFailed(); ++i)
    if (Type type = onnx::elementTypeOf(b.context(), graph.inputs[i].elementType))
      inputs[i] = b.cast(inputs[i], type);
  if (b.hasFailed())
    return std::nullopt;
  std::optional<Results> results = node.subgraphs.importSubgraph(graph, inputs);
  return results && areDecoded(node, *results, 5) ? results : std::nullopt;
}

std::optional<Results> decodePrompt(Node &node, const Search &search, const GraphProto &graph, Value ids) {
  Builder &b = node.builder;
  std::optional<SmallVector<Value>> caches = emptyCaches(node, search, graph);
  if (!caches)
    return std::nullopt;
  Value ordinal = graph::sub(b, b.scan(ReductionKind::Sum, search.words, 1), b.scalar(1, b.i64()));
  return decode(node, search, graph, ids, graph::mul(b, search.words, ordinal), *caches, search.prompt);
}

SymbolicInt lengthAt(Builder &b, const SymbolicInt &prompt, Value number) {
  return prompt + b.measure(number, "generated") + SymbolicInt(1);
}

std::optional<Results> decodeNext(Node &node, const Search &search, const GraphProto &graph, Value last, Value number,
                                  ArrayRef<Value> caches) {
  Builder &b = node.builder;
  SymbolicInt length = lengthAt(b, search.prompt, number);
  SmallVector<Value> known; // how long they are is unknown to the loop
  for (Value cache : caches)
    known.push_back(sliceAxis(b, cache, 3, SymbolicInt(0), length - SymbolicInt(1)));
  Value positions = graph::add(b, graph::sum(b, search.words, {1}, /*keepDims=*/true), number);
  return decode(node, search, graph, b.unsqueeze(last, {1}), positions, known, length);
}

/// A decoder may give more scores than the vocabulary's, as padding.
Value lastScores(Node &node, Value logits) {
  Builder &b = node.builder;
  Shape shape = shapeOf(logits);
  int64_t given = node.attributes.getInt("vocab_size", -1);
  SymbolicInt words = given > 0 ? SymbolicInt(given) : shape[2];
  b.require(shape[2] - words, "expected a vocab_size of at most the words of the decoder's logits, which are " +
                                  shape[2].str() + ", got " + words.str());
  Value last = b.squeeze(sliceAxis(b, logits, 1, shape[1] - SymbolicInt(1), SymbolicInt(1)), {1});
  return b.hasFailed() ? Value() : sliceAxis(b, last, 1, SymbolicInt(0), words);
}

Value withPlaces(Node &node, const Search &search, Value ids) {
  Builder &b = node.builder;
  double padding = static_cast<double>(node.attributes.getInt("pad_token_id"));
  return b.concat({ids, b.splat({search.rows, search.longest - search.prompt}, padding, graph::elementTypeOf(ids))}, 1);
}

Value withToken(Builder &b, const SymbolicInt &longest, Value tokens, Value last, const SymbolicInt &length) {
  Value isPlace = call(b, "equal", {iota(b, longest, b.i64()), number(b, length, b.i64())});
  return last ? graph::where(b, isPlace, b.unsqueeze(last, {1}), tokens) : last;
}

Value token(Node &node, StringRef attribute) {
  return node.builder.scalar(static_cast<double>(node.attributes.getInt(attribute)), node.builder.i64());
}

Value goesOn(Builder &b, Value hasEnded) {
  Value isOpen = call(b, "logical_not", hasEnded);
  return isOpen ? b.reduce(ReductionKind::Max, isOpen, 0, false) : isOpen;
}

} // namespace perpend::onnx
