// The steps that change a text before it is split.
#ifndef PERPEND_RUNTIME_TOKENIZER_NORMALIZE_H
#define PERPEND_RUNTIME_TOKENIZER_NORMALIZE_H
#include "Pattern.h"

namespace perpend::tokenizer {

class Normalizer {
public:
  Normalizer(const Table &tokenizer, Memory &memory)
      : table(tokenizer), matcher(tokenizer, memory), current(memory), out(memory), codes(memory), sorted(memory) {}

  // The normalised text is valid until the next call.
  const Array<char> &run(const char *text, size_t bytes);
  bool failed() const { return matcher.failed(); }

private:
  struct Code {
    uint32_t code, order;
  };

  void apply(const Step &step);
  void mapCharacters(const Step &step);
  void replace(const Step &step);
  void stripSpaces(const Step &step);
  void byteLetters();
  void decompose(bool isCompatible, bool composes);
  void appendDecomposed(uint32_t code, bool isCompatible);
  uint32_t orderOf(uint32_t code) const;
  void sortMarks();
  void compose();
  uint32_t composite(uint32_t first, uint32_t second) const;
  void charsmapOfGraphemes();
  // The replacement by the shortest or the longest key that begins the text; null: there is none.
  const char *mapped(const char *key, size_t bytes, bool longest, size_t &keyBytes) const;
  size_t graphemeEnd(size_t start) const;
  uint32_t graphemeClass(size_t &position) const;
  View<char> nextPart(size_t &position) const;
  void sentencePieceText(const Step &step);

  const Table &table;
  Matcher matcher;
  Array<char> current, out; // a step reads one and writes the other
  Array<Code> codes, sorted;
};

} // namespace perpend::tokenizer
#endif
