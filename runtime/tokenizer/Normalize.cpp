#include "Normalize.h"
#include "Added.h"
#include "Characters.h"

namespace perpend::tokenizer {

static bool isPlain(const Array<char> &text) {
  for (size_t i = 0; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) >= 0x80)
      return false;
  return true;
}

const Array<char> &Normalizer::run(const char *text, size_t bytes) {
  current.clear();
  current.append(text, bytes);
  for (const Step &step : table.normalizer) {
    if (current.size() == 0)
      break;
    out.clear();
    apply(step);
    current.swap(out);
  }
  return current;
}

void Normalizer::apply(const Step &step) {
  switch (step.kind) {
  case StepKind::MapCharacters:
    return mapCharacters(step);
  case StepKind::Decompose:
    if (isPlain(current))
      return current.swap(out);
    return decompose(step.flags & 1, step.flags & 2);
  case StepKind::Replace:
    return replace(step);
  case StepKind::Prepend:
    out.append(table.at(step.text), step.text.bytes);
    return out.append(current.data(), current.size());
  case StepKind::StripSpaces:
    return stripSpaces(step);
  case StepKind::Charsmap:
    return charsmapOfGraphemes();
  case StepKind::SentencePieceText:
    return sentencePieceText(step);
  default:
    return byteLetters();
  }
}

void Normalizer::mapCharacters(const Step &step) {
  const CharacterMap *first = table.characters.data + step.first, *end = first + step.count;
  for (size_t position = 0; position < current.size();) {
    const size_t start = position;
    const uint32_t code = validCode(decodeAt(current.data(), current.size(), position));
    const CharacterMap *low = first, *high = end;
    while (low < high) {
      const CharacterMap *middle = low + (high - low) / 2;
      middle->last < code ? low = middle + 1 : high = middle;
    }
    if (low == end || code < low->first) {
      out.append(current.data() + start, position - start);
    } else if (low->distance) {
      appendCharacter(out, code + static_cast<uint32_t>(low->distance));
    } else if (low->keeps) {
      out.append(table.at(low->text), 1);
      out.append(current.data() + start, position - start);
      out.append(table.at(low->text) + 1, low->text.bytes - 1);
    } else {
      out.append(table.at(low->text), low->text.bytes);
    }
  }
}

void Normalizer::replace(const Step &step) {
  matcher.begin(step.program, current.data(), current.size());
  size_t position = 0;
  for (Range match; matcher.next(match); position = match.end) {
    out.append(current.data() + position, match.begin - position);
    out.append(table.at(step.text), step.text.bytes);
  }
  out.append(current.data() + position, current.size() - position);
}

void Normalizer::stripSpaces(const Step &step) {
  size_t begin = 0, end = current.size();
  auto isSpace = [&](size_t position) {
    return table.isIn(step.program, validCode(decodeAt(current.data(), current.size(), position)));
  };
  while (step.flags & 1 && begin < end && isSpace(begin))
    decodeAt(current.data(), current.size(), begin);
  while (step.flags & 2 && end > begin && isSpace(startBefore(current.data(), end)))
    end = startBefore(current.data(), end);
  out.append(current.data() + begin, end - begin);
}

void Normalizer::byteLetters() {
  for (size_t i = 0; i < current.size(); ++i)
    appendCharacter(out, letterOfByte(static_cast<unsigned char>(current[i])));
}

const char *Normalizer::mapped(const char *key, size_t bytes, bool longest, size_t &keyBytes) const {
  const View<uint32_t> &units = table.charsmapUnits;
  auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); };
  uint32_t node = units.count ? offset(units[0]) : 0, value = noId;
  for (size_t i = 0; i < bytes; ++i) {
    const auto label = static_cast<unsigned char>(key[i]);
    node ^= label;
    if (node >= units.count || (units[node] & 0x800000FF) != label)
      break;
    const bool isLeaf = units[node] >> 8 & 1;
    node ^= offset(units[node]);
    if (!isLeaf)
      continue;
    value = node < units.count ? units[node] & 0x7FFFFFFF : noId;
    keyBytes = i + 1;
    if (!longest)
      break;
  }
  return value < table.charsmapTexts.count ? table.charsmapTexts.data + value : nullptr; // the texts end with NUL
}

void Normalizer::charsmapOfGraphemes() {
  size_t unused = 0;
  for (size_t position = 0; position < current.size();) {
    const size_t end = graphemeEnd(position);
    const char *whole = nullptr;
    if (end - position < 6)
      whole = mapped(current.data() + position, end - position, /*longest=*/false, unused);
    if (whole) {
      out.append(whole, strlen(whole));
      position = end;
    }
    while (position < end) {
      const char *start = current.data() + position;
      decodeAt(current.data(), current.size(), position);
      const size_t bytes = static_cast<size_t>(current.data() + position - start);
      const char *replacement = mapped(start, bytes, /*longest=*/false, unused);
      replacement ? out.append(replacement, strlen(replacement)) : out.append(start, bytes);
    }
  }
}

// What begins the text: a user-defined symbol as it is, the longest key of the map, or a character.
View<char> Normalizer::nextPart(size_t &position) const {
  const char *rest = current.data() + position;
  const size_t bytes = current.size() - position;
  const auto byte = static_cast<unsigned char>(*rest);
  size_t taken = 0;
  if (table.normalizedStarts.bits[byte / 32] >> byte % 32 & 1)
    if (const AddedToken *symbol = longestAdded(table, table.addedNormalized, rest, bytes)) {
      position += symbol->text.bytes;
      return {rest, symbol->text.bytes};
    }
  if (const char *replacement = mapped(rest, bytes, /*longest=*/true, taken)) {
    position += taken;
    return {replacement, strlen(replacement)};
  }
  const bool isValid = !isInvalid(decodeAt(rest, bytes, taken));
  position += taken;
  return isValid ? View<char>{rest, taken} : View<char>{"\xEF\xBF\xBD", 3};
}

// Parts that are a space at the start, spaces behind spaces and those at the end are dropped; a mark is put before the
// text or behind it; spaces become marks.
void Normalizer::sentencePieceText(const Step &step) {
  const bool removes = step.flags & SpaceRemoveExtra, isSuffix = step.flags & SpaceAsSuffix;
  const View<char> mark = step.flags & SpaceEscape ? View<char>{"\xE2\x96\x81", 3} : View<char>{" ", 1};
  size_t position = 0;
  for (size_t next = 0; removes && position < current.size(); position = next) {
    const View<char> part = nextPart(next);
    if (part.count != 1 || part[0] != ' ')
      break;
  }
  if (position == current.size())
    return;
  if (step.flags & SpacePrefix && !isSuffix)
    out.append(mark.data, mark.count);
  bool wasSpace = removes;
  while (position < current.size()) {
    View<char> part = nextPart(position);
    for (; wasSpace && part.count && part[0] == ' '; --part.count)
      ++part.data;
    for (const char byte : part)
      byte == ' ' ? out.append(mark.data, mark.count) : out.push(byte);
    wasSpace = part.count ? removes && part[part.count - 1] == ' ' : wasSpace;
  }
  while (removes && out.size() >= mark.count && !memcmp(out.data() + out.size() - mark.count, mark.data, mark.count))
    out.resize(out.size() - mark.count);
  if (step.flags & SpacePrefix && isSuffix)
    out.append(mark.data, mark.count);
}

} // namespace perpend::tokenizer
