//===- Words.h - which words may follow others -------------------*- C++ -*-===//
//
// What searches for texts share, whichever decoder gives the scores of words: rules that change the scores, and the
// tokens so far. Tokens are integers [rows, longest], of which the first `length` are there.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_WORDS_H
#define PERPEND_GRAPH_COMPOSITES_WORDS_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// What changes the scores of words; null and 0 where there is no such rule.
struct WordRules {
  /// One number each: the end is hidden where there are fewer tokens; words that are there are worth less; the
  /// temperature divides all scores, at last.
  mlir::Value leastLength, penalty, temperature;
  /// What may be used [words], and what may come first [rows, words].
  mlir::Value mask, firstMask;
  /// No group of so many tokens is there twice.
  int64_t repeated = 0;
  /// The token that ends a text, and the one behind it.
  int64_t end = 0, padding = 0;
};

/// The scores [rows, words] as the rules change them, for the token behind `length` others.
mlir::Value ruledScores(Builder &builder, const WordRules &rules, mlir::Value scores, mlir::Value tokens,
                        const SymbolicInt &length, bool isFirst);
/// Scores [rows, words] of words that would complete a group of `size` tokens which is in the row of `tokens` already
/// become -inf.
mlir::Value withoutRepeats(Builder &builder, mlir::Value scores, mlir::Value tokens, int64_t size);

/// The scores [rows, words] of the last position of logits [rows, length, more]: a decoder may give more than the
/// vocabulary's, as padding. 0 or less: all.
mlir::Value lastScores(Builder &builder, mlir::Value logits, int64_t vocabulary);
/// The tokens with `last` [rows] behind the first `length`.
mlir::Value withToken(Builder &builder, const SymbolicInt &longest, mlir::Value tokens, mlir::Value last,
                      const SymbolicInt &length);
/// How many tokens there are when the decoder gets the one with this number behind the prompt.
SymbolicInt lengthAt(Builder &builder, const SymbolicInt &prompt, mlir::Value number);
/// A boolean: whether some text goes on.
mlir::Value goesOn(Builder &builder, mlir::Value hasEnded);
} // namespace perpend::graph

#endif
