// Characters of UTF-8 text. Bytes that are not valid UTF-8 count as characters and are preserved.
#ifndef PERPEND_RUNTIME_LIBRARY_UTF8_H
#define PERPEND_RUNTIME_LIBRARY_UTF8_H
#include <cstdint>

namespace perpend::library {

// An invalid byte is represented as this plus the byte, which no character uses.
constexpr uint32_t invalidByte = 0x200000;

// Decodes the character at text[position] and advances position; requires position < sizeBytes.
inline uint32_t decode(const char *text, int64_t sizeBytes, int64_t &position) {
  auto byte = [&](int64_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  uint32_t lead = byte(position);
  int trailing = lead < 0x80 ? 0 : lead >= 0xC2 && lead < 0xE0 ? 1 : lead >= 0xE0 && lead < 0xF0 ? 2 : 3;
  bool isValid = lead < 0x80 || (lead >= 0xC2 && lead < 0xF5);
  uint32_t code = trailing ? lead & (0x3Fu >> trailing) : lead;
  for (int i = 1; isValid && i <= trailing; ++i) {
    isValid = position + i < sizeBytes && (byte(position + i) & 0xC0) == 0x80;
    code = isValid ? code << 6 | (byte(position + i) & 0x3F) : code;
  }
  bool isShortest = trailing < 2 || code >= (trailing == 2 ? 0x800u : 0x10000u);
  if (!isValid || !isShortest || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    ++position;
    return invalidByte + lead;
  }
  position += trailing + 1;
  return code;
}

// Writes at most 4 bytes; returns their number.
inline int encode(uint32_t code, char *text) {
  if (code >= invalidByte || code < 0x80) {
    text[0] = static_cast<char>(code & 0xFF);
    return 1;
  }
  int trailing = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  uint32_t lead = trailing == 1 ? 0xC0 : trailing == 2 ? 0xE0 : 0xF0;
  text[0] = static_cast<char>(lead | code >> (6 * trailing));
  for (int i = 1; i <= trailing; ++i)
    text[i] = static_cast<char>(0x80 | (code >> (6 * (trailing - i)) & 0x3F));
  return trailing + 1;
}

} // namespace perpend::library
#endif
