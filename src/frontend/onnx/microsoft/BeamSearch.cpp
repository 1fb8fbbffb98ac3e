//===- BeamSearch.cpp - beam search for text and speech -------------------===//
//
// BeamSearch and WhisperBeamSearch of the domain com.microsoft. Either there is a decoder alone, as in GPT-2, or an
// encoder and a decoder, as in T5 (text) or Whisper (speech). A decoder that follows an encoder has two kinds of
// caches of keys and values: growing ones for its own tokens, and fixed ones for the encoder's output.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "frontend/onnx/microsoft/Generation.h"
#include "graph/composites/Beams.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {
/// The values of `model_type`.
enum : int64_t { decoderAlone, textEncoder, speechEncoder };

/// Reads the parameters of beam search from a node. Errors: nullopt.
static std::optional<Beams> readBeams(Node &node, const Search &prompts, int64_t rowAxis) {
  Builder &b = node.builder;
  Beams search;
  search.batch = prompts.rows;
  search.beams = b.measure(node.input(3), "num_beams");
  search.returned = b.measure(node.input(4), "num_return_sequences");
  if (b.hasFailed())
    return std::nullopt;
  b.require(search.beams - SymbolicInt(1), "num_beams: expected at least one");
  b.require(search.returned - SymbolicInt(1), "num_return_sequences: expected at least one");
  b.require(search.beams - search.returned, "num_return_sequences: expected at most num_beams, which is " +
                                                search.beams.str() + ", got " + search.returned.str());
  if (b.hasFailed())
    return std::nullopt;
  search.rows = search.batch * search.beams;
  search.prompt = prompts.prompt;
  search.longest = prompts.longest;
  search.rowAxis = rowAxis;
  Value penalty = node.input(5);
  search.lengthPenalty = penalty ? b.cast(b.reshape(penalty, {}), b.f32()) : b.scalar(1, b.f32());
  search.rules = rulesOf(node);
  search.rules.leastLength = node.input(2);
  search.rules.penalty = node.input(6);
  search.rules.temperature = node.input(14);
  search.rules.mask = node.input(7);
  search.rules.firstMask = node.input(8);
  search.vocabulary = node.attributes.getInt("vocab_size", -1);
  search.endsEarly = node.attributes.getInt("early_stopping") == 1;
  search.wantsScores = node.proto.outputs.size() > 2 && !node.proto.outputs[2].empty();
  return search;
}

//===----------------------------------------------------------------------===//
// A decoder alone
//===----------------------------------------------------------------------===//

static Results searchAlone(Node &node) {
  Builder &b = node.builder;
  const GraphProto *decoder = node.graph("decoder"), *first = firstDecoder(node);
  if (!decoder || !first || !isDecoder(node, *decoder))
    return {};
  std::optional<Search> prompts = readSearch(node, node.input(9));
  std::optional<Beams> search = prompts ? readBeams(node, *prompts, /*rowAxis=*/1) : std::nullopt;
  auto decoded = search ? decodePrompt(node, *prompts, *first, node.input(0)) : std::nullopt;
  if (!decoded)
    return {};
  Prompts begin{withPlaces(node, *prompts, node.input(0)), decoded->front(), {}};
  begin.caches.append(decoded->begin() + 1, decoded->end());
  Search rows{search->rows, prompts->prompt, prompts->longest, repeated(b, prompts->mask, 0, search->beams),
              repeated(b, prompts->words, 0, search->beams)};
  return searchBeams(b, *search, begin, [&](const Continuation &at) {
    return decodeNext(node, rows, *decoder, at.last, at.number, at.caches);
  });
}

//===----------------------------------------------------------------------===//
// A decoder after an encoder
//===----------------------------------------------------------------------===//

namespace {
/// Inputs of the encoder and the decoder, by name.
using Named = llvm::StringMap<Value>;

/// The encoder's inputs and outputs.
struct Encoded {
  Named values;
  /// [batch, heads, length, size], two for each layer.
  SmallVector<Value> caches;
};
} // namespace

