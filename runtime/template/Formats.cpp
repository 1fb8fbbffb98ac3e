// Texts with places for values: "%s and %d" % (a, b), and "{} and {name}".format(a, name=b).
#include "template/Operations.h"
#include "template/Texts.h"
#include <cstdio>

namespace perpend::templates {
namespace {

// "%[-0][width][.digits]": what stands between % and the letter.
struct Directive {
  bool isLeft = false, isZero = false;
  int width = 0, digits = -1;
};

bool readNumber(Span format, size_t &i, int &number) {
  for (number = 0; i < format.size && format.data[i] >= '0' && format.data[i] <= '9'; ++i)
    if (number = number * 10 + (format.data[i] - '0'); number > 1000)
      return false;
  return true;
}

bool readDirective(Span format, size_t &i, Directive &directive) {
  for (; i < format.size && (format.data[i] == '-' || format.data[i] == '0'); ++i)
    (format.data[i] == '-' ? directive.isLeft : directive.isZero) = true;
  if (!readNumber(format, i, directive.width))
    return false;
  if (i < format.size && format.data[i] == '.')
    return readNumber(format, ++i, directive.digits);
  return true;
}

void addPadded(Machine &machine, Builder &out, Span text, const Directive &directive) {
  out.add(span(pad(machine, text, directive.width, {" ", 1}, directive.isLeft ? 1 : -1)));
}

void addFormatted(Machine &machine, Builder &out, char letter, const Directive &directive, Value value) {
  char digits[512];
  if (letter == 's' || letter == 'r') {
    Builder text(machine);
    if (letter == 's')
      addText(machine, text, value);
    else
      addRepresentation(machine, text, value);
    Span content = text.text();
    if (directive.digits >= 0)
      content.size = byteOffset(content, static_cast<size_t>(directive.digits));
    return addPadded(machine, out, content, directive);
  }
  const bool isInteger = letter == 'd' || letter == 'i' || letter == 'x' || letter == 'X';
  if (isInteger && isWhole(value) && directive.digits < 0) {
    const bool isHex = letter == 'x' || letter == 'X';
    if (isHex && value.as.integer < 0) {
      machine.fail("%%%c of a negative integer is not known here", letter);
      return;
    }
    const char format[] = {'%', directive.isZero ? '0' : '-', '*', 'l', 'l', isHex ? letter : 'd', 0};
    snprintf(digits, sizeof digits, format, directive.isZero && !directive.isLeft ? directive.width % 400 : 0,
             static_cast<long long>(value.as.integer));
    return addPadded(machine, out, span(digits), directive);
  }
  if (letter == 'f' && isNumber(value) && directive.digits <= 100 && !directive.isZero) {
    snprintf(digits, sizeof digits, "%.*f", directive.digits < 0 ? 6 : directive.digits, asDouble(value));
    return addPadded(machine, out, span(digits), directive);
  }
  machine.fail("'%%%c' of a %s is not known here; known are %%s %%r %%d %%i %%x %%X %%f", letter, kindName(value));
}

// The value of a field: "", "0", "name"; what follows it ("!r", ":>8", ".a") is not known.
Value fieldValue(Machine &machine, Span field, const Arguments &arguments, size_t &automatic) {
  bool isNumber = true;
  size_t number = 0;
  for (size_t i = 0; i < field.size && number < 1000; ++i) {
    isNumber &= field.data[i] >= '0' && field.data[i] <= '9';
    number = number * 10 + static_cast<size_t>(field.data[i] - '0');
    if (strchr("!:.[", field.data[i]))
      return machine.fail("format: the field '{%.*s}' is not known here; known are {}, {0} and {name}",
                          static_cast<int>(field.size < 100 ? field.size : 100), field.data);
  }
  constexpr size_t numbered = SIZE_MAX;
  if (isNumber) {
    if (field.size ? automatic && automatic != numbered : automatic == numbered)
      return machine.fail("format: fields are numbered or not, but not both");
    const size_t index = field.size ? number : automatic++;
    if (field.size)
      automatic = numbered;
    return index < arguments.count ? arguments.values[index] : machine.fail("format: no argument %zu", index);
  }
  for (size_t i = 0; i < arguments.keywordCount; ++i)
    if (arguments.keywords[i].name == field)
      return arguments.keywords[i].value;
  return machine.fail("format: no argument '%.*s'", static_cast<int>(field.size < 100 ? field.size : 100), field.data);
}

} // namespace

Value formatPercent(Machine &machine, Span format, Value arguments) {
  Builder out(machine);
  const bool isTuple = arguments.kind == Tuple;
  const size_t count = isTuple ? arguments.size : 1;
  size_t used = 0, i = 0;
  while (i < format.size && machine.ok()) {
    const void *percent = memchr(format.data + i, '%', format.size - i);
    const size_t end = percent ? static_cast<size_t>(static_cast<const char *>(percent) - format.data) : format.size;
    out.add(Span{format.data + i, end - i});
    if (!percent)
      break;
    i = end + 1;
    Directive directive;
    if (!readDirective(format, i, directive) || i == format.size)
      return machine.fail("a format after %% is not known here");
    const char letter = format.data[i++];
    if (letter == '%')
      out.add('%');
    else if (used == count)
      return machine.fail("not enough values for the format");
    else
      addFormatted(machine, out, letter, directive, isTuple ? arguments.as.items[used] : arguments);
    used += letter != '%';
  }
  // Python lets a dict be unused.
  if (used < count && !(arguments.kind == Dict || arguments.kind == List))
    return machine.fail("more values than the format has places");
  if (used < count && arguments.kind == List)
    return out.value();
  return out.value();
}

Value formatBraces(Machine &machine, Span format, const Arguments &arguments) {
  Builder out(machine);
  size_t automatic = 0;
  for (size_t i = 0; i < format.size && machine.ok(); ++i) {
    const char c = format.data[i];
    if (c != '{' && c != '}') {
      out.add(c);
      continue;
    }
    if (i + 1 < format.size && format.data[i + 1] == c) {
      out.add(c);
      ++i;
      continue;
    }
    const void *close = c == '{' ? memchr(format.data + i, '}', format.size - i) : nullptr;
    if (!close)
      return machine.fail("format: a single '%c'", c);
    const size_t end = static_cast<size_t>(static_cast<const char *>(close) - format.data);
    addText(machine, out, fieldValue(machine, {format.data + i + 1, end - i - 1}, arguments, automatic));
    i = end;
  }
  return out.value();
}

} // namespace perpend::templates
