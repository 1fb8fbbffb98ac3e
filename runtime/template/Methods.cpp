// Methods of texts, dicts, lists and loops, as Python's.
#include "template/Loops.h"
#include "template/Operations.h"
#include "template/Texts.h"

namespace perpend::templates {

enum class MethodKind : uint32_t {
#define METHOD(OWNER, NAME, LEAST, PARAMETERS, POSITIONAL) OWNER##_##NAME,
#include "template/Methods.def"
  End
};

namespace {

struct MethodRule {
  uint32_t owner;
  const char *name;
  size_t least;
  const char *parameters;
  size_t positional;
};
constexpr MethodRule rules[] = {
#define METHOD(OWNER, NAME, LEAST, PARAMETERS, POSITIONAL) {OWNER, #NAME, LEAST, PARAMETERS, POSITIONAL},
#include "template/Methods.def"
};
constexpr struct {
  uint32_t owner;
  const char *name;
} unknown[] = {
#define UNKNOWN_METHOD(OWNER, NAME) {OWNER, #NAME},
#include "template/Methods.def"
};

constexpr size_t mostParameters = 3;

size_t parameterCount(const char *parameters) {
  size_t count = *parameters != 0;
  for (; *parameters; ++parameters)
    count += *parameters == ' ';
  return count;
}

// Part of a text between two positions, as Python's find and its relatives take them; offset in bytes.
bool rangeOf(Machine &machine, Span text, Value start, Value end, Span &part, size_t &offset) {
  auto place = [&](Value value, int64_t otherwise) {
    return value.kind == None ? otherwise : wholeArgument(machine, "position", value, otherwise);
  };
  const auto length = static_cast<int64_t>(lengthOf(text));
  int64_t first = place(start, 0), last = place(end, length);
  first = first < 0 ? first + length < 0 ? 0 : first + length : first;
  last = last < 0 ? last + length < 0 ? 0 : last + length : last > length ? length : last;
  if (first > last || first > length)
    return false;
  offset = byteOffset(text, static_cast<size_t>(first));
  part = {text.data + offset, byteOffset(text, static_cast<size_t>(last)) - offset};
  return true;
}

Value found(Machine &machine, MethodKind kind, Span text, const Value *a) {
  const bool isLast = kind == MethodKind::Text_rfind || kind == MethodKind::Text_rindex;
  const Span wanted = textArgument(machine, "find", a[0]);
  Span part = {};
  size_t offset = 0;
  machine.chargeBytes(text.size);
  const int64_t at = rangeOf(machine, text, a[1], a[2], part, offset) ? find(part, wanted, isLast) : -1;
  if (at < 0 && (kind == MethodKind::Text_index || kind == MethodKind::Text_rindex))
    return machine.fail("index: the text does not have this part");
  return integer(at < 0 ? -1 : static_cast<int64_t>(lengthOf({text.data, offset + static_cast<size_t>(at)})));
}

Value counted(Machine &machine, Span text, const Value *a) {
  const Span wanted = textArgument(machine, "count", a[0]);
  Span part = {};
  size_t offset = 0;
  int64_t count = 0;
  if (!rangeOf(machine, text, a[1], a[2], part, offset))
    return integer(0);
  machine.chargeBytes(text.size);
  if (!wanted.size)
    return integer(static_cast<int64_t>(lengthOf(part)) + 1);
  for (int64_t at = find(part, wanted); at >= 0; at = find(part, wanted), ++count) {
    const size_t behind = static_cast<size_t>(at) + wanted.size;
    part = {part.data + behind, part.size - behind};
  }
  return integer(count);
}

Value startsOrEnds(Machine &machine, bool starts, Span text, const Value *a) {
  const Value *options = a[0].kind == Tuple ? a[0].as.items : a;
  Span part = {};
  size_t offset = 0;
  const bool isInside = rangeOf(machine, text, a[1], a[2], part, offset);
  bool holds = false;
  for (size_t i = 0; i < (a[0].kind == Tuple ? a[0].size : 1) && machine.ok() && !holds; ++i) {
    const Span wanted = textArgument(machine, starts ? "startswith" : "endswith", options[i]);
    holds = isInside && (starts ? startsWith(part, wanted) : endsWith(part, wanted));
  }
  return boolean(holds);
}

// Of ASCII; other characters are not known here.
Value isOfClass(Machine &machine, MethodKind kind, Span text) {
  bool holds = text.size > 0, isCased = false;
  for (size_t i = 0; i < text.size;) {
    const uint32_t code = nextCode(text, i);
    if (code >= 0x80 && kind != MethodKind::Text_isspace)
      return machine.fail("isalpha, isdigit and their relatives are known of ASCII only, got U+%04X", code);
    const bool isLower = code >= 'a' && code <= 'z', isUpper = code >= 'A' && code <= 'Z';
    const bool isDigit = code >= '0' && code <= '9';
    isCased |= isLower || isUpper;
    holds &= kind == MethodKind::Text_isalpha   ? isLower || isUpper
             : kind == MethodKind::Text_isdigit ? isDigit
             : kind == MethodKind::Text_isalnum ? isLower || isUpper || isDigit
             : kind == MethodKind::Text_isspace ? isSpace(code)
             : kind == MethodKind::Text_islower ? !isUpper
                                                : !isLower;
  }
  const bool needsCased = kind == MethodKind::Text_islower || kind == MethodKind::Text_isupper;
  return boolean(holds && (isCased || !needsCased));
}

Value stripped(Machine &machine, Span text, Value chars, int side) {
  machine.chargeBytes(text.size);
  if (!isGiven(chars) || chars.kind == None)
    return templates::text(strip(text, nullptr, side));
  const Span taken = textArgument(machine, "strip", chars);
  machine.chargeBytes(text.size / 16 * taken.size);
  return templates::text(strip(text, &taken, side));
}

Value parted(Machine &machine, Span text, Value separator, bool isLast) {
  const Span wanted = textArgument(machine, "partition", separator);
  if (machine.ok() && !wanted.size)
    return machine.fail("partition: the separator is empty");
  Value *parts = machine.allocate<Value>(3);
  const int64_t at = machine.chargeBytes(text.size) ? find(text, wanted, isLast) : -1;
  if (!machine.ok())
    return none();
  const size_t start = static_cast<size_t>(at), end = start + wanted.size;
  const Value whole = templates::text(text), empty = templates::text({text.data, 0});
  parts[0] = at < 0 ? (isLast ? empty : whole) : templates::text({text.data, start});
  parts[1] = at < 0 ? empty : templates::text(wanted);
  parts[2] = at < 0 ? (isLast ? whole : empty) : templates::text({text.data + end, text.size - end});
  return items(Tuple, parts, 3);
}

Value joined(Machine &machine, Span separator, Value values) {
  Builder out(machine);
  IteratorData *iterator = iterate(machine, values);
  bool isFirst = true;
  for (Value value = none(); iterator && next(machine, *iterator, value); isFirst = false) {
    out.add(isFirst ? Span{"", 0} : separator);
    out.add(textArgument(machine, "join", value));
  }
  return out.value();
}

Value splitBy(Machine &machine, Span text, const Value *a, bool fromEnd) {
  const int64_t most = wholeArgument(machine, "maxsplit", a[1], -1);
  if (!isGiven(a[0]) || a[0].kind == None)
    return splitAtSpace(machine, text, most, fromEnd);
  const Span separator = textArgument(machine, "split", a[0]);
  return machine.ok() ? split(machine, text, separator, most, fromEnd) : none();
}

Value zeroFilled(Machine &machine, Span text, Value width) {
  const bool hasSign = text.size && (text.data[0] == '-' || text.data[0] == '+');
  const int64_t wanted = wholeArgument(machine, "zfill", width, 0) - hasSign;
  const Value digits = pad(machine, {text.data + hasSign, text.size - hasSign}, wanted, {"0", 1}, -1);
  Builder out(machine);
  out.add(Span{text.data, hasSign});
  out.add(span(digits));
  return out.value();
}

Value withoutAffix(Machine &machine, Span text, Value affix, bool isPrefix) {
  const Span part = textArgument(machine, "removeprefix", affix);
  if (isPrefix ? !startsWith(text, part) : !endsWith(text, part))
    return templates::text(text);
  return templates::text({text.data + (isPrefix ? part.size : 0), text.size - part.size});
}

Value padded(Machine &machine, Span text, const Value *a, int side) {
  const Span fill = isGiven(a[1]) ? textArgument(machine, "fillchar", a[1]) : Span{" ", 1};
  return pad(machine, text, wholeArgument(machine, "width", a[0], 0), fill, side);
}

Value callOfText(Machine &machine, MethodKind kind, Span text, const Value *a) {
  switch (kind) {
  case MethodKind::Text_capitalize:
    return templates::text(inCase(machine, text, Case::Capital));
  case MethodKind::Text_center:
    return padded(machine, text, a, 0);
  case MethodKind::Text_count:
    return counted(machine, text, a);
  case MethodKind::Text_startswith:
  case MethodKind::Text_endswith:
    return startsOrEnds(machine, kind == MethodKind::Text_startswith, text, a);
  case MethodKind::Text_find:
  case MethodKind::Text_rfind:
  case MethodKind::Text_index:
  case MethodKind::Text_rindex:
    return found(machine, kind, text, a);
  case MethodKind::Text_join:
    return joined(machine, text, a[0]);
  case MethodKind::Text_ljust:
    return padded(machine, text, a, 1);
  case MethodKind::Text_rjust:
    return padded(machine, text, a, -1);
  case MethodKind::Text_lower:
    return templates::text(inCase(machine, text, Case::Lower));
  case MethodKind::Text_upper:
    return templates::text(inCase(machine, text, Case::Upper));
  case MethodKind::Text_title:
    return titleMethod(machine, text);
  case MethodKind::Text_strip:
    return stripped(machine, text, a[0], 0);
  case MethodKind::Text_lstrip:
    return stripped(machine, text, a[0], -1);
  case MethodKind::Text_rstrip:
    return stripped(machine, text, a[0], 1);
  case MethodKind::Text_partition:
  case MethodKind::Text_rpartition:
    return parted(machine, text, a[0], kind == MethodKind::Text_rpartition);
  case MethodKind::Text_removeprefix:
  case MethodKind::Text_removesuffix:
    return withoutAffix(machine, text, a[0], kind == MethodKind::Text_removeprefix);
  case MethodKind::Text_replace: {
    const Span old = textArgument(machine, "replace", a[0]), with = textArgument(machine, "replace", a[1]);
    return templates::text(replace(machine, text, old, with, wholeArgument(machine, "count", a[2], -1)));
  }
  case MethodKind::Text_split:
  case MethodKind::Text_rsplit:
    return splitBy(machine, text, a, kind == MethodKind::Text_rsplit);
  case MethodKind::Text_splitlines:
    return splitLines(machine, text, isGiven(a[0]) && isTrue(machine, a[0]));
  case MethodKind::Text_zfill:
    return zeroFilled(machine, text, a[0]);
  default:
    return isOfClass(machine, kind, text);
  }
}

Value callOfList(Machine &machine, MethodKind kind, Value list, const Value *a) {
  if (kind == MethodKind::List_copy)
    return list;
  const bool isCount = kind == MethodKind::List_count || kind == MethodKind::Tuple_count;
  if (!isCount && (isGiven(a[1]) || isGiven(a[2])))
    return machine.fail("index of a list with bounds is not known here");
  int64_t count = 0;
  for (size_t i = 0; i < list.size && machine.ok(); ++i)
    if (equal(machine, list.as.items[i], a[0])) {
      if (!isCount)
        return integer(static_cast<int64_t>(i));
      ++count;
    }
  return isCount ? integer(count) : machine.fail("index: the list does not have this value");
}

Value callOfDict(Machine &machine, MethodKind kind, Value dict, const Value *a) {
  if (kind == MethodKind::Dict_copy)
    return dict;
  if (kind == MethodKind::Dict_get) {
    const Value *found = lookUp(machine, dict, a[0]);
    return found ? *found : isGiven(a[1]) ? a[1] : none();
  }
  const ViewKind view = kind == MethodKind::Dict_keys     ? ViewKind::Keys
                        : kind == MethodKind::Dict_values ? ViewKind::Values
                                                          : ViewKind::Items;
  return items(View, dict.as.items, dict.size, static_cast<uint32_t>(view));
}

} // namespace

bool findMethod(Machine &machine, Value owner, Span name, Value &method) {
  if (owner.kind == Loop && loopAttribute(machine, owner, name, method))
    return true;
  const uint32_t kind = owner.kind == Safe ? uint32_t{Text} : owner.kind == Bool ? uint32_t{Integer} : owner.kind;
  for (uint32_t i = 0; i < sizeof rules / sizeof *rules; ++i)
    if (rules[i].owner == kind && name == rules[i].name) {
      Value *kept = machine.allocate<Value>(1);
      if (!kept)
        return false;
      *kept = owner;
      method = object(Method, kept, i);
      return true;
    }
  for (const auto &entry : unknown)
    if (entry.owner == kind && name == entry.name)
      machine.fail("'%s' of a %s is not known here; hint: docs/howto/render-a-chat-template.md lists what is",
                   entry.name, kindName(owner));
  return false;
}

Value callMethod(Machine &machine, Value method, const Arguments &arguments) {
  const MethodRule &rule = rules[method.detail];
  const Value owner = *static_cast<const Value *>(method.as.object);
  const auto kind = static_cast<MethodKind>(method.detail);
  if (owner.kind == Safe)
    return machine.fail("'%s' of a text that is marked safe is not known here", rule.name);
  if (kind == MethodKind::Text_format)
    return formatBraces(machine, span(owner), arguments);
  if (owner.kind == Loop)
    return callOfLoop(machine, owner, kind == MethodKind::Loop_cycle, arguments);
  Value bound[mostParameters];
  if (!bind(machine, rule.name, rule.parameters, rule.least, rule.positional, arguments, bound,
            parameterCount(rule.parameters)))
    return none();
  if (owner.kind == Text)
    return callOfText(machine, kind, span(owner), bound);
  return owner.kind == Dict ? callOfDict(machine, kind, owner, bound) : callOfList(machine, kind, owner, bound);
}

} // namespace perpend::templates
