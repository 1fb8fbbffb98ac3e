// Characters and texts. Texts are valid UTF-8: the entry points check what comes from outside.
#include "template/Texts.h"
#include "library/Case.h"
#include "library/Utf8.h"

namespace perpend::templates {
namespace {

struct CodeRange {
  uint32_t first, last;
};
constexpr CodeRange unprintable[] = {
#define UNPRINTABLE(FIRST, LAST) {FIRST, LAST},
#include "template/Unprintable.def"
};

enum SpecialKind : uint32_t { UPPER, TITLE, LOWER };
struct SpecialCase {
  SpecialKind kind;
  uint32_t code;
  char text[12];
};
constexpr SpecialCase specialCases[] = {
#define SPECIAL(KIND, CODE, TEXT) {KIND, CODE, TEXT},
#include "template/SpecialCases.def"
};

const char *special(SpecialKind kind, uint32_t code) {
  if (code < 0x80)
    return nullptr;
  for (const SpecialCase &entry : specialCases)
    if (entry.code == code && entry.kind == kind)
      return entry.text;
  return nullptr;
}

// The last character before a position in bytes.
uint32_t codeBefore(Span text, size_t position) {
  while (position-- && (static_cast<unsigned char>(text.data[position]) & 0xC0) == 0x80) {
  }
  return nextCode(text, position);
}

enum class Casing { Cased, Ignored, Neither, Unknown };
// What Unicode's rule for the final sigma asks of its neighbours. Known of ASCII and of letters that have another case.
Casing casing(uint32_t code) {
  if (library::toUpper(code) != code || library::toLower(code) != code || special(UPPER, code))
    return Casing::Cased;
  if (code < 0x80)
    return code == '\'' || code == '.' || code == ':' || code == '^' || code == '`' ? Casing::Ignored : Casing::Neither;
  if (isSpace(code) || (code >= 0x3040 && code < 0xA000) || (code >= 0xAC00 && code < 0xD7A4))
    return Casing::Neither;
  return Casing::Unknown;
}

// A capital sigma that ends a word has another lower case.
void addLowerSigma(Machine &machine, Builder &out, Span text, size_t start, size_t end) {
  Casing before = Casing::Neither, after = Casing::Neither;
  for (size_t i = start; i; --i) {
    if ((static_cast<unsigned char>(text.data[i - 1]) & 0xC0) == 0x80)
      continue;
    size_t position = i - 1;
    before = casing(nextCode(text, position));
    if (before != Casing::Ignored)
      break;
  }
  for (size_t i = end; i < text.size;) {
    after = casing(nextCode(text, i));
    if (after != Casing::Ignored)
      break;
  }
  if (before == Casing::Unknown || after == Casing::Unknown)
    machine.fail("the lower case of a capital sigma next to such characters is not known");
  out.addCode(before == Casing::Cased && after != Casing::Cased ? 0x3C2 : 0x3C3);
}

void addUpper(Builder &out, uint32_t code, bool isTitle) {
  const char *text = isTitle ? special(TITLE, code) : nullptr;
  text = text ? text : special(UPPER, code);
  if (text)
    out.add(text);
  else
    out.addCode(library::toUpper(code));
}

} // namespace

bool isUtf8(Span text) {
  for (int64_t i = 0, size = static_cast<int64_t>(text.size); i < size;)
    if (static_cast<unsigned char>(text.data[i]) < 0x80)
      ++i;
    else if (library::decode(text.data, size, i) >= library::invalidByte)
      return false;
  return true;
}

bool isSpace(uint32_t code) {
  return code == ' ' || (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x1F) || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

bool isLineBreak(uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

bool isPrintable(uint32_t code) {
  size_t low = 0, high = sizeof unprintable / sizeof *unprintable;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (unprintable[middle].last < code)
      low = middle + 1;
    else
      high = middle;
  }
  return low == sizeof unprintable / sizeof *unprintable || code < unprintable[low].first;
}

uint32_t nextCode(Span text, size_t &position) {
  auto signedPosition = static_cast<int64_t>(position);
  const uint32_t code = library::decode(text.data, static_cast<int64_t>(text.size), signedPosition);
  position = static_cast<size_t>(signedPosition);
  return code;
}

size_t lengthOf(Span text) {
  size_t length = 0;
  for (size_t i = 0; i < text.size; ++i)
    length += (static_cast<unsigned char>(text.data[i]) & 0xC0) != 0x80;
  return length;
}

size_t byteOffset(Span text, size_t characters) {
  size_t i = 0;
  for (; i < text.size; ++i)
    if ((static_cast<unsigned char>(text.data[i]) & 0xC0) != 0x80 && characters-- == 0)
      break;
  return i;
}

Span strip(Span text, const Span *chars, int side) {
  auto isTaken = [&](uint32_t code) {
    if (!chars)
      return isSpace(code);
    for (size_t i = 0; i < chars->size;)
      if (nextCode(*chars, i) == code)
        return true;
    return false;
  };
  size_t first = 0, last = text.size;
  while (side <= 0 && first < last) {
    size_t next = first;
    if (!isTaken(nextCode(text, next)))
      break;
    first = next;
  }
  while (side >= 0 && first < last && isTaken(codeBefore(text, last)))
    do
      --last;
    while ((static_cast<unsigned char>(text.data[last]) & 0xC0) == 0x80);
  return {text.data + first, last - first};
}

int64_t find(Span text, Span part, bool last) {
  if (part.size > text.size)
    return -1;
  if (!part.size)
    return last ? static_cast<int64_t>(text.size) : 0;
  if (!last) {
    const void *found = memmem(text.data, text.size, part.data, part.size);
    return found ? static_cast<const char *>(found) - text.data : -1;
  }
  for (size_t i = text.size - part.size + 1; i--;)
    if (text.data[i] == part.data[0] && !memcmp(text.data + i, part.data, part.size))
      return static_cast<int64_t>(i);
  return -1;
}

bool startsWith(Span text, Span part) { return part.size <= text.size && Span{text.data, part.size} == part; }
bool endsWith(Span text, Span part) {
  return part.size <= text.size && Span{text.data + text.size - part.size, part.size} == part;
}

void addInCase(Machine &machine, Builder &out, Span text, Case wanted) {
  for (size_t i = 0; i < text.size && machine.ok();) {
    const size_t start = i;
    const uint32_t code = nextCode(text, i);
    if (wanted == Case::Upper || (wanted == Case::Capital && start == 0))
      addUpper(out, code, wanted == Case::Capital);
    else if (code == 0x3A3)
      addLowerSigma(machine, out, text, start, i);
    else if (const char *lower = special(LOWER, code))
      out.add(lower);
    else
      out.addCode(library::toLower(code));
  }
}

Span inCase(Machine &machine, Span text, Case wanted) {
  Builder out(machine);
  addInCase(machine, out, text, wanted);
  return out.text();
}

// Words begin behind white space and -({[<, and each is changed on its own.
Span titleFilter(Machine &machine, Span text) {
  Builder out(machine);
  auto isBreak = [](uint32_t code) {
    return isSpace(code) || code == '-' || code == '(' || code == '{' || code == '[' || code == '<';
  };
  for (size_t i = 0; i < text.size && machine.ok();) {
    size_t end = i, next = i;
    const bool inBreak = isBreak(nextCode(text, next));
    for (end = next; end < text.size; end = next)
      if (next = end; isBreak(nextCode(text, next)) != inBreak)
        break;
    const size_t first = byteOffset({text.data + i, end - i}, 1);
    addInCase(machine, out, {text.data + i, first}, Case::Upper);
    addInCase(machine, out, {text.data + i + first, end - i - first}, Case::Lower);
    i = end;
  }
  return out.text();
}

Value titleMethod(Machine &machine, Span text) {
  Builder out(machine);
  bool inWord = false;
  for (size_t i = 0; i < text.size && machine.ok();) {
    const size_t start = i;
    const uint32_t code = nextCode(text, i);
    const Casing kind = casing(code);
    if (kind == Casing::Unknown)
      return machine.fail("title() of U+%04X is not known; hint: use the filter title", code);
    if (inWord)
      addInCase(machine, out, {text.data + start, i - start}, Case::Lower);
    else
      addUpper(out, code, true);
    if (inWord && code == 0x3A3)
      return machine.fail("title() of a capital sigma is not known; hint: use the filter title");
    inWord = kind == Casing::Cased;
  }
  return out.value();
}

Span replace(Machine &machine, Span text, Span old, Span with, int64_t most) {
  Builder out(machine);
  size_t position = 0;
  while (most != 0 && machine.charge(1)) {
    const Span rest = {text.data + position, text.size - position};
    const int64_t found = find(rest, old);
    if (found < 0)
      break;
    out.add(Span{rest.data, static_cast<size_t>(found)});
    out.add(with);
    position += static_cast<size_t>(found) + old.size;
    most -= most > 0;
    if (old.size)
      continue;
    if (position == text.size) // between all characters, and at both ends
      return out.text();
    size_t next = position;
    nextCode(text, next);
    out.add(Span{text.data + position, next - position});
    position = next;
  }
  out.add(Span{text.data + position, text.size - position});
  return out.text();
}

static Value inOrder(Machine &machine, ValueList &parts, bool fromEnd) {
  for (size_t i = 0; fromEnd && machine.ok() && i < parts.count() / 2; ++i) {
    const Value other = parts[i];
    parts[i] = parts[parts.count() - 1 - i];
    parts[parts.count() - 1 - i] = other;
  }
  return parts.value(List);
}

Value splitAtSpace(Machine &machine, Span text, int64_t most, bool fromEnd) {
  ValueList parts(machine);
  for (Span rest = strip(text, nullptr, fromEnd ? 1 : -1); rest.size && machine.ok();) {
    if (most >= 0 && static_cast<int64_t>(parts.count()) == most) {
      parts.add(templates::text(strip(rest, nullptr, fromEnd ? 1 : -1)));
      break;
    }
    size_t end = fromEnd ? rest.size : 0;
    if (fromEnd) {
      while (end && !isSpace(codeBefore(rest, end)))
        do
          --end;
        while ((static_cast<unsigned char>(rest.data[end]) & 0xC0) == 0x80);
      parts.add(templates::text({rest.data + end, rest.size - end}));
      rest = strip({rest.data, end}, nullptr, 1);
      continue;
    }
    for (size_t next = 0; end < rest.size; end = next)
      if (next = end; isSpace(nextCode(rest, next)))
        break;
    parts.add(templates::text({rest.data, end}));
    rest = strip({rest.data + end, rest.size - end}, nullptr, -1);
  }
  machine.chargeBytes(text.size);
  return inOrder(machine, parts, fromEnd);
}

Value split(Machine &machine, Span text, Span separator, int64_t most, bool fromEnd) {
  if (!separator.size)
    return machine.fail("split: the separator is empty");
  ValueList parts(machine);
  Span rest = text;
  machine.chargeBytes(text.size);
  while (machine.ok()) {
    const int64_t found =
        most >= 0 && static_cast<int64_t>(parts.count()) == most ? -1 : find(rest, separator, fromEnd);
    if (found < 0)
      break;
    const size_t at = static_cast<size_t>(found), behind = at + separator.size;
    parts.add(templates::text(fromEnd ? Span{rest.data + behind, rest.size - behind} : Span{rest.data, at}));
    rest = fromEnd ? Span{rest.data, at} : Span{rest.data + behind, rest.size - behind};
  }
  parts.add(templates::text(rest));
  return inOrder(machine, parts, fromEnd);
}

Value splitLines(Machine &machine, Span text, bool keepEnds) {
  ValueList lines(machine);
  machine.chargeBytes(text.size);
  for (size_t start = 0; start < text.size && machine.ok();) {
    size_t end = start, next = start;
    bool isBroken = false;
    for (; end < text.size; end = next) {
      next = end;
      const uint32_t code = nextCode(text, next);
      isBroken = isLineBreak(code);
      if (isBroken) {
        next += code == '\r' && next < text.size && text.data[next] == '\n';
        break;
      }
    }
    next = isBroken ? next : text.size;
    lines.add(templates::text({text.data + start, (keepEnds ? next : end) - start}));
    start = next;
  }
  return lines.value(List);
}

Value pad(Machine &machine, Span text, int64_t width, Span fill, int side) {
  if (lengthOf(fill) != 1)
    return machine.fail("expected one character to fill with");
  const auto length = static_cast<int64_t>(lengthOf(text));
  if (width <= length)
    return templates::text(text);
  const int64_t missing = width - length;
  // Python centres so that an odd character goes left exactly if the width is odd.
  const int64_t left = side < 0 ? missing : side > 0 ? 0 : missing / 2 + (missing & width & 1);
  Builder out(machine);
  for (int64_t i = 0; i < left && machine.ok(); ++i)
    out.add(fill);
  out.add(text);
  for (int64_t i = left; i < missing && machine.ok(); ++i)
    out.add(fill);
  return out.value();
}

} // namespace perpend::templates
