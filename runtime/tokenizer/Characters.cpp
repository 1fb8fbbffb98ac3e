#include "Characters.h"

namespace perpend::tokenizer {

bool resizeBlock(void *&block, size_t &capacity, size_t count, size_t bytes) {
  size_t wanted = capacity + capacity / 2 + 16;
  wanted = wanted < count ? count : wanted;
  if (wanted > PTRDIFF_MAX / bytes)
    return false;
  void *moved = realloc(block, wanted * bytes);
  if (!moved)
    return false;
  block = moved;
  capacity = wanted;
  return true;
}

// How many bytes at `text` begin a character that more bytes could complete; 0: none do.
static size_t beginningBytes(const char *text, size_t bytes) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  const size_t whole = lead >= 0xC2 && lead < 0xE0   ? 2
                       : lead >= 0xE0 && lead < 0xF0 ? 3
                       : lead >= 0xF0 && lead < 0xF5 ? 4
                                                     : 0;
  if (!whole)
    return 0;
  size_t have = 1;
  for (; have < whole && have < bytes; ++have) {
    const unsigned low = have > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = have > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at(have) < low || at(have) > high)
      break;
  }
  return have;
}

void appendValid(Array<char> &out, const char *text, size_t bytes, Invalid how) {
  size_t start = 0;
  for (size_t position = 0; position < bytes;) {
    const size_t before = position;
    if (!isInvalid(decodeAt(text, bytes, position)))
      continue;
    out.append(text + start, before - start);
    appendCharacter(out, replacementCharacter);
    if (how == Invalid::EachPart) {
      const size_t part = beginningBytes(text + before, bytes - before);
      position = before + (part ? part : 1);
    }
    start = position;
  }
  out.append(text + start, bytes - start);
}

size_t incompleteBytes(const char *text, size_t bytes) {
  for (size_t back = 1; back <= 3 && back <= bytes; ++back) {
    const char *start = text + bytes - back;
    if ((static_cast<unsigned char>(*start) & 0xC0) == 0x80)
      continue;
    size_t end = 0;
    return isInvalid(decodeAt(start, back, end)) && beginningBytes(start, back) == back ? back : 0;
  }
  return 0;
}

// The 68 bytes that are not printable in Latin-1, in order: 0x00-0x20, 0x7F-0xA0, 0xAD.
uint32_t letterOfByte(unsigned char byte) {
  if (byte <= 0x20)
    return 0x100u + byte;
  if (byte >= 0x7F && byte <= 0xA0)
    return 0x100u + 0x21 + (byte - 0x7Fu);
  return byte == 0xAD ? 0x143 : byte;
}

int byteOfLetter(uint32_t code) {
  if (code < 0x100)
    return letterOfByte(static_cast<unsigned char>(code)) == code ? static_cast<int>(code) : -1;
  if (code <= 0x120)
    return static_cast<int>(code - 0x100);
  if (code <= 0x142)
    return static_cast<int>(code - 0x121 + 0x7F);
  return code == 0x143 ? 0xAD : -1;
}

} // namespace perpend::tokenizer
