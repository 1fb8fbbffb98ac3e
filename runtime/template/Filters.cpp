// Which function a filter is.
#include "template/Filters.h"
#include "template/Texts.h"

namespace perpend::templates {
namespace {

constexpr size_t mostParameters = 4;

constexpr const char *parameterNames[] = {
#define FILTER(NAME, LEAST, PARAMETERS) PARAMETERS,
#include "template/Filters.def"
};

size_t parameterCount(FilterKind filter) {
  const char *names = parameterNames[static_cast<uint32_t>(filter)];
  size_t count = *names != 0;
  for (; *names; ++names)
    count += *names == ' ';
  return count;
}

// An argument of json.dumps: null, an integer or a text.
bool readIndent(Machine &machine, Value given, JsonStyle &style) {
  style.isIndented = isGiven(given) && given.kind != None;
  if (!style.isIndented)
    return true;
  if (isText(given)) {
    style.indent = span(given);
    return true;
  }
  const int64_t width = wholeArgument(machine, "indent", given, 0);
  if (width > 1000) {
    machine.fail("tojson: an indent of more than 1000");
    return false;
  }
  Builder spaces(machine);
  for (int64_t i = 0; i < width; ++i)
    spaces.add(' ');
  style.indent = spaces.text();
  return machine.ok();
}

Value jsonFilter(Machine &machine, Value operand, const Value *a) {
  JsonStyle style;
  style.ascii = isGivenTrue(machine, a[0]);
  style.sortKeys = isGivenTrue(machine, a[3]);
  if (!readIndent(machine, a[1], style))
    return none();
  if (style.isIndented)
    style.item = {",", 1};
  if (isGiven(a[2]) && a[2].kind != None) {
    if ((a[2].kind != Tuple && a[2].kind != List) || a[2].size != 2)
      return machine.fail("tojson: separators are two texts");
    style.item = textArgument(machine, "separators", a[2].as.items[0]);
    style.key = textArgument(machine, "separators", a[2].as.items[1]);
  }
  return toJson(machine, operand, style);
}

Value defaultFilter(Machine &machine, Value operand, const Value *a) {
  const bool isMissing = operand.kind == Undefined || (isGivenTrue(machine, a[1]) && !isTrue(machine, operand));
  return !isMissing ? operand : isGiven(a[0]) ? a[0] : text({"", 0});
}

Value lengthFilter(Machine &machine, Value operand) {
  if (operand.kind == Loop)
    return attributeOf(machine, operand, span("length"));
  machine.chargeBytes(isText(operand) ? operand.size : 1);
  const int64_t length = lengthOfValue(operand);
  return length < 0 ? machine.fail("length: a %s has none; hint: |list makes a list of it", kindName(operand))
                    : integer(length);
}

} // namespace

Value applyFilter(Machine &machine, FilterKind filter, Value operand, const Value *arguments, size_t count) {
  Nested nested(machine);
  if (!nested || !machine.charge(1))
    return none();
  if (filter == FilterKind::Format)
    return formatPercent(machine, textOf(machine, operand), items(Tuple, arguments, count));
  Value a[mostParameters];
  if (count != parameterCount(filter))
    return machine.fail("the template's table is damaged");
  for (size_t i = 0; i < mostParameters; ++i)
    a[i] = i < count ? arguments[i] : absent();
  switch (filter) {
  case FilterKind::Default:
    return defaultFilter(machine, operand, a);
  case FilterKind::Length:
    return lengthFilter(machine, operand);
  case FilterKind::ToJson:
    return jsonFilter(machine, operand, a);
  case FilterKind::Items:
  case FilterKind::Map:
  case FilterKind::Select:
  case FilterKind::Reject:
  case FilterKind::SelectAttribute:
  case FilterKind::RejectAttribute:
  case FilterKind::Unique:
    return lazily(machine, filter, operand, a, count);
  case FilterKind::Abs:
  case FilterKind::Round:
  case FilterKind::ToInteger:
  case FilterKind::ToFloat:
    return numberFilter(machine, filter, operand, a);
  case FilterKind::DictSort:
  case FilterKind::First:
  case FilterKind::Join:
  case FilterKind::Last:
  case FilterKind::Max:
  case FilterKind::Min:
  case FilterKind::Reverse:
  case FilterKind::Sort:
  case FilterKind::Sum:
  case FilterKind::ToList:
    return sequenceFilter(machine, filter, operand, a);
  default:
    return textFilter(machine, filter, operand, a);
  }
}

} // namespace perpend::templates
