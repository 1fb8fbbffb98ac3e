#include "support/ReadableText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace perpend::support {

/// The length of the first character in bytes; 0 if it is not valid UTF-8.
static size_t lengthOfCharacter(StringRef text) {
  const auto *start = reinterpret_cast<const UTF8 *>(text.data());
  size_t length = getNumBytesForUTF8(*start);
  return length <= text.size() && isLegalUTF8Sequence(start, start + length) ? length : 0;
}

/// ASCII control characters, and U+0080 to U+009F, which terminals obey as well.
static bool isControl(StringRef character) {
  auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

static std::string escaped(StringRef bytes) {
  if (bytes == "\n" || bytes == "\t")
    return bytes == "\n" ? "\\n" : "\\t";
  std::string text;
  for (char byte : bytes)
    text += "\\x" + toHex(StringRef(&byte, 1));
  return text;
}

std::string readable(StringRef text, StringRef kept) {
  std::string result;
  while (!text.empty()) {
    size_t length = lengthOfCharacter(text);
    StringRef character = text.take_front(std::max<size_t>(length, 1));
    bool isPlain = length && (!isControl(character) || kept.contains(character));
    result += isPlain ? character.str() : escaped(character);
    text = text.drop_front(character.size());
  }
  return result;
}

std::string quoted(StringRef text, size_t mostCharacters) {
  std::string result;
  for (size_t count = 0; !text.empty() && count < mostCharacters; ++count) {
    StringRef character = text.take_front(std::max<size_t>(lengthOfCharacter(text), 1));
    if (character == "\"" || character == "\\")
      result += '\\';
    result += character;
    text = text.drop_front(character.size());
  }
  return "\"" + readable(result) + (text.empty() ? "\"" : "\"...");
}

std::string counted(size_t count, StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}
} // namespace perpend::support
