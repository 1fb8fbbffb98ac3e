//===- Generation.h - tokens from a decoder's graph -------------*- C++ -*-===//
//
// What GreedySearch and BeamSearch share. Both run the graph of a decoder for
// the scores of the next token and the keys and values of the tokens so far.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_GENERATION_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_GENERATION_H

#include "frontend/onnx/Operators.h"
#include "graph/composites/Words.h"

namespace perpend::onnx {
/// What stays the same from token to token. A row is a sequence, or one of its beams.
struct Search {
  SymbolicInt rows, prompt, longest;
  /// Integers [rows, longest]: 1 for tokens that are seen, also for those to come.
  Value mask;
  /// Integers [rows, prompt]: 1 for words, 0 for padding; only words have a position.
  Value words;
};

/// Inputs of a decoder's graph before those of its caches: ids, positions, mask.
inline constexpr size_t firstCache = 3;

/// Whether the graph is a decoder as GPT-2's: ids, positions, mask and caches to logits and caches.
bool isDecoder(Node &node, const GraphProto &graph);
/// The decoder of the prompt, `init_decoder`, or else `decoder`; null after an error.
const GraphProto *firstDecoder(Node &node);
/// The lengths, and what is seen of the prompt: what `seen` [rows, prompt] says, or all but padding.
std::optional<Search> readSearch(Node &node, Value seen);
/// The prompt with places for the tokens behind it: [rows, longest].
Value withPlaces(Node &node, const Search &search, Value ids);

/// Whether results of a decoder are logits and caches of so many dimensions; an error otherwise.
bool areDecoded(Node &node, llvm::ArrayRef<Value> results, int64_t cacheRank);
/// The decoder's results for ids [rows, n] behind others, `length` tokens in all: logits and caches.
std::optional<Results> decode(Node &node, const Search &search, const GraphProto &graph, Value ids, Value positions,
                              llvm::ArrayRef<Value> caches, const SymbolicInt &length);
/// The decoder's results for the prompt.
std::optional<Results> decodePrompt(Node &node, const Search &search, const GraphProto &graph, Value ids);
/// The decoder's results for the last tokens [rows], the one with this number behind the prompt.
std::optional<Results> decodeNext(Node &node, const Search &search, const GraphProto &graph, Value last, Value number,
                                  llvm::ArrayRef<Value> caches);

/// The rules of the node's attributes.
graph::WordRules rulesOf(Node &node);
/// The scores [rows, words] of the last position of logits, as the attribute vocab_size says.
Value lastScores(Node &node, Value logits);
/// An attribute, which is a token, as a scalar.
Value token(Node &node, StringRef attribute);
} // namespace perpend::onnx

#endif
