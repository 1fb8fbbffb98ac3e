//===- Words.h - constraints on generated words -----------------*- C++ -*-===//
//
// Shared by all searches for texts, whatever the decoder: rules that change the scores of words, and the tokens so
// far. Tokens are integers [rows, longest], of which the first `length` are valid.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_WORDS_H
#define PERPEND_GRAPH_COMPOSITES_WORDS_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// Rules that change the scores of words; null or 0 disables a rule.
struct WordRules {
  /// Scalars. leastLength: the end token is hidden while there are fewer tokens. penalty: existing words score less.
  /// temperature: divides all scores, at last.
  mlir::Value leastLength, penalty, temperature;
  /// Words that are allowed [words], and allowed first [rows, words].
  mlir::Value mask, firstMask;
  /// No group of this many tokens may occur twice.
  int64_t repeated = 0;
  /// The token that ends a text, and the one that follows it.
  int64_t end = 0, padding = 0;
};

/// Applies the rules to the scores [rows, words] of the token that follows `length` others.
mlir::Value ruledScores(Builder &builder, const WordRules &rules, mlir::Value scores, mlir::Value tokens,
                        const SymbolicInt &length, bool isFirst);
/// Sets to -inf the scores [rows, words] of words that would complete a group of `size` tokens that the row of `tokens`
/// already contains.
mlir::Value withoutRepeats(Builder &builder, mlir::Value scores, mlir::Value tokens, int64_t size);

/// The scores [rows, words] at the last position of logits [rows, length, more]; a decoder may pad its logits beyond
/// the vocabulary. 0 or less: all of them.
mlir::Value lastScores(Builder &builder, mlir::Value logits, int64_t vocabulary);
/// Appends `last` [rows] after the first `length` tokens.
mlir::Value withToken(Builder &builder, const SymbolicInt &longest, mlir::Value tokens, mlir::Value last,
                      const SymbolicInt &length);
/// The number of tokens when the decoder gets the one with this number after the prompt.
SymbolicInt lengthAt(Builder &builder, const SymbolicInt &prompt, mlir::Value number);
/// A boolean: whether some text continues.
mlir::Value goesOn(Builder &builder, mlir::Value hasEnded);
} // namespace perpend::graph

#endif
