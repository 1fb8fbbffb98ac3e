//===- Pattern.h - regular expressions of tokenizer files -------*- C++ -*-===//
//
// The syntax of Oniguruma (Ruby), which `tokenizers` uses, as far as files use
// it. What is not understood is an error that quotes it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TOKENIZER_PATTERN_H
#define PERPEND_TOKENIZER_PATTERN_H

#include "tokenizer/CodeSet.h"

#include "../runtime/tokenizer/Table.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace perpend::tokenizer {

/// A node of a pattern.
struct PatternNode {
  enum Kind { Set, Sequence, Alternatives, Repeat, Look, Atomic, Position } kind = Sequence;
  CodeSet set;                                     ///< Set
  std::vector<std::unique_ptr<PatternNode>> parts; ///< of all but Set and Position
  uint32_t least = 0, most = 0;                    ///< Repeat; `unlimited` without a limit
  enum { Greedy, Lazy, Possessive } mode = Greedy;
  bool isBehind = false, isNegated = false; ///< Look
  Op position = Op::TextStart;              ///< Position; WordEdge with isNegated

  uint32_t leastLength() const; ///< in characters
};

llvm::Expected<std::unique_ptr<PatternNode>> parsePattern(llvm::StringRef pattern);

/// A pattern that matches a text itself.
llvm::Expected<std::unique_ptr<PatternNode>> literalPattern(llvm::StringRef text);

/// Appends a program that ends with Accept. `classOf` gives a class its number.
llvm::Error emitPattern(const PatternNode &pattern, const std::function<uint32_t(const CodeSet &)> &classOf,
                        std::vector<Instruction> &instructions);
} // namespace perpend::tokenizer

#endif
