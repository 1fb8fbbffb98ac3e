#include "Added.h"
#include "Characters.h"

namespace perpend::tokenizer {

// Narrows the range of tokens that begin as the text does, byte by byte.
const AddedToken *longestAdded(const Table &table, const View<AddedToken> &tokens, const char *text, size_t bytes) {
  const AddedToken *low = tokens.begin(), *high = tokens.end(), *longest = nullptr;
  auto byteOf = [&](const AddedToken *token, size_t i) {
    return i < token->text.bytes ? static_cast<unsigned char>(table.at(token->text)[i]) : -1;
  };
  for (size_t i = 0; i < bytes && low < high; ++i) {
    const int byte = static_cast<unsigned char>(text[i]);
    auto bound = [&](int least) { // the first token in the range whose byte is not below
      const AddedToken *first = low, *last = high;
      while (first < last) {
        const AddedToken *middle = first + (last - first) / 2;
        byteOf(middle, i) < least ? first = middle + 1 : last = middle;
      }
      return first;
    };
    const AddedToken *begin = bound(byte);
    high = bound(byte + 1);
    low = begin;
    if (low < high && low->text.bytes == i + 1)
      longest = low;
  }
  return longest;
}

bool AddedFinder::isWord(size_t at, bool before) const {
  if (before ? at == 0 : at == bytes)
    return false;
  size_t start = before ? startBefore(text, at) : at;
  return table.isIn(table.head->wordClass, validCode(decodeAt(text, bytes, start)));
}

bool AddedFinder::isSpace(size_t at) const {
  return table.isIn(table.head->spaceClass, validCode(decodeAt(text, bytes, at)));
}

const AddedToken *AddedFinder::next(Range &place) {
  while (position < bytes) {
    const auto byte = static_cast<unsigned char>(text[position]);
    const bool maySpell = starts.bits[byte / 32] >> byte % 32 & 1;
    const AddedToken *token = maySpell ? longestAdded(table, tokens, text + position, bytes - position) : nullptr;
    if (!token) {
      ++position;
      continue;
    }
    const uint32_t flags = token->flags;
    place = {position, position + token->text.bytes};
    position = place.end;
    if ((flags & AddedSpecial && !parsesSpecial) || flags & AddedToModel)
      continue;
    if (flags & AddedSingleWord && (isWord(place.begin, /*before=*/true) || isWord(place.end, /*before=*/false)))
      continue;
    while (flags & AddedStripLeft && place.begin > lastEnd && isSpace(startBefore(text, place.begin)))
      place.begin = startBefore(text, place.begin);
    while (flags & AddedStripRight && place.end < bytes && isSpace(place.end))
      decodeAt(text, bytes, place.end);
    lastEnd = place.end;
    return token;
  }
  return nullptr;
}

} // namespace perpend::tokenizer
