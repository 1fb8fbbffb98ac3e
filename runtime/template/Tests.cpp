// Tests: what stands behind `is`.
#include "template/Operations.h"
#include "template/Texts.h"

namespace perpend::templates {
namespace {

bool isRemainder(Machine &machine, Value value, Value divisor, int64_t wanted) {
  const Value rest = operate(machine, NodeKind::Modulo, value, divisor);
  return machine.ok() && equal(machine, rest, integer(wanted));
}

bool isInCase(Machine &machine, Value value, const char *method) {
  Value found = none();
  const Value whole = text(textOf(machine, value));
  return findMethod(machine, whole, span(method), found) && isTrue(machine, callMethod(machine, found, {}));
}

// Whether two values are one object. Python's answer for texts and large numbers depends on how they came about.
bool isSame(Machine &machine, Value a, Value b) {
  if (a.kind != b.kind)
    return false;
  if (a.kind == None)
    return true;
  if (a.kind == Bool)
    return a.as.integer == b.as.integer;
  machine.fail("sameas of two values of kind %s is not known here; hint: use ==", kindName(a));
  return false;
}

bool isSequence(Value value) {
  return isText(value) || value.kind == List || value.kind == Tuple || value.kind == Dict || value.kind == Range ||
         value.kind == Undefined;
}

bool isCallable(Value value) {
  return value.kind == Macro || value.kind == Method || value.kind == Function || value.kind == Loop ||
         value.kind == Undefined;
}

} // namespace

bool applyTest(Machine &machine, TestKind test, Value value, const Value *arguments, size_t count) {
  const Value other = count ? arguments[0] : absent();
  switch (test) {
  case TestKind::Boolean:
    return value.kind == Bool;
  case TestKind::Callable:
    return isCallable(value);
  case TestKind::Defined:
    return value.kind != Undefined;
  case TestKind::Undefined:
    return value.kind == Undefined;
  case TestKind::DivisibleBy:
    return isRemainder(machine, value, other, 0);
  case TestKind::Even:
    return isRemainder(machine, value, integer(2), 0);
  case TestKind::Odd:
    return isRemainder(machine, value, integer(2), 1);
  case TestKind::Escaped:
    return value.kind == Safe;
  case TestKind::False:
    return value.kind == Bool && !value.as.integer;
  case TestKind::True:
    return value.kind == Bool && value.as.integer;
  case TestKind::Float:
    return value.kind == Float;
  case TestKind::Integer:
    return value.kind == Integer;
  case TestKind::Number:
    return isNumber(value);
  case TestKind::String:
    return isText(value);
  case TestKind::Mapping:
    return value.kind == Dict;
  case TestKind::None:
    return value.kind == None;
  case TestKind::Iterable:
    return isIterable(value);
  case TestKind::Sequence:
    return isSequence(value);
  case TestKind::Lower:
    return isInCase(machine, value, "islower");
  case TestKind::Upper:
    return isInCase(machine, value, "isupper");
  case TestKind::SameAs:
    return isSame(machine, value, other);
  case TestKind::In:
    return contains(machine, other, value);
  case TestKind::Equal:
    return equal(machine, value, other);
  case TestKind::NotEqual:
    return !equal(machine, value, other);
  case TestKind::Less:
    return compare(machine, Comparison::Less, value, other);
  case TestKind::LessEqual:
    return compare(machine, Comparison::LessEqual, value, other);
  case TestKind::Greater:
    return compare(machine, Comparison::Greater, value, other);
  case TestKind::GreaterEqual:
    return compare(machine, Comparison::GreaterEqual, value, other);
  default:
    machine.fail("the template's table is damaged");
    return false;
  }
}

} // namespace perpend::templates