/// Runs a graph with the inputs that have a name, followed by `others`. Errors: nullopt.
static std::optional<Results> run(Node &node, const GraphProto &graph, const Named &named, ArrayRef<Value> others) {
  Builder &b = node.builder;
  SmallVector<Value> inputs;
  for (const ValueInfo &input : graph.inputs) {
    auto found = named.find(input.name);
    if (found == named.end())
      break;
    Type type = onnx::elementTypeOf(b.context(), input.elementType);
    Value value = found->second;
    bool areIntegers = value && type && isa<IntegerType>(type) && isa<IntegerType>(graph::elementTypeOf(value));
    inputs.push_back(areIntegers ? b.cast(value, type) : value);
  }
  llvm::append_range(inputs, others);
  if (inputs.size() != graph.inputs.size())
    return node.fail("expected a graph '" + graph.name + "' of " + Twine(inputs.size()) + " inputs, got " +
                     Twine(graph.inputs.size()) + "\nhint: export it as ONNX Runtime's " + node.proto.operation +
                     " takes it, with its names of inputs, and without buffers that past and present share"),
           std::nullopt;
  return b.hasFailed() ? std::nullopt : node.subgraphs.importSubgraph(graph, inputs);
}

/// Integers [batch, length]: 0 for padding before the first word, otherwise 1.
static Value seenText(Node &node, Value ids) {
  Builder &b = node.builder;
  Value isWord = call(b, "not_equal", {ids, b.cast(token(node, "pad_token_id"), graph::elementTypeOf(ids))});
  return isWord ? b.scan(ReductionKind::Max, b.cast(isWord, b.operations.getI32Type()), 1) : isWord;
}

/// The tokens [batch, length] with which the decoder starts; null after an error.
static Value startOf(Node &node, const SymbolicInt &batch) {
  Builder &b = node.builder;
  if (Value ids = node.input(10))
    return ids;
  int64_t start = node.attributes.getInt("decoder_start_token_id", -1);
  if (start < 0)
    return node.fail("expected a decoder_start_token_id that is not negative, got " + Twine(start) +
                     "\nhint: give the token that texts of the decoder begin with"),
           Value();
  return b.splat({batch, SymbolicInt(1)}, static_cast<double>(start), b.operations.getI32Type());
}

/// Like run(), for the decoder.
static std::optional<Results> runDecoder(Node &node, const GraphProto &graph, const Named &named,
                                         ArrayRef<Value> caches) {
  std::optional<Results> results = run(node, graph, named, caches);
  return results && areDecoded(node, *results, 4) ? results : std::nullopt;
}

/// Whether the encoder's results are caches of rank 4, as many as the decoder has for its own tokens; or logits, a
/// sequence of vectors, and twice as many caches. Otherwise emits an error.
static bool areEncoded(Node &node, ArrayRef<Value> results, size_t caches) {
  auto haveRank = [&](ArrayRef<Value> values, int64_t rank) {
    return llvm::all_of(values, [&](Value value) { return value && rankOf(value) == rank; });
  };
  bool isWhole = results.size() == 2 * caches + 2;
  size_t front = isWhole ? 2 : 0;
  bool are = caches && (isWhole || results.size() == caches) && haveRank(results.take_front(front), 3) &&
             haveRank(results.drop_front(front), 4);
  if (!are)
    node.fail("expected an encoder with caches [batch, heads, length, size] for each of the decoder's, which are " +
              Twine(caches) + ", got " + Twine(results.size()) + " outputs\nhint: export it as ONNX Runtime's " +
              node.proto.operation + " takes it");
  return are;
}

