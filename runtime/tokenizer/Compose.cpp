// Unicode's normal forms and graphemes, by the table's lists.
#include "Characters.h"
#include "Normalize.h"

namespace perpend::tokenizer {

constexpr uint32_t hangulFirst = 0xAC00, hangulCount = 11172, leadFirst = 0x1100, leadCount = 19;
constexpr uint32_t vowelFirst = 0x1161, vowelCount = 21, tailFirst = 0x11A7, tailCount = 28;

uint32_t Normalizer::orderOf(uint32_t code) const {
  if (code < 0x300)
    return 0;
  const CombiningClass *low = table.combiningClasses.begin(), *high = table.combiningClasses.end();
  while (low < high) {
    const CombiningClass *middle = low + (high - low) / 2;
    middle->last < code ? low = middle + 1 : high = middle;
  }
  return low != table.combiningClasses.end() && code >= low->first ? low->order : 0;
}

void Normalizer::appendDecomposed(uint32_t code, bool isCompatible) {
  if (code - hangulFirst < hangulCount) {
    const uint32_t index = code - hangulFirst, tail = index % tailCount;
    codes.push({leadFirst + index / (vowelCount * tailCount), 0});
    codes.push({vowelFirst + index / tailCount % vowelCount, 0});
    if (tail)
      codes.push({tailFirst + tail, 0});
    return;
  }
  const Decomposition *low = table.decompositions.begin(), *end = table.decompositions.end(), *high = end;
  while (low < high && code >= 0xA0) {
    const Decomposition *middle = low + (high - low) / 2;
    middle->code < code || (middle->code == code && isCompatible && !middle->isCompatible && middle + 1 < end &&
                            middle[1].code == code)
        ? low = middle + 1
        : high = middle;
  }
  if (code < 0xA0 || low == end || low->code != code || (low->isCompatible && !isCompatible))
    return codes.push({code, orderOf(code)});
  for (uint32_t i = 0; i < low->count; ++i) {
    const uint32_t part = table.decomposedCodes[low->first + i];
    codes.push({part, orderOf(part)});
  }
}

// Orders each run of marks by class and keeps the order within one; in linear time.
void Normalizer::sortMarks() {
  for (size_t begin = 0; begin < codes.size();) {
    size_t end = begin;
    while (end < codes.size() && codes[end].order)
      ++end;
    if (end - begin > 1) {
      size_t starts[257] = {};
      for (size_t i = begin; i < end; ++i)
        ++starts[(codes[i].order & 0xFF) + 1];
      for (size_t order = 0; order < 256; ++order)
        starts[order + 1] += starts[order];
      sorted.resize(end - begin);
      for (size_t i = begin; i < end && sorted.size() == end - begin; ++i)
        sorted[starts[codes[i].order & 0xFF]++] = codes[i];
      if (sorted.size() == end - begin)
        memcpy(codes.data() + begin, sorted.data(), (end - begin) * sizeof(Code));
    }
    begin = end + 1;
  }
}

uint32_t Normalizer::composite(uint32_t first, uint32_t second) const {
  if (first - leadFirst < leadCount && second - vowelFirst < vowelCount)
    return hangulFirst + ((first - leadFirst) * vowelCount + (second - vowelFirst)) * tailCount;
  if (first - hangulFirst < hangulCount && (first - hangulFirst) % tailCount == 0 &&
      second - tailFirst - 1 < tailCount - 1)
    return first + (second - tailFirst);
  auto key = [](const Composition &pair) { return static_cast<uint64_t>(pair.first) << 32 | pair.second; };
  const uint64_t wanted = key({first, second, 0});
  const Composition *low = table.compositions.begin(), *end = table.compositions.end(), *high = end;
  while (low < high) {
    const Composition *middle = low + (high - low) / 2;
    key(*middle) < wanted ? low = middle + 1 : high = middle;
  }
  return low != end && key(*low) == wanted ? low->code : 0;
}

// Each character is combined with the last starter unless one of the same or a higher class stands between them.
void Normalizer::compose() {
  size_t kept = 0, starter = SIZE_MAX;
  uint32_t lastOrder = 0; // of the characters behind the starter
  for (size_t i = 0; i < codes.size(); ++i) {
    const Code next = codes[i];
    const bool isAdjacent = starter != SIZE_MAX && kept == starter + 1;
    if (starter != SIZE_MAX && (isAdjacent || lastOrder < next.order)) {
      const uint32_t whole = composite(codes[starter].code, next.code);
      if (whole) {
        codes[starter].code = whole;
        continue;
      }
    }
    if (!next.order)
      starter = kept;
    lastOrder = next.order;
    codes[kept++] = next;
  }
  codes.resize(kept);
}

void Normalizer::decompose(bool isCompatible, bool composes) {
  codes.clear();
  for (size_t position = 0; position < current.size();)
    appendDecomposed(decodeAt(current.data(), current.size(), position), isCompatible);
  sortMarks();
  if (composes)
    compose();
  for (size_t i = 0; i < codes.size(); ++i)
    appendCharacter(out, codes[i].code);
}

// Classes of graphemes that matter for characters of which two have less than 6 bytes.
enum GraphemeClass : uint32_t { Other, Extend, Prepend, Control, CarriageReturn, LineFeed };

uint32_t Normalizer::graphemeClass(size_t &position) const {
  const uint32_t code = validCode(decodeAt(current.data(), current.size(), position));
  if (code == '\r' || code == '\n')
    return code == '\r' ? CarriageReturn : LineFeed;
  const CombiningClass *low = table.graphemeClasses.begin(), *end = table.graphemeClasses.end(), *high = end;
  while (low < high) {
    const CombiningClass *middle = low + (high - low) / 2;
    middle->last < code ? low = middle + 1 : high = middle;
  }
  return low != end && code >= low->first ? low->order : Other;
}

size_t Normalizer::graphemeEnd(size_t start) const {
  size_t end = start;
  uint32_t previous = graphemeClass(end);
  while (end < current.size()) {
    size_t after = end;
    const uint32_t next = graphemeClass(after);
    const bool isBreak = previous == CarriageReturn ? next != LineFeed
                         : previous == Prepend      ? next >= Control
                                                    : previous >= Control || next != Extend;
    if (isBreak)
      break;
    previous = next;
    end = after;
  }
  return end;
}

} // namespace perpend::tokenizer
