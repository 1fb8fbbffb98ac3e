// Functions that every template may call.
#include "template/Operations.h"
#include "template/Texts.h"
#include <cstdio>
#include <ctime>

namespace perpend::templates {
namespace {

constexpr int64_t maxRange = 100'000;

Value rangeOf(Machine &machine, const Arguments &arguments) {
  if (arguments.keywordCount || arguments.count < 1 || arguments.count > 3)
    return machine.fail("range: expected one to three integers");
  int64_t numbers[3] = {0, 0, 1};
  for (size_t i = 0; i < arguments.count; ++i)
    numbers[arguments.count == 1 ? 1 : i] = wholeArgument(machine, "range", arguments.values[i], 0);
  auto *range = machine.allocate<RangeData>(1);
  if (!machine.ok())
    return none();
  *range = {numbers[0], numbers[1], numbers[2]};
  if (range->step == 0)
    return machine.fail("range: the step is 0");
  const bool isEmpty = range->step > 0 ? range->start >= range->stop : range->start <= range->stop;
  Value value = object(Range, range);
  if (isEmpty)
    return value;
  const uint64_t distance = range->step > 0 ? static_cast<uint64_t>(range->stop) - static_cast<uint64_t>(range->start)
                                            : static_cast<uint64_t>(range->start) - static_cast<uint64_t>(range->stop);
  const uint64_t step = range->step > 0 ? static_cast<uint64_t>(range->step) : -static_cast<uint64_t>(range->step);
  value.size = (distance - 1) / step + 1;
  if (value.size > static_cast<uint64_t>(maxRange))
    return machine.fail("range: more than %lld values", static_cast<long long>(maxRange));
  return value;
}

// dict(x, a=1): the pairs of x, then the named ones.
Value dictFrom(Machine &machine, const char *name, const Arguments &arguments) {
  ValueList pairs(machine);
  if (arguments.count > 1)
    return machine.fail("%s: expected at most one value without a name", name);
  if (arguments.count && arguments.values[0].kind == Dict) {
    for (size_t i = 0; i < 2 * arguments.values[0].size && machine.ok(); ++i)
      pairs.add(arguments.values[0].as.items[i]);
  } else if (arguments.count) {
    IteratorData *iterator = iterate(machine, arguments.values[0]);
    for (Value pair = none(); iterator && next(machine, *iterator, pair);) {
      if ((pair.kind != Tuple && pair.kind != List) || pair.size != 2 || !isHashable(pair.as.items[0]))
        return machine.fail("%s: expected a dict, or pairs of a key and a value", name);
      pairs.add(pair.as.items[0]);
      pairs.add(pair.as.items[1]);
    }
  }
  for (size_t i = 0; i < arguments.keywordCount; ++i) {
    pairs.add(text(arguments.keywords[i].name));
    pairs.add(arguments.keywords[i].value);
  }
  return machine.ok() ? dictOf(machine, pairs.begin(), pairs.count() / 2) : none();
}

Value raiseException(Machine &machine, const Arguments &arguments) {
  Value message = none();
  if (!bind(machine, "raise_exception", "message", 1, 0, arguments, &message, 1))
    return none();
  const Span shown = textOf(machine, message);
  const size_t size = shown.size < PERPEND_TEMPLATE_MESSAGE_BYTES ? shown.size : PERPEND_TEMPLATE_MESSAGE_BYTES;
  return machine.fail("%.*s", static_cast<int>(size), shown.data);
}

// What Python's datetime replaces before the C library formats the rest.
Span withoutPythonFields(Machine &machine, Span format, long nanoseconds) {
  Builder out(machine);
  for (size_t i = 0; i < format.size && machine.ok(); ++i) {
    const char next = format.data[i] == '%' && i + 1 < format.size ? format.data[i + 1] : '\0';
    char digits[16];
    if (next == 'f') {
      snprintf(digits, sizeof digits, "%06ld", nanoseconds / 1000);
      out.add(digits);
    } else if (next && next != 'z' && next != 'Z') {
      out.add(Span{format.data + i, 2});
    }
    if (next)
      ++i;
    else
      out.add(format.data[i]);
  }
  out.add('\0');
  return out.text();
}

Value strftimeNow(Machine &machine, const Arguments &arguments) {
  Value given = none();
  if (!bind(machine, "strftime_now", "format", 1, 0, arguments, &given, 1))
    return none();
  const Span format = textArgument(machine, "strftime_now", given);
  if (find(format, {"\0", 1}) >= 0)
    return machine.fail("strftime_now: the format has a NUL");
  timespec now = {};
  tm parts = {};
  clock_gettime(CLOCK_REALTIME, &now);
  localtime_r(&now.tv_sec, &parts);
  const Span plain = withoutPythonFields(machine, format, now.tv_nsec);
  if (!machine.ok() || plain.size < 2)
    return text({"", 0});
  constexpr size_t most = 1024;
  char *written = machine.allocate<char>(most);
  if (!written)
    return none();
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
  const size_t size = strftime(written, most, plain.data, &parts);
#pragma clang diagnostic pop
  for (size_t i = 0; i < size;)
    if (nextCode({written, size}, i) >= 0x200000)
      return machine.fail("strftime_now: the locale's text is not UTF-8");
  return size ? text({written, size})
              : machine.fail("strftime_now: the format gives nothing, or more than %zu bytes", most);
}

constexpr const char *names[] = {
#define FUNCTION(NAME, TEXT) TEXT,
#include "template/Functions.def"
};

} // namespace

Value namespaceOf(Machine &machine, const Arguments &arguments) {
  const Value dict = dictFrom(machine, "namespace", arguments);
  auto *data = machine.allocate<NamespaceData>(1);
  Value *pairs = machine.allocate<Value>(2 * dict.size);
  if (!machine.ok())
    return none();
  for (size_t i = 0; i < 2 * dict.size; ++i)
    pairs[i] = dict.as.items[i];
  *data = {pairs, dict.size, dict.size};
  return object(Namespace, data);
}

bool findFunction(Span name, Value &function) {
  for (uint32_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (name == names[i]) {
      function = make(Function, i);
      return true;
    }
  return false;
}

Value callFunction(Machine &machine, FunctionKind function, const Arguments &arguments) {
  switch (function) {
  case FunctionKind::Range:
    return rangeOf(machine, arguments);
  case FunctionKind::Dict:
    return dictFrom(machine, "dict", arguments);
  case FunctionKind::Namespace:
    return namespaceOf(machine, arguments);
  case FunctionKind::RaiseException:
    return raiseException(machine, arguments);
  case FunctionKind::StrftimeNow:
    return strftimeNow(machine, arguments);
  default:
    return machine.fail("the template's table is damaged");
  }
}

} // namespace perpend::templates
