// Values as JSON.
#include "template/Operations.h"
#include "template/Texts.h"
#include <cmath>
#include <cstdio>

namespace perpend::templates {
namespace {

class JsonWriter {
public:
  JsonWriter(Machine &machine, const JsonStyle &style) : machine(machine), style(style), out(machine) {}
  void add(Value value);
  Value result() const { return out.value(); }

private:
  void addString(Span text);
  void addEscaped(uint32_t code);
  void addFloat(double value);
  void addKey(Value key);
  void addList(Value list);
  void addDict(Value dict);
  void breakLine();

  Machine &machine;
  const JsonStyle &style;
  Builder out;
  uint32_t level = 0;
};

void JsonWriter::breakLine() {
  if (!style.isIndented)
    return;
  out.add('\n');
  for (uint32_t i = 0; i < level && machine.ok(); ++i)
    out.add(style.indent);
}

void JsonWriter::addEscaped(uint32_t code) {
  static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
  const char *found = code < 0x80 && code ? strchr(from, static_cast<int>(code)) : nullptr;
  if (found) {
    out.add('\\');
    return out.add(to[found - from]);
  }
  char digits[16];
  if (code < 0x10000)
    snprintf(digits, sizeof digits, "\\u%04x", code);
  else
    snprintf(digits, sizeof digits, "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF));
  out.add(digits);
}

void JsonWriter::addString(Span text) {
  out.add('"');
  for (size_t i = 0, plain = 0; i <= text.size;) {
    const size_t start = i;
    const uint32_t code = i < text.size ? nextCode(text, i) : 0;
    const bool isEscaped = code < 0x20 || code == '"' || code == '\\' || (style.ascii && code >= 0x7F && code != 0x7F);
    if (isEscaped) {
      out.add(Span{text.data + plain, start - plain});
      plain = i;
      if (start < text.size)
        addEscaped(code);
    }
    i += start == text.size;
  }
  out.add('"');
}

void JsonWriter::addFloat(double value) {
  if (std::isnan(value))
    out.add("NaN");
  else if (std::isinf(value))
    out.add(value > 0 ? "Infinity" : "-Infinity");
  else
    addNumber(out, value);
}

void JsonWriter::addKey(Value key) {
  if (isText(key))
    return addString(span(key));
  if (key.kind > Text) {
    machine.fail("tojson: a key is a %s", kindName(key));
    return;
  }
  out.add('"');
  add(key);
  out.add('"');
}

void JsonWriter::addList(Value list) {
  out.add('[');
  ++level;
  for (size_t i = 0; i < list.size && machine.ok(); ++i) {
    if (i)
      out.add(style.item);
    breakLine();
    add(list.as.items[i]);
  }
  --level;
  if (list.size)
    breakLine();
  out.add(']');
}

void JsonWriter::addDict(Value dict) {
  Value *keys = machine.allocate<Value>(dict.size), *values = machine.allocate<Value>(dict.size);
  for (size_t i = 0; i < dict.size && machine.ok(); ++i) {
    keys[i] = dict.as.items[2 * i];
    values[i] = dict.as.items[2 * i + 1];
  }
  if (style.sortKeys)
    sortBy(machine, keys, values, dict.size, false);
  out.add('{');
  ++level;
  for (size_t i = 0; i < dict.size && machine.ok(); ++i) {
    if (i)
      out.add(style.item);
    breakLine();
    addKey(style.sortKeys ? keys[i] : dict.as.items[2 * i]);
    out.add(style.key);
    add(style.sortKeys ? values[i] : dict.as.items[2 * i + 1]);
  }
  --level;
  if (dict.size)
    breakLine();
  out.add('}');
}

void JsonWriter::add(Value value) {
  Nested nested(machine);
  if (!nested || !machine.charge(1))
    return;
  switch (value.kind) {
  case None:
    return out.add("null");
  case Bool:
    return out.add(value.as.integer ? "true" : "false");
  case Integer:
    return out.addInteger(value.as.integer);
  case Float:
    return addFloat(value.as.number);
  case Text:
  case Safe:
    return addString(span(value));
  case List:
  case Tuple:
    return addList(value);
  case Dict:
    return addDict(value);
  default:
    machine.fail("tojson: a value is %s; hint: JSON has null, booleans, numbers, texts, lists and dicts",
                 value.kind == Undefined ? "undefined" : kindName(value));
  }
}

} // namespace

Value toJson(Machine &machine, Value value, const JsonStyle &style) {
  JsonWriter writer(machine, style);
  writer.add(value);
  return writer.result();
}

} // namespace perpend::templates
