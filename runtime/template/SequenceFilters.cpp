// Filters of lists, dicts and iterators.
#include "template/Filters.h"
#include "template/Texts.h"

namespace perpend::templates {
namespace {

Value foldCase(Machine &machine, Value value, bool isCaseSensitive) {
  return isText(value) && !isCaseSensitive ? text(inCase(machine, span(value), Case::Lower)) : value;
}

// What to compare: the value, or what lies at paths separated by commas, as a list where Python makes one.
Value keyOf(Machine &machine, Value value, Value path, bool isCaseSensitive) {
  if (!isGiven(path) || path.kind == None)
    return foldCase(machine, value, isCaseSensitive);
  if (!isText(path))
    return foldCase(machine, valueAt(machine, value, path, absent()), isCaseSensitive);
  ValueList keys(machine);
  const Value paths = split(machine, span(path), {",", 1}, -1, false);
  for (size_t i = 0; i < paths.size && machine.ok(); ++i)
    keys.add(foldCase(machine, valueAt(machine, value, paths.as.items[i], absent()), isCaseSensitive));
  return keys.value(List);
}

Value sortFilter(Machine &machine, Value operand, const Value *a) {
  ValueList keys(machine), values(machine);
  const bool isCaseSensitive = isGivenTrue(machine, a[1]);
  IteratorData *iterator = iterate(machine, operand);
  for (Value value = none(); iterator && next(machine, *iterator, value);) {
    keys.add(keyOf(machine, value, a[2], isCaseSensitive));
    values.add(value);
  }
  if (machine.ok())
    sortBy(machine, keys.values(), values.values(), values.count(), isGivenTrue(machine, a[0]));
  return values.value(List);
}

Value dictSortFilter(Machine &machine, Value operand, const Value *a) {
  if (operand.kind != Dict)
    return operand.kind == Undefined ? machine.failUndefined(operand)
                                     : machine.fail("dictsort: expected a dict, got a %s", kindName(operand));
  const bool byValue = isGiven(a[1]) && isText(a[1]) && span(a[1]) == "value";
  if (isGiven(a[1]) && !byValue && !(isText(a[1]) && span(a[1]) == "key"))
    return machine.fail("dictsort: by is 'key' or 'value'");
  ValueList keys(machine), pairs(machine);
  for (size_t i = 0; i < operand.size && machine.ok(); ++i) {
    Value *pair = machine.allocate<Value>(2);
    if (!pair)
      return none();
    pair[0] = operand.as.items[2 * i];
    pair[1] = operand.as.items[2 * i + 1];
    keys.add(foldCase(machine, pair[byValue], isGivenTrue(machine, a[0])));
    pairs.add(items(Tuple, pair, 2));
  }
  if (machine.ok())
    sortBy(machine, keys.values(), pairs.values(), pairs.count(), isGivenTrue(machine, a[2]));
  return pairs.value(List);
}

Value extremeFilter(Machine &machine, Value operand, const Value *a, bool wantsMost) {
  IteratorData *iterator = iterate(machine, operand);
  Value best = machine.undefined(span("no value: the sequence is empty"), Absence::Message), bestKey = absent();
  const bool isCaseSensitive = isGivenTrue(machine, a[0]);
  for (Value value = none(); iterator && next(machine, *iterator, value);) {
    const bool hasPath = isGiven(a[1]) && a[1].kind != None;
    const Value at = hasPath ? valueAt(machine, value, a[1], absent()) : value;
    const Value key = foldCase(machine, at, isCaseSensitive);
    if (!isGiven(bestKey) || (wantsMost ? less(machine, bestKey, key) : less(machine, key, bestKey))) {
      best = value;
      bestKey = key;
    }
  }
  return best;
}

Value joinFilter(Machine &machine, Value operand, const Value *a) {
  Builder out(machine);
  const Span separator = isGiven(a[0]) ? textOf(machine, a[0]) : Span{"", 0};
  const bool hasPath = isGiven(a[1]) && a[1].kind != None;
  IteratorData *iterator = iterate(machine, operand);
  bool isFirst = true;
  for (Value value = none(); iterator && next(machine, *iterator, value); isFirst = false) {
    if (!isFirst)
      out.add(separator);
    addText(machine, out, hasPath ? valueAt(machine, value, a[1], absent()) : value);
  }
  return out.value();
}

Value sumFilter(Machine &machine, Value operand, const Value *a) {
  Value sum = isGiven(a[1]) ? a[1] : integer(0);
  if (isText(sum))
    return machine.fail("sum: the start is a text; hint: use join");
  const bool hasPath = isGiven(a[0]) && a[0].kind != None;
  IteratorData *iterator = iterate(machine, operand);
  for (Value value = none(); iterator && next(machine, *iterator, value);) {
    const Value term = hasPath ? valueAt(machine, value, a[0], absent()) : value;
    // Python adds floats with a correction of its own from version 3.12 on.
    if (term.kind == Float && sum.kind == Float)
      return machine.fail("sum of several floats is not known here");
    sum = operate(machine, NodeKind::Add, sum, term);
  }
  return sum;
}

Value firstOf(Machine &machine, IteratorData *iterator, const char *otherwise) {
  Value value = none();
  if (iterator && next(machine, *iterator, value))
    return value;
  return machine.undefined(span(otherwise), Absence::Message);
}

Value reverseFilter(Machine &machine, Value operand) {
  if (operand.kind == Iterator)
    operand = listOf(machine, operand);
  const Value backwards = reversed(machine, operand);
  if (!isText(operand) || !machine.ok())
    return backwards;
  Builder out(machine);
  for (Value character = none(); next(machine, *static_cast<IteratorData *>(backwards.as.object), character);)
    out.add(span(character));
  return out.value(operand.kind);
}

} // namespace

Value sequenceFilter(Machine &machine, FilterKind filter, Value operand, const Value *a) {
  switch (filter) {
  case FilterKind::First:
    return firstOf(machine, iterate(machine, operand), "no first item: the sequence is empty");
  case FilterKind::Last: {
    const Value backwards = reversed(machine, operand);
    return machine.ok() ? firstOf(machine, static_cast<IteratorData *>(backwards.as.object),
                                  "no last item: the sequence is empty")
                        : none();
  }
  case FilterKind::Join:
    return joinFilter(machine, operand, a);
  case FilterKind::Min:
  case FilterKind::Max:
    return extremeFilter(machine, operand, a, filter == FilterKind::Max);
  case FilterKind::Sort:
    return sortFilter(machine, operand, a);
  case FilterKind::DictSort:
    return dictSortFilter(machine, operand, a);
  case FilterKind::Sum:
    return sumFilter(machine, operand, a);
  case FilterKind::Reverse:
    return reverseFilter(machine, operand);
  default:
    return listOf(machine, operand);
  }
}

} // namespace perpend::templates
