// Attributes, items and slices. A name that a value lacks is undefined, which is an error when it is used.
#include "template/Operations.h"
#include "template/Texts.h"
#include <cstdio>

namespace perpend::templates {
namespace {

Value *namespaceSlot(Value space, Span name) {
  const auto *data = static_cast<const NamespaceData *>(space.as.object);
  for (size_t i = 0; i < data->count; ++i)
    if (isText(data->pairs[2 * i]) && span(data->pairs[2 * i]) == name)
      return &data->pairs[2 * i + 1];
  return nullptr;
}

// What Python finds as an attribute. false: nothing.
bool ownAttribute(Machine &machine, Value value, Span name, Value &result) {
  if (value.kind == Namespace) {
    const Value *found = namespaceSlot(value, name);
    result = found ? *found : none();
    machine.charge(static_cast<NamespaceData *>(value.as.object)->count / 8 + 1);
    return found;
  }
  return findMethod(machine, value, name, result);
}

// value[index] where that exists. false: it does not, as for wrong types.
bool ownItem(Machine &machine, Value value, Value index, Value &result) {
  if (value.kind == Dict) {
    if (!isHashable(index))
      return false;
    const Value *found = lookUp(machine, value, index);
    result = found ? *found : none();
    return found;
  }
  if (!isWhole(index) || !(isText(value) || value.kind == List || value.kind == Tuple || value.kind == Range))
    return false;
  const int64_t length = lengthOfValue(value);
  const int64_t at = index.as.integer < 0 ? index.as.integer + length : index.as.integer;
  machine.chargeBytes(isText(value) ? value.size : 1);
  if (at < 0 || at >= length)
    return false;
  if (isText(value)) {
    const size_t start = byteOffset(span(value), static_cast<size_t>(at));
    size_t end = start;
    nextCode(span(value), end);
    result = text({value.as.text + start, end - start}, value.kind);
  } else if (value.kind == Range) {
    const auto *range = static_cast<const RangeData *>(value.as.object);
    result = integer(range->start + at * range->step);
  } else {
    result = value.as.items[at];
  }
  return true;
}

Value undefinedItem(Machine &machine, Value index) {
  if (isText(index))
    return machine.undefined(span(index), Absence::Attribute);
  if (index.kind > Text)
    return machine.undefined(span(kindName(index)), Absence::Attribute);
  return machine.undefined(textOf(machine, index), Absence::Attribute);
}

// The bounds of a slice, as Python's slice.indices gives them.
struct Bounds {
  int64_t start, stop, step;
};
bool boundsOf(Machine &machine, int64_t length, Value start, Value stop, Value step, Bounds &bounds) {
  const Value parts[] = {start, stop, step};
  for (const Value &part : parts)
    if (!isWhole(part) && part.kind != None && isGiven(part)) {
      if (part.kind == Undefined)
        machine.failUndefined(part);
      else
        machine.fail("the bounds of a slice are integers, got a %s", kindName(part));
      return false;
    }
  bounds.step = isWhole(step) ? step.as.integer : 1;
  if (bounds.step == 0) {
    machine.fail("the step of a slice is 0");
    return false;
  }
  const bool isBack = bounds.step < 0;
  auto clip = [&](Value part, int64_t otherwise) {
    if (!isWhole(part))
      return otherwise;
    const int64_t at = part.as.integer < 0 ? part.as.integer + length : part.as.integer;
    const int64_t low = isBack ? -1 : 0, high = isBack ? length - 1 : length;
    return at < low ? low : at > high ? high : at;
  };
  bounds.start = clip(start, isBack ? length - 1 : 0);
  bounds.stop = clip(stop, isBack ? -1 : length);
  return true;
}

} // namespace

Value attributeOf(Machine &machine, Value value, Span name) {
  if (value.kind == Undefined)
    return machine.failUndefined(value);
  Value result = none();
  if (ownAttribute(machine, value, name, result))
    return result;
  if (machine.ok() && ownItem(machine, value, text(name), result))
    return result;
  return machine.undefined(name, Absence::Attribute);
}

Value itemOf(Machine &machine, Value value, Value index) {
  if (value.kind == Undefined)
    return machine.failUndefined(value);
  Value result = none();
  if (ownItem(machine, value, index, result))
    return result;
  if (machine.ok() && isText(index) && ownAttribute(machine, value, span(index), result))
    return result;
  return undefinedItem(machine, index);
}

Value sliceOf(Machine &machine, Value value, Value start, Value stop, Value step) {
  if (value.kind == Undefined)
    return machine.failUndefined(value);
  const bool isList = value.kind == List || value.kind == Tuple;
  if (value.kind == Range)
    return machine.fail("a slice of a range is not known here; hint: |list makes a list of it");
  if (!isList && !isText(value))
    return machine.fail("a %s has no slices", kindName(value));
  const int64_t length = lengthOfValue(value);
  Bounds bounds = {};
  if (!boundsOf(machine, length, start, stop, step, bounds))
    return none();
  machine.chargeBytes(isText(value) ? value.size : 1);
  if (bounds.step == 1) {
    const int64_t count = bounds.stop > bounds.start ? bounds.stop - bounds.start : 0;
    if (isList)
      return items(value.kind, value.as.items + bounds.start, static_cast<size_t>(count));
    const size_t first = byteOffset(span(value), static_cast<size_t>(bounds.start));
    const Span rest = {value.as.text + first, value.size - first};
    return text({rest.data, byteOffset(rest, static_cast<size_t>(count))}, value.kind);
  }
  const Value list = isList ? value : listOf(machine, value);
  ValueList picked(machine);
  Builder characters(machine);
  for (int64_t i = bounds.start; (bounds.step < 0 ? i > bounds.stop : i < bounds.stop) && machine.ok();) {
    if (isList)
      picked.add(list.as.items[i]);
    else
      characters.add(span(list.as.items[i]));
    if (__builtin_add_overflow(i, bounds.step, &i))
      break;
  }
  return isList ? picked.value(value.kind) : characters.value(value.kind);
}

Value valueAt(Machine &machine, Value value, Value path, Value otherwise) {
  if (!isText(path))
    return path.kind == None ? value : itemOf(machine, value, path);
  const Span whole = span(path);
  for (size_t start = 0; start <= whole.size && machine.ok();) {
    const void *dot = start < whole.size ? memchr(whole.data + start, '.', whole.size - start) : nullptr;
    const size_t end = dot ? static_cast<size_t>(static_cast<const char *>(dot) - whole.data) : whole.size;
    const Span part = {whole.data + start, end - start};
    int64_t index = 0;
    bool isIndex = part.size > 0 && part.size < 18;
    for (size_t i = 0; i < part.size && isIndex; ++i) {
      isIndex = part.data[i] >= '0' && part.data[i] <= '9';
      index = index * 10 + (part.data[i] - '0');
    }
    value = itemOf(machine, value, isIndex ? integer(index) : text(part));
    if (value.kind == Undefined && isGiven(otherwise))
      value = otherwise;
    start = end + 1;
  }
  return value;
}

void setAttribute(Machine &machine, Value space, Span name, Value value) {
  if (space.kind != Namespace) {
    machine.fail("cannot set '%.*s': only a namespace has attributes that can be set",
                 static_cast<int>(name.size % 200), name.data);
    return;
  }
  machine.charge(static_cast<NamespaceData *>(space.as.object)->count / 8 + 1);
  if (Value *slot = namespaceSlot(space, name)) {
    *slot = value;
    return;
  }
  auto *data = static_cast<NamespaceData *>(space.as.object);
  if (data->count == data->capacity) {
    Value *bigger = machine.allocate<Value>(4 * (data->count + 2));
    if (!bigger)
      return;
    if (data->count)
      memcpy(bigger, data->pairs, 2 * data->count * sizeof(Value));
    data->pairs = bigger;
    data->capacity = 2 * (data->count + 2);
  }
  data->pairs[2 * data->count] = text(name);
  data->pairs[2 * data->count + 1] = value;
  ++data->count;
}

} // namespace perpend::templates
