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
    return step.flags & 1 ? charsmapOfGraphemes() : charsmap();
  case StepKind::SpaceMarks:
    return spaceMarks(step);
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

// What begins the text and is kept from the map: a user-defined symbol; else by the map's longest key; else a character.
void Normalizer::charsmap() {
  for (size_t position = 0; position < current.size();) {
    const char *rest = current.data() + position;
    const size_t bytes = current.size() - position;
    size_t taken = 0;
    if (const AddedToken *symbol = longestAdded(table, table.addedNormalized, rest, bytes)) {
      out.append(rest, symbol->text.bytes);
      position += symbol->text.bytes;
    } else if (const char *replacement = mapped(rest, bytes, /*longest=*/true, taken)) {
      out.append(replacement, strlen(replacement));
      position += taken;
    } else {
      const uint32_t code = decodeAt(rest, bytes, taken);
      isInvalid(code) ? appendCharacter(out, replacementCharacter) : out.append(rest, taken);
      position += taken;
    }
  }
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

// Spaces at both ends and behind spaces are dropped; a mark is put before the text or behind it; spaces become marks.
void Normalizer::spaceMarks(const Step &step) {
  const char *space = step.flags & SpaceEscape ? "\xE2\x96\x81" : " ";
  const bool removes = step.flags & SpaceRemoveExtra;
  size_t begin = 0, end = current.size();
  while (removes && begin < end && current[begin] == ' ')
    ++begin;
  while (removes && end > begin && current[end - 1] == ' ')
    --end;
  if (begin == end)
    return;
  auto isPrefixed = [&](SpaceFlags flag) { return (step.flags & SpacePrefix) && (step.flags & SpaceAsSuffix) == flag; };
  if (isPrefixed(SpaceFlags{}))
    out.append(space, strlen(space));
  for (size_t i = begin; i < end; ++i)
    if (current[i] != ' ')
      out.push(current[i]);
    else if (!removes || current[i - 1] != ' ')
      out.append(space, strlen(space));
  if (isPrefixed(SpaceAsSuffix))
    out.append(space, strlen(space));
}

} // namespace perpend::tokenizer