/// Runs the encoder on the node's first input, and the decoder on its first tokens. The encoder returns only caches, or
/// the logits of these tokens, its own result, and the caches of the tokens.
static std::optional<Prompts> encode(Node &node, const Search &prompts, const GraphProto &decoder, Value start,
                                     Encoded &encoded) {
  Builder &b = node.builder;
  const GraphProto *encoder = node.graph("encoder");
  encoded.values["encoder_input_ids"] = node.input(0);
  if (node.attributes.getInt("model_type") == textEncoder)
    encoded.values["encoder_attention_mask"] = node.input(9) ? node.input(9) : seenText(node, node.input(0));
  Named given = encoded.values;
  given["decoder_input_ids"] = start;
  std::optional<Results> results = encoder ? run(node, *encoder, given, {}) : std::nullopt;
  if (!results)
    return std::nullopt;
  size_t caches = decoder.outputs.size() - 1;
  if (!areEncoded(node, *results, caches))
    return std::nullopt;
  encoded.caches.assign(results->end() - caches, results->end());
  Value tokens = withPlaces(node, prompts, start);
  if (results->size() > caches) {
    encoded.values["encoder_hidden_states"] = (*results)[1];
    return Prompts{tokens, results->front(), SmallVector<Value>(ArrayRef(*results).slice(2, caches))};
  }
  Named named = encoded.values;
  named["input_ids"] = start;
  Shape none = shapeOf(encoded.caches.front());
  none[2] = SymbolicInt(0);
  SmallVector<Value> all(caches, b.splat(none, 0, graph::elementTypeOf(encoded.caches.front())));
  llvm::append_range(all, encoded.caches);
  results = runDecoder(node, decoder, named, all);
  if (!results)
    return std::nullopt;
  return Prompts{tokens, results->front(), SmallVector<Value>(llvm::drop_begin(*results))};
}

/// Whether the decoder takes all tokens at each step, because its input has variable length.
static bool takesAllTokens(const GraphProto &decoder) {
  const ValueInfo &ids = decoder.inputs.front();
  return !(ids.dims && ids.dims->size() == 2 && (*ids.dims)[1].value && *(*ids.dims)[1].value == 1);
}

static Results searchBehindEncoder(Node &node) {
  Builder &b = node.builder;
  const GraphProto *decoder = node.graph("decoder");
  if (!decoder || decoder->inputs.empty() || decoder->outputs.empty())
    return decoder
               ? node.fail("expected the graph 'decoder' to have inputs and outputs, got " +
                           std::to_string(decoder->inputs.size()) + " and " + std::to_string(decoder->outputs.size()) +
                           "\nhint: export the model with ONNX Runtime's convert_generation tool")
               : Results();
  SymbolicInt batch = shapeOf(node.input(0))[0];
  Value start = startOf(node, batch);
  if (!start)
    return {};
  Search prompts{batch, shapeOf(start)[1], b.measure(node.input(1), "max_length"), {}, {}};
  std::optional<Beams> search = b.hasFailed() ? std::nullopt : readBeams(node, prompts, /*rowAxis=*/0);
  if (!search)
    return {};
  b.require(prompts.longest - prompts.prompt - SymbolicInt(1), "max_length is not more than the first tokens");
  if (node.attributes.getInt("model_type") == textEncoder)
    requireShape(b, node.input(9), "attention_mask", shapeOf(node.input(0)));
  requireShape(b, node.input(10), "decoder_input_ids", {batch, prompts.prompt});
  Encoded encoded;
  std::optional<Prompts> begin = encode(node, prompts, *decoder, start, encoded);
  if (!begin)
    return {};
  for (auto &entry : encoded.values)
    entry.second = repeated(b, entry.second, 0, search->beams);
  for (Value &cache : encoded.caches)
    cache = repeated(b, cache, 0, search->beams);
  return searchBeams(b, *search, *begin, [&](const Continuation &at) {
    Named named = encoded.values;
    named["input_ids"] = takesAllTokens(*decoder)
                             ? sliceAxis(b, at.tokens, 1, SymbolicInt(0), lengthAt(b, prompts.prompt, at.number))
                             : b.unsqueeze(at.last, {1});
    SmallVector<Value> caches = at.caches;
    llvm::append_range(caches, encoded.caches);
    return runDecoder(node, *decoder, named, caches);
  });
}

