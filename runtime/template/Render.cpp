// The functions of perpend_template.h.
#include "template/Evaluator.h"
#include "template/Texts.h"
#include <cstdlib>

namespace perpend::templates {
namespace {

// Null, or what breaks the rules for values of callers.
const char *wrongIn(const Value &value, uint32_t depth) {
  if (value.kind > Dict || value.detail)
    return "an unknown kind of value";
  if (depth == 0)
    return "values that are nested too deep";
  if (value.kind < Text)
    return value.kind == Bool && (value.as.integer < 0 || value.as.integer > 1) ? "a bool that is not 0 or 1" : nullptr;
  if (value.size && !value.as.items)
    return "a NULL pointer";
  if (value.size > SIZE_MAX / 4 / sizeof(Value))
    return "a size that no memory has";
  if (value.kind == Text)
    return isUtf8(span(value)) ? nullptr : "a text that is not UTF-8";
  const size_t count = value.kind == Dict ? 2 * value.size : value.size;
  for (size_t i = 0; i < count; ++i) {
    if (value.kind == Dict && i % 2 == 0 && value.as.items[i].kind > Text)
      return "a key that is a list, a tuple or a dict";
    if (const char *wrong = wrongIn(value.as.items[i], depth - 1))
      return wrong;
  }
  return nullptr;
}

perpend_status failBefore(perpend_rendering *rendering, perpend_status status, const char *what, const char *wrong) {
  Machine machine(Limits(nullptr), rendering->message);
  machine.fail("%s: %s", what, wrong);
  return status;
}

} // namespace
} // namespace perpend::templates

using namespace perpend::templates;

perpend_status perpend_template_render(const void *table, size_t tableBytes, const perpend_value *variables,
                                       const perpend_template_limits *limits, perpend_rendering *rendering) {
  if (!rendering)
    return PERPEND_INVALID_ARGUMENT;
  rendering->text = nullptr;
  rendering->bytes = 0;
  rendering->message[0] = '\0';
  const Limits bounds(limits);
  if (!variables || variables->kind != PERPEND_VALUE_DICT)
    return failBefore(rendering, PERPEND_INVALID_ARGUMENT, "variables", "expected a dict");
  if (const char *wrong = wrongIn(*variables, bounds.depth))
    return failBefore(rendering, PERPEND_INVALID_ARGUMENT, "variables", wrong);
  Table checked;
  if (const char *wrong = checked.open(table, tableBytes))
    return failBefore(rendering, PERPEND_CORRUPT, "the template's table", wrong);
  Machine machine(bounds, rendering->message);
  Evaluator evaluator(machine, checked, *variables);
  const Span text = evaluator.run();
  if (!machine.ok())
    return machine.status();
  rendering->text = static_cast<char *>(malloc(text.size + 1));
  if (!rendering->text)
    return failBefore(rendering, PERPEND_OUT_OF_MEMORY, "the rendered text", "no memory");
  memcpy(rendering->text, text.data, text.size);
  rendering->text[text.size] = '\0';
  rendering->bytes = text.size;
  return PERPEND_OK;
}

void perpend_rendering_free(perpend_rendering *rendering) {
  if (!rendering)
    return;
  free(rendering->text);
  rendering->text = nullptr;
  rendering->bytes = 0;
}
