//===- Generation.cpp - generates tokens with a decoder's graph -----------===//
//
// Shared by GreedySearch and BeamSearch: reading a prompt, and running the
// decoder for the next token.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/microsoft/Generation.h"

#include "frontend/onnx/Ranks.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

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
  Value mask = seen ? b.cast(b.cast(seen, b.operations.getI1Type()), b.i64()) : search.words;
  search.mask = b.concat({mask, b.splat({search.rows, search.longest - search.prompt}, 1, b.i64())}, 1);
  return search;
}

/// Empty caches, with the types of the graph's inputs.
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

std::optional<Results> decodeNext(Node &node, const Search &search, const GraphProto &graph, Value last, Value number,
                                  ArrayRef<Value> caches) {
  Builder &b = node.builder;
  SymbolicInt length = lengthAt(b, search.prompt, number);
  SmallVector<Value> known; // the loop does not know their lengths
  for (Value cache : caches)
    known.push_back(sliceAxis(b, cache, 3, SymbolicInt(0), length - SymbolicInt(1)));
  Value positions = graph::add(b, graph::sum(b, search.words, {1}, /*keepDims=*/true), number);
  return decode(node, search, graph, b.unsqueeze(last, {1}), positions, known, length);
}

Value withPlaces(Node &node, const Search &search, Value ids) {
  Builder &b = node.builder;
  double padding = static_cast<double>(node.attributes.getInt("pad_token_id"));
  return b.concat({ids, b.splat({search.rows, search.longest - search.prompt}, padding, graph::elementTypeOf(ids))}, 1);
}

graph::WordRules rulesOf(Node &node) {
  graph::WordRules rules;
  rules.repeated = node.attributes.getInt("no_repeat_ngram_size");
  rules.end = node.attributes.getInt("eos_token_id");
  rules.padding = node.attributes.getInt("pad_token_id");
  return rules;
}

Value lastScores(Node &node, Value logits) {
  return graph::lastScores(node.builder, logits, node.attributes.getInt("vocab_size", -1));
}

Value token(Node &node, StringRef attribute) {
  return node.builder.scalar(static_cast<double>(node.attributes.getInt(attribute)), node.builder.i64());
}

} // namespace perpend::onnx
