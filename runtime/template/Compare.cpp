// Truth, equality, order and membership.
#include "template/Operations.h"
#include "template/Texts.h"
#include <cstdint>

namespace perpend::templates {
namespace {

// -1, 0, 1, or 2: not ordered. An integer and a float are compared exactly.
int compareNumbers(Value a, Value b) {
  if (a.kind != Float && b.kind != Float)
    return a.as.integer < b.as.integer ? -1 : a.as.integer > b.as.integer;
  if (a.kind == Float && b.kind == Float)
    return a.as.number < b.as.number ? -1 : a.as.number > b.as.number ? 1 : a.as.number == b.as.number ? 0 : 2;
  if (a.kind == Float) {
    const int order = compareNumbers(b, a);
    return order == 2 ? 2 : -order;
  }
  const double number = b.as.number;
  if (number != number)
    return 2;
  if (number >= 9223372036854775808.0)
    return -1;
  if (number < -9223372036854775808.0)
    return 1;
  const auto whole = static_cast<int64_t>(number);
  if (a.as.integer != whole)
    return a.as.integer < whole ? -1 : 1;
  const double rest = number - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

int compareTexts(Machine &machine, Span a, Span b) {
  const size_t size = a.size < b.size ? a.size : b.size;
  machine.chargeBytes(size);
  const int order = size ? memcmp(a.data, b.data, size) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

bool equalDicts(Machine &machine, Value a, Value b) {
  bool isEqual = a.size == b.size;
  for (size_t i = 0; i < a.size && isEqual && machine.ok(); ++i) {
    const Value *other = lookUp(machine, b, a.as.items[2 * i]);
    isEqual = other && equal(machine, a.as.items[2 * i + 1], *other);
  }
  return isEqual;
}

bool equalLists(Machine &machine, Value a, Value b) {
  bool isEqual = a.size == b.size;
  for (size_t i = 0; i < a.size && isEqual && machine.ok(); ++i)
    isEqual = equal(machine, a.as.items[i], b.as.items[i]);
  return isEqual;
}

} // namespace

bool isTrue(Machine &machine, Value value) {
  switch (value.kind) {
  case None:
  case Undefined:
  case Absent:
    return false;
  case Bool:
  case Integer:
    return value.as.integer != 0;
  case Float:
    return value.as.number != 0;
  case Text:
  case Safe:
  case List:
  case Tuple:
  case Dict:
  case Range:
  case View:
    return value.size != 0;
  case Loop:
    machine.fail("the truth of `loop` is not known here");
    return false;
  default:
    return true;
  }
}

bool equal(Machine &machine, Value a, Value b) {
  Nested nested(machine);
  if (!nested || !machine.charge(1))
    return false;
  if (isNumber(a) && isNumber(b))
    return compareNumbers(a, b) == 0;
  if (isText(a) && isText(b))
    return machine.chargeBytes(a.size) && span(a) == span(b);
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case None:
  case Undefined:
    return true;
  case List:
  case Tuple:
    return equalLists(machine, a, b);
  case Dict:
    return equalDicts(machine, a, b);
  case Namespace:
  case Macro:
  case Loop:
  case Iterator:
    return a.as.object == b.as.object;
  case Function:
    return a.detail == b.detail;
  default:
    machine.fail("whether two values of kind %s are equal is not known here", kindName(a));
    return false;
  }
}

bool less(Machine &machine, Value a, Value b) {
  Nested nested(machine);
  if (!nested || !machine.charge(1))
    return false;
  if (a.kind == Undefined || b.kind == Undefined) {
    machine.failUndefined(a.kind == Undefined ? a : b);
    return false;
  }
  if (isNumber(a) && isNumber(b))
    return compareNumbers(a, b) == -1;
  if (isText(a) && isText(b))
    return compareTexts(machine, span(a), span(b)) < 0;
  if (a.kind == b.kind && (a.kind == List || a.kind == Tuple)) {
    for (size_t i = 0; i < a.size && i < b.size && machine.ok(); ++i)
      if (!equal(machine, a.as.items[i], b.as.items[i]))
        return less(machine, a.as.items[i], b.as.items[i]);
    return a.size < b.size;
  }
  machine.fail("a %s and a %s have no order", kindName(a), kindName(b));
  return false;
}

bool isHashable(Value value) {
  if (value.kind != Tuple)
    return value.kind != List && value.kind != Dict;
  for (size_t i = 0; i < value.size; ++i)
    if (value.as.items[i].kind == Tuple || !isHashable(value.as.items[i]))
      return false;
  return true;
}

const Value *lookUp(Machine &machine, Value dict, Value key) {
  if (!isHashable(key)) {
    machine.fail("a %s is no key", kindName(key));
    return nullptr;
  }
  const bool isPlain = key.kind == Text;
  for (size_t i = 0; i < dict.size && machine.ok(); ++i) {
    const Value &other = dict.as.items[2 * i];
    if (i % 16 == 0)
      machine.charge(1);
    if (isPlain && other.kind == Text ? span(other) == span(key)
                                      : isText(other) == isText(key) && equal(machine, other, key))
      return &dict.as.items[2 * i + 1];
  }
  return nullptr;
}

// Finds keys by their hashes while a dict is built.
class KeyIndex {
public:
  KeyIndex(Machine &machine, size_t count) : machine(machine) {
    while (size < 2 * count)
      size *= 2;
    places = machine.allocate<uint32_t>(size);
    if (places)
      memset(places, 0, size * sizeof *places);
  }
  // The place of a key in `pairs`, or where it belongs: 0 there, or its number + 1.
  uint32_t *find(const Value *pairs, Span key) {
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; i < key.size; ++i)
      hash = (hash ^ static_cast<unsigned char>(key.data[i])) * 1099511628211U;
    machine.chargeBytes(key.size);
    for (size_t at = (hash ^ hash >> 29) % size; machine.charge(1); at = (at + 1) % size)
      if (!places[at] || span(pairs[2 * (places[at] - 1)]) == key)
        return &places[at];
    return nullptr;
  }

private:
  Machine &machine;
  size_t size = 16;
  uint32_t *places;
};

// If all keys are texts, by hashes; else by comparing each with all.
Value dictOf(Machine &machine, const Value *pairs, size_t count) {
  Value *kept = machine.allocate<Value>(2 * count);
  Value dict = items(Dict, kept, 0);
  bool allTexts = count > 8 && count < UINT32_MAX;
  for (size_t i = 0; i < count && allTexts; ++i)
    allTexts = isText(pairs[2 * i]);
  KeyIndex index(machine, allTexts ? count : 0);
  for (size_t i = 0; i < count && machine.ok(); ++i) {
    const Value key = pairs[2 * i];
    uint32_t *place = allTexts ? index.find(kept, span(key)) : nullptr;
    const Value *old = allTexts ? place && *place ? &kept[2 * *place - 1] : nullptr : lookUp(machine, dict, key);
    if (!machine.ok())
      break;
    if (old) {
      kept[old - kept] = pairs[2 * i + 1];
      continue;
    }
    kept[2 * dict.size] = key;
    kept[2 * dict.size + 1] = pairs[2 * i + 1];
    ++dict.size;
    if (place)
      *place = static_cast<uint32_t>(dict.size);
  }
  return dict;
}

bool contains(Machine &machine, Value container, Value item) {
  if (isText(container)) {
    if (!isText(item)) {
      if (item.kind == Undefined)
        machine.fail("'in' of a text: expected a text on the left, got an undefined value");
      else
        machine.fail("'in' of a text: expected a text on the left, got a %s", kindName(item));
      return false;
    }
    return machine.chargeBytes(container.size) && find(span(container), span(item)) >= 0;
  }
  if (container.kind == Dict)
    return lookUp(machine, container, item) != nullptr;
  if (container.kind == View && static_cast<ViewKind>(container.detail) == ViewKind::Keys)
    return lookUp(machine, items(Dict, container.as.items, container.size), item) != nullptr;
  IteratorData *iterator = iterate(machine, container);
  for (Value other = none(); iterator && next(machine, *iterator, other);)
    if (equal(machine, other, item))
      return true;
  return false;
}

bool compare(Machine &machine, Comparison comparison, Value a, Value b) {
  switch (comparison) {
  case Comparison::Equal:
    return equal(machine, a, b);
  case Comparison::NotEqual:
    return !equal(machine, a, b);
  case Comparison::Less:
    return less(machine, a, b);
  case Comparison::Greater:
    return less(machine, b, a);
  case Comparison::LessEqual:
  case Comparison::GreaterEqual: {
    const bool isSwapped = comparison == Comparison::GreaterEqual;
    if (less(machine, isSwapped ? b : a, isSwapped ? a : b))
      return true;
    return machine.ok() && equal(machine, a, b);
  }
  case Comparison::In:
    return contains(machine, b, a);
  case Comparison::NotIn:
    return !contains(machine, b, a);
  default:
    machine.fail("the template's table is damaged");
    return false;
  }
}

// By merging, which is stable, and in reverse keeps the order of equal ones, too.
void sortBy(Machine &machine, Value *keys, Value *values, size_t count, bool reverse) {
  Value *otherKeys = machine.allocate<Value>(count), *otherValues = machine.allocate<Value>(count);
  for (size_t width = 1; width < count && machine.ok(); width *= 2) {
    for (size_t start = 0; start < count && machine.ok(); start += 2 * width) {
      const size_t middle = start + width < count ? start + width : count;
      const size_t end = start + 2 * width < count ? start + 2 * width : count;
      for (size_t i = start, a = start, b = middle; i < end && machine.ok(); ++i) {
        const bool takesB =
            a == middle || (b < end && (reverse ? less(machine, keys[a], keys[b]) : less(machine, keys[b], keys[a])));
        const size_t from = takesB ? b++ : a++;
        otherKeys[i] = keys[from];
        otherValues[i] = values[from];
      }
    }
    if (machine.ok()) {
      memcpy(keys, otherKeys, count * sizeof(Value));
      memcpy(values, otherValues, count * sizeof(Value));
    }
  }
}

} // namespace perpend::templates
