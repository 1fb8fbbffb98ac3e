//===- Generation.h - generates tokens with a decoder's graph ---*- C++ -*-===//
//
// Shared by GreedySearch and BeamSearch. Both run a decoder's graph, which returns the scores of the next token and a
// KV cache: the keys and values of the tokens so far.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_GENERATION_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_GENERATION_H

#include "frontend/onnx/Operators.h"
#include "graph/composites/Words.h"

namespace perpend::onnx {
/// What stays the same for all tokens. A row is a sequence, or one of its beams.
struct Search {
  SymbolicInt rows, prompt, longest;
  /// Integers [rows, longest]: 1 for tokens that are seen, also for those to come.
  Value mask;
  /// Integers [rows, prompt]: 1 for words, 0 for padding; only words have a position.
  Value words;
};

/// Inputs of a decoder's graph before those of its caches: ids, positions, mask.
inline constexpr size_t firstCache = 3;

/// Whether the graph is a decoder like GPT-2's: ids, positions, mask and caches to logits and caches.
bool isDecoder(Node &node, const GraphProto &graph);
/// The decoder for the prompt: `init_decoder` if present, otherwise `decoder`; null after an error.
const GraphProto *firstDecoder(Node &node);
/// The lengths and the masks of the prompt. `seen` [rows, prompt] is its attention mask; if null, all but padding is
/// seen.
std::optional<Search> readSearch(Node &node, Value seen);
/// The prompt padded to the longest result: [rows, longest].
Value withPlaces(Node &node, const Search &search, Value ids);

/// Whether a decoder's results are logits and caches of this rank; otherwise emits an error.
bool areDecoded(Node &node, llvm::ArrayRef<Value> results, int64_t cacheRank);
/// Runs the decoder on ids [rows, n] that follow the cached ones, `length` tokens in all. Returns logits and caches.
std::optional<Results> decode(Node &node, const Search &search, const GraphProto &graph, Value ids, Value positions,
                              llvm::ArrayRef<Value> caches, const SymbolicInt &length);
/// The decoder's results for the prompt.
std::optional<Results> decodePrompt(Node &node, const Search &search, const GraphProto &graph, Value ids);
/// Runs the decoder on the last tokens [rows]; `number` counts them from the end of the prompt.
std::optional<Results> decodeNext(Node &node, const Search &search, const GraphProto &graph, Value last, Value number,
                                  llvm::ArrayRef<Value> caches);

/// The rules of the node's attributes.
graph::WordRules rulesOf(Node &node);
/// The scores [rows, words] at the last position of logits, cut to the attribute vocab_size.
Value lastScores(Node &node, Value logits);
/// An attribute that holds a token, as a scalar.
Value token(Node &node, StringRef attribute);
} // namespace perpend::onnx

#endif
