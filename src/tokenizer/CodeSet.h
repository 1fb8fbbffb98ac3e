//===- CodeSet.h - sets of code points --------------------------*- C++ -*-===//

#ifndef PERPEND_TOKENIZER_CODESET_H
#define PERPEND_TOKENIZER_CODESET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace perpend::tokenizer {

constexpr uint32_t lastCode = 0x10FFFF;

class CodeSet {
public:
  using Range = std::pair<uint32_t, uint32_t>; ///< first, last

  CodeSet() = default;
  CodeSet(std::initializer_list<Range> ranges) : list(ranges) { normalise(); }

  void add(uint32_t first, uint32_t last) {
    list.push_back({first, last});
    normalise();
  }
  void add(const CodeSet &other);
  CodeSet complement() const;
  CodeSet intersection(const CodeSet &other) const;
  bool contains(uint32_t code) const;
  llvm::ArrayRef<Range> ranges() const { return list; }
  bool operator==(const CodeSet &other) const { return list == other.list; }

private:
  friend CodeSet makeSet(std::vector<Range> ranges);
  void normalise(); ///< sorts and joins

  std::vector<Range> list;
};

CodeSet makeSet(std::vector<CodeSet::Range> ranges);

/// A general category ("Lu", "L", "Any") or a script ("Han"), in any case; nothing if there is none of this name.
std::optional<CodeSet> propertyNamed(llvm::StringRef name);

/// The sets that components of tokenizer.json name, as `tokenizers` has them. PatternWord is \w.
enum class NamedSet { Space, Word, Numeric, Punctuation, Control, Accent, Combining, PatternWord };
const CodeSet &namedSet(NamedSet set);

/// What lower case makes of characters, in order.
struct LowerCase {
  uint32_t code;
  std::vector<uint32_t> to;
};
const std::vector<LowerCase> &lowerCases();

/// The normal forms of Unicode. Hangul syllables are not in them.
struct CodeDecomposition {
  uint32_t code;
  bool isCompatible; ///< only
  std::vector<uint32_t> to;
};
struct CodePair {
  uint32_t first, second, code;
};
struct CodeClass {
  uint32_t first, last, value;
};
struct NormalForms {
  std::vector<CodeDecomposition> decompositions;
  std::vector<CodePair> compositions;
  std::vector<CodeClass> classes;
};
const NormalForms &normalForms(); ///< each list is sorted
const std::vector<CodeClass> &graphemeClasses();

/// UTF-8.
void appendCode(std::string &text, uint32_t code);
/// Nothing if the text is not UTF-8.
std::optional<std::vector<uint32_t>> codesOf(llvm::StringRef text);
} // namespace perpend::tokenizer

#endif