//===----------------------------------------------------------------------===//
// The nodes
//===----------------------------------------------------------------------===//

/// Whether no unsupported input is present; otherwise emits an error.
static bool isKnownForm(Node &node, int64_t type) {
  auto processor = node.input(11) ? node.builder.constantContents(node.input(11)) : SmallVector<int64_t>{0};
  if (!processor || processor->size() != 1 || processor->front())
    return node.fail("expected no logits_processor but the constant 0, that is, none\nhint: export the model without "
                     "timestamps"),
           false;
  if (node.input(10) && type != speechEncoder)
    return node.fail("expected no decoder_input_ids with the model_type " + Twine(type) +
                     "\nhint: a decoder alone begins with input_ids, and one of texts with decoder_start_token_id"),
           false;
  return true;
}

/// Converts scores to the element type of the penalties.
static Results typed(Node &node, Results results) {
  Value like = node.input(5) ? node.input(5) : node.input(6);
  for (Value &scores : MutableArrayRef<Value>(results).drop_front(std::min<size_t>(1, results.size())))
    if (scores && like)
      scores = node.builder.cast(scores, graph::elementTypeOf(like));
  return results;
}

/// in: ids [batch, length], or for speech [batch, features, length]; the maximal and minimal length, the numbers of
/// beams and of returned sequences, the exponent of the length by which a score is divided, a penalty for existing
/// words, allowed words [words], words allowed first [batch, words], the attention mask of the ids [batch, length], the
/// decoder's first tokens for speech [batch, length]. Results: see searchBeams(). Source: BeamSearch of ONNX Runtime.
Results importBeamSearch(Node &node) {
  int64_t type = node.attributes.getInt("model_type");
  if (type < decoderAlone || type > speechEncoder)
    return node.fail(
        "expected a model_type from 0 to 2, got " + Twine(type) +
        "\nhint: 0 is a decoder alone, as GPT-2, 1 one behind an encoder, as T5, 2 one of speech, as Whisper");
  int64_t rank = type == speechEncoder ? 3 : 2;
  if (!node.hasInputs(2) || !hasRanks(node, {{0, rank}, {7, 1}, {8, 2}, {9, 2}, {10, 2}}) || !isKnownForm(node, type))
    return {};
  return typed(node, type == decoderAlone ? searchAlone(node) : searchBehindEncoder(node));
}

/// Like BeamSearch on speech, with a temperature (input 14) by which the scores of words are divided.
Results importWhisperBeamSearch(Node &node) {
  bool hasOther = node.input(12) || node.input(13);
  for (size_t i = 3; i < node.proto.outputs.size(); ++i)
    hasOther |= !node.proto.outputs[i].empty();
  int64_t type = node.attributes.getInt("model_type", speechEncoder);
  if (type != speechEncoder)
    return node.fail("expected the model_type 2, a decoder of speech, got " + Twine(type) +
                     "\nhint: leave the attribute out, or use BeamSearch");
  if (hasOther)
    return node.fail(
        "expected no inputs cross_qk_layer_head and extra_decoding_ids, and no outputs other than "
        "'sequences', 'sequences_scores' and 'scores'\nhint: export the model without scores of cross attention and "
        "without probabilities of silence");
  NamedAttrList attributes(node.attributes.all());
  attributes.set("model_type", node.builder.operations.getI64IntegerAttr(type));
  Node search{node.builder,         node.proto,
              node.inputs,          Attributes(attributes.getDictionary(node.builder.context())),
              node.freedDimensions, node.subgraphs};
  return importBeamSearch(search);
}
} // namespace perpend::onnx
