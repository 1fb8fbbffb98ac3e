// UTF-8, forwards and backwards. A byte that is not part of valid UTF-8 counts as a character of its own.
#ifndef PERPEND_RUNTIME_TOKENIZER_CHARACTERS_H
#define PERPEND_RUNTIME_TOKENIZER_CHARACTERS_H
#include "Array.h"
#include "library/Utf8.h"

namespace perpend::tokenizer {

constexpr uint32_t replacementCharacter = 0xFFFD;

inline uint32_t decodeAt(const char *text, size_t bytes, size_t &position) {
  const auto first = static_cast<unsigned char>(text[position]);
  if (first < 0x80) {
    ++position;
    return first;
  }
  auto at = static_cast<int64_t>(position);
  const uint32_t code = library::decode(text, static_cast<int64_t>(bytes), at);
  position = static_cast<size_t>(at);
  return code;
}

inline bool isInvalid(uint32_t code) { return code >= library::invalidByte; }
// Patterns and maps treat such a byte as U+FFFD.
inline uint32_t validCode(uint32_t code) { return isInvalid(code) ? replacementCharacter : code; }

// The start of the character that ends at `position`; requires position > 0.
inline size_t startBefore(const char *text, size_t position) {
  for (size_t back = 2; back <= 4 && back <= position; ++back) {
    size_t end = position - back;
    if ((static_cast<unsigned char>(text[position - back + 1]) & 0xC0) != 0x80)
      break;
    if (!isInvalid(decodeAt(text, position, end)) && end == position)
      return position - back;
  }
  return position - 1;
}

inline void appendCharacter(Array<char> &out, uint32_t code) {
  char bytes[4];
  out.append(bytes, static_cast<size_t>(library::encode(code, bytes)));
}

// Replaces each byte that is not part of valid UTF-8, or each run of bytes that begins a character, by U+FFFD.
enum class Invalid { EachByte, EachPart };
void appendValid(Array<char> &out, const char *text, size_t bytes, Invalid how);

// How many bytes at the end of a text may be the beginning of a character: 0 to 3.
size_t incompleteBytes(const char *text, size_t bytes);

// GPT-2's visible letters for bytes: bytes that are printable in Latin-1 are themselves, the others U+0100 onwards.
uint32_t letterOfByte(unsigned char byte);
// -1: the code point is no such letter.
int byteOfLetter(uint32_t code);

} // namespace perpend::tokenizer
#endif
