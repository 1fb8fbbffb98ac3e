// Runs the regular expressions of a table: backtracking, the first alternative that leads to a match wins. The number
// of steps is limited in proportion to the text, so that no text and no pattern takes long.
#ifndef PERPEND_RUNTIME_TOKENIZER_PATTERN_H
#define PERPEND_RUNTIME_TOKENIZER_PATTERN_H
#include "Array.h"
#include "Table.h"

namespace perpend::tokenizer {

struct Range {
  size_t begin, end;
};

class Matcher {
public:
  Matcher(const Table &tokenizer, Memory &memory) : table(tokenizer), stack(memory) {}

  // Starts a search for all matches of a program in a text.
  void begin(uint32_t startOfProgram, const char *newText, size_t newBytes);
  // The next match. An empty one directly after a match is none. False: there are no more.
  bool next(Range &match);
  // True: a search was given up.
  bool failed() const { return tooLong; }

private:
  struct Choice {
    uint32_t pc;
    uint32_t isSpan;
    size_t position, least; // of a span: it may be given back, character by character, down to `least`
  };

  bool run(uint32_t pc, size_t position, size_t &end, int depth);
  bool look(const Instruction &instruction, uint32_t pc, size_t position, int depth);
  bool repeat(const Instruction &instruction, uint32_t pc, size_t &position);
  bool isEdge(const Instruction &instruction, size_t position) const;
  bool isAt(const Instruction &instruction, size_t position) const;
  bool takeChoice(size_t base, uint32_t &pc, size_t &position);
  bool take(uint32_t characterClass, size_t &position) const;

  const Table &table;
  Array<Choice> stack;
  const char *text = nullptr;
  size_t bytes = 0, from = 0, lastEnd = SIZE_MAX;
  uint64_t steps = 0, limit = 0;
  uint32_t program = 0;
  bool tooLong = false;
};

} // namespace perpend::tokenizer
#endif
