// Filters that make texts.
#include "template/Filters.h"
#include "template/Texts.h"

namespace perpend::templates {
namespace {

Value indentFilter(Machine &machine, Value operand, const Value *a) {
  if (operand.kind != Text)
    return operand.kind == Undefined ? machine.failUndefined(operand)
                                     : machine.fail("indent: expected a text, got a %s", kindName(operand));
  Builder indent(machine);
  if (isGiven(a[0]) && isText(a[0]))
    indent.add(span(a[0]));
  else
    for (int64_t i = 0, width = wholeArgument(machine, "indent", a[0], 4); i < width && machine.ok(); ++i)
      indent.add(' ');
  Builder whole(machine), out(machine);
  whole.add(span(operand));
  whole.add('\n'); // so that a text has a line at least, and the last line break counts
  const Value lines = splitLines(machine, whole.text(), false);
  const bool indentsFirst = isGivenTrue(machine, a[1]), indentsBlank = isGivenTrue(machine, a[2]);
  for (size_t i = 0; i < lines.size && machine.ok(); ++i) {
    const Value line = lines.as.items[i];
    out.add(i ? "\n" : "");
    if (i ? line.size || indentsBlank : indentsFirst)
      out.add(indent.text());
    out.add(span(line));
  }
  return out.value();
}

Value trimFilter(Machine &machine, Value operand, const Value *a) {
  const Span whole = textOf(machine, operand);
  const uint32_t kind = operand.kind == Safe ? Safe : Text;
  machine.chargeBytes(whole.size);
  if (!isGiven(a[0]) || a[0].kind == None)
    return text(strip(whole, nullptr, 0), kind);
  const Span chars = textArgument(machine, "trim", a[0]);
  machine.chargeBytes(whole.size / 16 * chars.size);
  return text(strip(whole, &chars, 0), kind);
}

Value replaceFilter(Machine &machine, Value operand, const Value *a) {
  const int64_t most = a[2].kind == None ? -1 : wholeArgument(machine, "replace", a[2], -1);
  return text(replace(machine, textOf(machine, operand), textOf(machine, a[0]), textOf(machine, a[1]), most));
}

} // namespace

Value textFilter(Machine &machine, FilterKind filter, Value operand, const Value *a) {
  const uint32_t kind = operand.kind == Safe ? Safe : Text;
  switch (filter) {
  case FilterKind::Upper:
    return text(inCase(machine, textOf(machine, operand), Case::Upper), kind);
  case FilterKind::Lower:
    return text(inCase(machine, textOf(machine, operand), Case::Lower), kind);
  case FilterKind::Capitalize:
    return text(inCase(machine, textOf(machine, operand), Case::Capital), kind);
  case FilterKind::Title:
    return text(titleFilter(machine, textOf(machine, operand)));
  case FilterKind::Center:
    return operand.kind == Safe
               ? machine.fail("center of a text that is marked safe is not known here")
               : pad(machine, textOf(machine, operand), wholeArgument(machine, "center", a[0], 80), {" ", 1}, 0);
  case FilterKind::Indent:
    return indentFilter(machine, operand, a);
  case FilterKind::Trim:
    return trimFilter(machine, operand, a);
  case FilterKind::Replace:
    return replaceFilter(machine, operand, a);
  case FilterKind::Escape:
    return escapeHtml(machine, operand);
  case FilterKind::Safe:
    return text(textOf(machine, operand), Safe);
  case FilterKind::ToText:
    return isText(operand) ? operand : text(textOf(machine, operand));
  default:
    return machine.fail("the template's table is damaged");
  }
}

} // namespace perpend::templates
