// Arithmetic, and the operators of texts and lists. Where Python's result would have more than 64 bits, or its digits
// are not known here, there is an error.
#include "template/Operations.h"
#include "template/Texts.h"

namespace perpend::templates {
namespace {

const char *symbolOf(NodeKind kind) {
  switch (kind) {
  case NodeKind::Add:
    return "+";
  case NodeKind::Subtract:
    return "-";
  case NodeKind::Multiply:
    return "*";
  case NodeKind::Divide:
    return "/";
  case NodeKind::FloorDivide:
    return "//";
  case NodeKind::Modulo:
    return "%";
  default:
    return "**";
  }
}

Value failOperands(Machine &machine, NodeKind kind, Value a, Value b) {
  if (a.kind == Undefined || b.kind == Undefined)
    return machine.failUndefined(a.kind == Undefined ? a : b);
  return machine.fail("a %s %s a %s is not defined, or not known here", kindName(a), symbolOf(kind), kindName(b));
}

Value failWide(Machine &machine) { return machine.fail("an integer needs more than 64 bits"); }

Value power(Machine &machine, int64_t base, int64_t exponent) {
  if (exponent < 0)
    return machine.fail("a power with a negative exponent is not known here");
  int64_t result = 1;
  for (; exponent; --exponent)
    if (!machine.charge(1) || __builtin_mul_overflow(result, base, &result))
      return failWide(machine);
  return integer(result);
}

Value operateOnIntegers(Machine &machine, NodeKind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
  case NodeKind::Add:
    return __builtin_add_overflow(a, b, &result) ? failWide(machine) : integer(result);
  case NodeKind::Subtract:
    return __builtin_sub_overflow(a, b, &result) ? failWide(machine) : integer(result);
  case NodeKind::Multiply:
    return __builtin_mul_overflow(a, b, &result) ? failWide(machine) : integer(result);
  case NodeKind::Power:
    return power(machine, a, b);
  default:
    break;
  }
  if (b == 0)
    return machine.fail("division by zero");
  if (kind == NodeKind::Divide) {
    constexpr int64_t exact = int64_t{1} << 53;
    if (a > exact || a < -exact || b > exact || b < -exact)
      return machine.fail("division of integers beyond 2^53 is not known here");
    return number(static_cast<double>(a) / static_cast<double>(b));
  }
  if (b == -1)
    return kind == NodeKind::Modulo                         ? integer(0)
           : __builtin_sub_overflow(int64_t{0}, a, &result) ? failWide(machine)
                                                            : integer(result);
  const bool isBelow = a % b != 0 && (a < 0) != (b < 0);
  return integer(kind == NodeKind::Modulo ? a % b + (isBelow ? b : 0) : a / b - isBelow);
}

Value operateOnFloats(Machine &machine, NodeKind kind, Value a, Value b) {
  const double x = asDouble(a), y = asDouble(b);
  switch (kind) {
  case NodeKind::Add:
    return number(x + y);
  case NodeKind::Subtract:
    return number(x - y);
  case NodeKind::Multiply:
    return number(x * y);
  case NodeKind::Divide:
    return y == 0 ? machine.fail("division by zero") : number(x / y);
  default:
    return failOperands(machine, kind, a, b);
  }
}

Value joinLists(Machine &machine, Value a, Value b) {
  Value *values = machine.allocate<Value>(a.size + b.size);
  if (!values || !machine.charge(a.size + b.size))
    return none();
  for (size_t i = 0; i < a.size; ++i)
    values[i] = a.as.items[i];
  for (size_t i = 0; i < b.size; ++i)
    values[a.size + i] = b.as.items[i];
  return items(a.kind, values, a.size + b.size);
}

Value repeat(Machine &machine, Value value, int64_t times) {
  if (value.kind == Text) {
    Builder out(machine);
    for (int64_t i = 0; i < times && value.size && machine.ok(); ++i)
      out.add(span(value));
    return out.value();
  }
  ValueList values(machine);
  for (int64_t i = 0; i < times && value.size && machine.ok(); ++i)
    for (size_t j = 0; j < value.size; ++j)
      values.add(value.as.items[j]);
  return values.value(value.kind);
}

void addHtml(Builder &out, Span text) {
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    const char *escaped = c == '&'    ? "&amp;"
                          : c == '<'  ? "&lt;"
                          : c == '>'  ? "&gt;"
                          : c == '"'  ? "&#34;"
                          : c == '\'' ? "&#39;"
                                      : nullptr;
    if (escaped)
      out.add(escaped);
    else
      out.add(c);
  }
}

// A text that is marked safe makes the other one safe first.
Value addSafe(Machine &machine, Value a, Value b) {
  Builder out(machine);
  const Value parts[] = {a, b};
  for (const Value &part : parts)
    if (part.kind == Safe)
      out.add(span(part));
    else
      addHtml(out, span(part));
  return out.value(Safe);
}

bool isRepeatable(Value value) { return value.kind == Text || value.kind == List || value.kind == Tuple; }

} // namespace

Value escapeHtml(Machine &machine, Value value) {
  if (value.kind == Safe)
    return value;
  Builder out(machine);
  addHtml(out, textOf(machine, value));
  return out.value(Safe);
}

Value operate(Machine &machine, NodeKind kind, Value a, Value b) {
  if (isNumber(a) && isNumber(b))
    return a.kind == Float || b.kind == Float ? operateOnFloats(machine, kind, a, b)
                                              : operateOnIntegers(machine, kind, a.as.integer, b.as.integer);
  if (kind == NodeKind::Add && isText(a) && isText(b)) {
    if (a.kind == Safe || b.kind == Safe)
      return addSafe(machine, a, b);
    Builder out(machine);
    out.add(span(a));
    out.add(span(b));
    return out.value();
  }
  if (kind == NodeKind::Add && a.kind == b.kind && (a.kind == List || a.kind == Tuple))
    return joinLists(machine, a, b);
  if (kind == NodeKind::Multiply && isRepeatable(a) && isWhole(b))
    return repeat(machine, a, b.as.integer);
  if (kind == NodeKind::Multiply && isRepeatable(b) && isWhole(a))
    return repeat(machine, b, a.as.integer);
  if (kind == NodeKind::Modulo && a.kind == Text)
    return formatPercent(machine, span(a), b);
  return failOperands(machine, kind, a, b);
}

Value negate(Machine &machine, Value value, bool isPlus) {
  if (value.kind == Undefined)
    return machine.failUndefined(value);
  if (value.kind == Float)
    return number(isPlus ? value.as.number : -value.as.number);
  if (!isWhole(value))
    return machine.fail("the sign of a %s is not defined", kindName(value));
  if (isPlus)
    return integer(value.as.integer);
  int64_t result = 0;
  return __builtin_sub_overflow(int64_t{0}, value.as.integer, &result) ? failWide(machine) : integer(result);
}

} // namespace perpend::templates
