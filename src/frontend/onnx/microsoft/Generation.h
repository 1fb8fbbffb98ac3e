//===- Generation.h - tokens from a decoder's graph -------------*- C++ -*-===//
//
// What GreedySearch and BeamSearch share. Both run the graph of a decoder for
// the scores of the next token and the keys and values of the tokens so far.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_GENERATION_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_GENERATION_H

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

namespace perpend::onnx {
/// What stays the same from token to token. A row is a sequence, or one of its beams.
struct Search {
  SymbolicInt rows, prompt, longest;
  /// Integers [rows, longest]: 1 for tokens that are seen, also for those to come.
  Value mask;
  /// Integers [rows, prompt]: 1 for words, 0 for padding; only words have a position.
  Value words;
};

/// The inputs that change scores; null where there is none.
struct ScoreRules {
  /// One number each. The temperature divides all scores, at last.
  Value leastLength, penalty, temperature;
  /// What may be used [words], and what may come first [rows, words].
  Value mask, firstMask;
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
/// The tokens [rows, longest] with `last` [rows] behind the first `length`.
Value withToken(Builder &b, const SymbolicInt &longest, Value tokens, Value last, const SymbolicInt &length);

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
/// How many tokens there are when the decoder gets the one with this number behind the prompt.
SymbolicInt lengthAt(Builder &b, const SymbolicInt &prompt, Value number);

/// The scores [rows, words] of the last position, as the vocabulary says.
Value lastScores(Node &node, Value logits);
/// The scores [rows, words] as the rules and the node's attributes change them, for the token behind `length` others.
Value processed(Node &node, const ScoreRules &rules, Value scores, Value tokens, const SymbolicInt &length,
                bool isFirst);
/// An attribute, which is a token, as a scalar.
Value token(Node &node, StringRef attribute);
/// A boolean: whether some sequence goes on.
Value goesOn(Builder &b, Value hasEnded);
} // namespace perpend::onnx

#endif
