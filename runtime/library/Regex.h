// Regular expressions with RE2's syntax: no back-references, no lookaround. Time is bounded by pattern times text,
// never exponential. Source: R. Cox, Regular Expression Matching: the Virtual Machine Approach (2009).
#ifndef PERPEND_RUNTIME_LIBRARY_REGEX_H
#define PERPEND_RUNTIME_LIBRARY_REGEX_H
#include "include/perpend.h"
#include "library/Array.h"

namespace perpend::library {

struct RegexRange {
  uint32_t first, last;
};

enum class RegexCode : uint8_t { Characters, Split, Jump, Assert, Match };
enum class RegexAssertion : uint8_t { TextBegin, TextEnd, LineBegin, LineEnd, WordBoundary, NoWordBoundary };

// Jump targets are relative to the instruction, so that parts of a program can be copied.
struct RegexInstruction {
  RegexCode code;
  bool isNegated = false, ignoresCase = false; // Characters
  RegexAssertion assertion = RegexAssertion::TextBegin;
  int32_t first = 0, second = 0; // Characters: position and number of ranges; Split: two targets; Jump: one
};

// A range of bytes of a text.
struct RegexMatch {
  int64_t begin = 0, end = 0;
};

class Regex {
public:
  // False: the pattern is invalid, or out of memory; error() gives the reason.
  bool compile(perpend_string pattern);
  const char *error() const { return message; }

  enum class Outcome { Differs, Matches, NoMemory };
  // Whether the whole text matches.
  Outcome matchWhole(perpend_string text) const;
  // The leftmost match at or after a position, and the longest one that starts there; the text before serves as
  // context.
  Outcome find(perpend_string text, int64_t position, RegexMatch &match) const;

private:
  friend class RegexParser;
  Array<RegexInstruction> program;
  Array<RegexRange> ranges;
  const char *message = "";
};

} // namespace perpend::library
#endif
