// Iterators. Those of map, select and their relatives compute a value when it is asked for, and give each one once.
#include "template/Operations.h"
#include "template/Texts.h"
#include <new>

namespace perpend::templates {
namespace {

Value rangeItem(Value range, size_t i) {
  const auto *data = static_cast<const RangeData *>(range.as.object);
  return integer(data->start + static_cast<int64_t>(i) * data->step);
}

Value pairOf(Machine &machine, const Value *pair) {
  Value *both = machine.allocate<Value>(2);
  if (!both)
    return none();
  both[0] = pair[0];
  both[1] = pair[1];
  return items(Tuple, both, 2);
}

// Number i of what has a length, without texts.
Value itemAt(Machine &machine, Value value, size_t i) {
  switch (value.kind) {
  case Range:
    return rangeItem(value, i);
  case Dict:
    return value.as.items[2 * i];
  case View:
    if (static_cast<ViewKind>(value.detail) == ViewKind::Items)
      return pairOf(machine, value.as.items + 2 * i);
    return value.as.items[2 * i + (static_cast<ViewKind>(value.detail) == ViewKind::Values)];
  default:
    return value.as.items[i];
  }
}

bool nextOfValue(Machine &machine, IteratorData &iterator, Value &value) {
  const Value over = iterator.value;
  if (over.kind == Undefined || iterator.position >= over.size)
    return false;
  if (isText(over)) {
    const size_t start = iterator.position;
    nextCode(span(over), iterator.position);
    value = text({over.as.text + start, iterator.position - start});
    return true;
  }
  value = itemAt(machine, over, iterator.position++);
  return true;
}

bool isSelected(Machine &machine, const IteratorData &iterator, Value value) {
  const bool ofAttribute =
      iterator.filter == FilterKind::SelectAttribute || iterator.filter == FilterKind::RejectAttribute;
  if (ofAttribute)
    value = valueAt(machine, value, iterator.arguments[0], absent());
  const Value test = iterator.arguments[ofAttribute];
  const bool holds = test.kind != Reference
                         ? isTrue(machine, value)
                         : applyTest(machine, static_cast<TestKind>(test.detail), value, test.as.items, test.size);
  return holds == (iterator.filter == FilterKind::Select || iterator.filter == FilterKind::SelectAttribute);
}

bool isNew(Machine &machine, IteratorData &iterator, Value value) {
  const Value path = iterator.arguments[1];
  Value key = isGiven(path) && path.kind != None ? valueAt(machine, value, path, absent()) : value;
  if (isText(key) && !(isGiven(iterator.arguments[0]) && isTrue(machine, iterator.arguments[0])))
    key = text(inCase(machine, span(key), Case::Lower));
  if (!isHashable(key)) {
    machine.fail("unique: a %s cannot be compared with others", kindName(key));
    return false;
  }
  for (size_t i = 0; i < iterator.seen->count() && machine.ok(); ++i)
    if (equal(machine, (*iterator.seen)[i], key))
      return false;
  iterator.seen->add(key);
  return true;
}

Value mapped(Machine &machine, const IteratorData &iterator, Value value) {
  const Value filter = iterator.arguments[0];
  if (filter.kind == Reference)
    return applyFilter(machine, static_cast<FilterKind>(filter.detail), value, filter.as.items, filter.size);
  const Value otherwise = iterator.arguments[2];
  return valueAt(machine, value, iterator.arguments[1], otherwise.kind == None ? absent() : otherwise);
}

bool nextMapped(Machine &machine, IteratorData &iterator, Value &value) {
  if (!iterator.started) {
    iterator.started = true;
    const bool asks = iterator.filter != FilterKind::Items && iterator.filter != FilterKind::Unique;
    iterator.ended = asks && !isTrue(machine, iterator.value);
    Value over = iterator.value;
    if (iterator.filter == FilterKind::Items) {
      if (over.kind != Dict && over.kind != Undefined)
        machine.fail("items: expected a dict, got a %s", kindName(over));
      if (over.kind == Dict)
        over = items(View, over.as.items, over.size, static_cast<uint32_t>(ViewKind::Items));
    }
    iterator.inner = iterator.ended ? nullptr : iterate(machine, over);
  }
  while (!iterator.ended && machine.ok() && next(machine, *iterator.inner, value)) {
    if (iterator.filter == FilterKind::Items)
      return true;
    if (iterator.filter == FilterKind::Map) {
      value = mapped(machine, iterator, value);
      return machine.ok();
    }
    if (iterator.filter == FilterKind::Unique ? isNew(machine, iterator, value) : isSelected(machine, iterator, value))
      return machine.ok();
  }
  iterator.ended = true;
  return false;
}

IteratorData *newIterator(Machine &machine, IteratorData::Source source, Value value) {
  auto *iterator = machine.allocate<IteratorData>(1);
  if (iterator)
    *iterator = {source, FilterKind::End, value, 0, nullptr, nullptr, nullptr, false, false};
  return iterator;
}

} // namespace

bool isIterable(Value value) {
  return isText(value) || value.kind == List || value.kind == Tuple || value.kind == Dict || value.kind == Range ||
         value.kind == View || value.kind == Iterator || value.kind == Undefined || value.kind == Loop;
}

IteratorData *iterate(Machine &machine, Value value) {
  if (value.kind == Iterator)
    return static_cast<IteratorData *>(value.as.object);
  if (!isIterable(value) || value.kind == Loop) {
    machine.fail("expected a list, a dict or a text to go over, got a %s", kindName(value));
    return nullptr;
  }
  return newIterator(machine, IteratorData::OfValue, value);
}

bool next(Machine &machine, IteratorData &iterator, Value &value) {
  Nested nested(machine);
  if (!nested || !machine.charge(1))
    return false;
  switch (iterator.source) {
  case IteratorData::OfValue:
    return nextOfValue(machine, iterator, value);
  case IteratorData::Reversed:
    if (!iterator.position)
      return false;
    value = itemAt(machine, iterator.value, --iterator.position);
    return true;
  default:
    return nextMapped(machine, iterator, value);
  }
}

Value lazily(Machine &machine, FilterKind filter, Value value, const Value *arguments, size_t count) {
  IteratorData *iterator = newIterator(machine, IteratorData::Mapped, value);
  Value *kept = machine.allocate<Value>(count + 1);
  auto *seen = machine.allocate<ValueList>(1);
  if (!machine.ok())
    return none();
  for (size_t i = 0; i < count; ++i)
    kept[i] = arguments[i];
  iterator->filter = filter;
  iterator->arguments = kept;
  iterator->seen = new (static_cast<void *>(seen)) ValueList(machine);
  return object(Iterator, iterator);
}

Value reversed(Machine &machine, Value value) {
  const int64_t length = lengthOfValue(value);
  if (length < 0)
    return machine.fail("expected a list, a dict or a text to go over in reverse, got a %s", kindName(value));
  if (isText(value)) {
    ValueList characters(machine);
    IteratorData *iterator = iterate(machine, value);
    for (Value character = none(); iterator && next(machine, *iterator, character);)
      characters.add(character);
    value = characters.value(List);
  }
  IteratorData *iterator = newIterator(machine, IteratorData::Reversed, value);
  if (!machine.ok())
    return none();
  iterator->position = value.kind == Undefined ? 0 : value.size;
  return object(Iterator, iterator);
}

Value listOf(Machine &machine, Value value) {
  ValueList values(machine);
  IteratorData *iterator = iterate(machine, value);
  for (Value item = none(); iterator && next(machine, *iterator, item);)
    values.add(item);
  return values.value(List);
}

int64_t lengthOfValue(Value value) {
  if (isText(value))
    return static_cast<int64_t>(lengthOf(span(value)));
  const bool hasLength = value.kind == List || value.kind == Tuple || value.kind == Dict || value.kind == Range ||
                         value.kind == View || value.kind == Undefined;
  return hasLength ? value.kind == Undefined ? 0 : static_cast<int64_t>(value.size) : -1;
}

} // namespace perpend::templates
