// Values as texts.
#include "library/Numbers.h"
#include "template/Operations.h"
#include "template/Texts.h"
#include <cstdio>

namespace perpend::templates {
namespace {

void addQuoted(Builder &out, Span text) {
  const bool hasSingle = find(text, {"'", 1}) >= 0, hasDouble = find(text, {"\"", 1}) >= 0;
  const char quote = hasSingle && !hasDouble ? '"' : '\'';
  out.add(quote);
  for (size_t i = 0; i < text.size;) {
    const uint32_t code = nextCode(text, i);
    char escape[12];
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      out.add('\\');
      out.addCode(code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out.add(code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t");
    } else if (isPrintable(code)) {
      out.addCode(code);
    } else {
      snprintf(escape, sizeof escape, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
      out.add(escape);
    }
  }
  out.add(quote);
}

void addItems(Machine &machine, Builder &out, Value value, const char *open, const char *close) {
  out.add(open);
  for (size_t i = 0; i < value.size && machine.ok(); ++i) {
    out.add(i ? ", " : "");
    addRepresentation(machine, out, value.as.items[i]);
  }
  out.add(value.kind == Tuple && value.size == 1 ? "," : "");
  out.add(close);
}

void addPairs(Machine &machine, Builder &out, const Value *pairs, size_t count, bool isDict) {
  for (size_t i = 0; i < count && machine.ok(); ++i) {
    out.add(i ? ", " : "");
    out.add(isDict ? "" : "(");
    addRepresentation(machine, out, pairs[2 * i]);
    out.add(isDict ? ": " : ", ");
    addRepresentation(machine, out, pairs[2 * i + 1]);
    out.add(isDict ? "" : ")");
  }
}

void addView(Machine &machine, Builder &out, Value view) {
  const auto kind = static_cast<ViewKind>(view.detail);
  out.add(kind == ViewKind::Keys ? "dict_keys([" : kind == ViewKind::Values ? "dict_values([" : "dict_items([");
  if (kind == ViewKind::Items)
    addPairs(machine, out, view.as.items, view.size, false);
  for (size_t i = 0; kind != ViewKind::Items && i < view.size && machine.ok(); ++i) {
    out.add(i ? ", " : "");
    addRepresentation(machine, out, view.as.items[2 * i + (kind == ViewKind::Values)]);
  }
  out.add("])");
}

void addRange(Builder &out, Value value) {
  const auto *range = static_cast<const RangeData *>(value.as.object);
  out.add("range(");
  out.addInteger(range->start);
  out.add(", ");
  out.addInteger(range->stop);
  if (range->step != 1) {
    out.add(", ");
    out.addInteger(range->step);
  }
  out.add(")");
}

} // namespace

void addNumber(Builder &out, double value) {
  char digits[library::maxNumberBytes];
  out.add(Span{digits, static_cast<size_t>(library::printNumber(value, library::Precision::Double, digits))});
}

void addRepresentation(Machine &machine, Builder &out, Value value) {
  Nested nested(machine);
  if (!nested || !machine.charge(1))
    return;
  switch (value.kind) {
  case None:
    return out.add("None");
  case Bool:
    return out.add(value.as.integer ? "True" : "False");
  case Integer:
    return out.addInteger(value.as.integer);
  case Float:
    return addNumber(out, value.as.number);
  case Text:
    return addQuoted(out, span(value));
  case Safe:
    out.add("Markup(");
    addQuoted(out, span(value));
    return out.add(")");
  case List:
    return addItems(machine, out, value, "[", "]");
  case Tuple:
    return addItems(machine, out, value, "(", ")");
  case Dict:
    out.add("{");
    addPairs(machine, out, value.as.items, value.size, true);
    return out.add("}");
  case Undefined:
    return out.add("Undefined");
  case Range:
    return addRange(out, value);
  case View:
    return addView(machine, out, value);
  case Namespace: {
    const auto *data = static_cast<const NamespaceData *>(value.as.object);
    out.add("<Namespace {");
    addPairs(machine, out, data->pairs, data->count, true);
    return out.add("}>");
  }
  default:
    machine.fail("a %s has no text; hint: call it, or make a list of it", kindName(value));
  }
}

void addText(Machine &machine, Builder &out, Value value) {
  if (isText(value))
    return out.add(span(value));
  if (value.kind != Undefined)
    addRepresentation(machine, out, value);
}

Span textOf(Machine &machine, Value value) {
  if (isText(value))
    return span(value);
  Builder out(machine);
  addText(machine, out, value);
  return out.text();
}

} // namespace perpend::templates
