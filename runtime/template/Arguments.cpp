// Arguments of functions and methods.
#include "template/Operations.h"

namespace perpend::templates {

bool bind(Machine &machine, const char *name, const char *parameters, size_t least, size_t positional,
          const Arguments &arguments, Value *bound, size_t most) {
  for (size_t i = 0; i < most; ++i)
    bound[i] = i < arguments.count ? arguments.values[i] : absent();
  if (arguments.count > most) {
    machine.fail("%s: expected at most %zu arguments, got %zu", name, most, arguments.count);
    return false;
  }
  for (size_t k = 0; k < arguments.keywordCount; ++k) {
    const Keyword &keyword = arguments.keywords[k];
    size_t index = 0;
    const char *cursor = parameters;
    bool found = false;
    for (; *cursor && !found; ++index) {
      const char *end = cursor + strcspn(cursor, " ");
      found = Span{cursor, static_cast<size_t>(end - cursor)} == keyword.name && index >= positional;
      cursor = *end ? end + 1 : end;
    }
    if (!found || isGiven(bound[index - 1])) {
      machine.fail("%s: an argument '%.*s' is not expected, or there twice", name,
                   static_cast<int>(keyword.name.size % 200), keyword.name.data);
      return false;
    }
    bound[index - 1] = keyword.value;
  }
  for (size_t i = 0; i < least; ++i)
    if (!isGiven(bound[i])) {
      machine.fail("%s: expected at least %zu arguments", name, least);
      return false;
    }
  return machine.ok();
}

int64_t wholeArgument(Machine &machine, const char *name, Value value, int64_t otherwise) {
  if (!isGiven(value))
    return otherwise;
  if (isWhole(value))
    return value.as.integer;
  if (value.kind == Undefined)
    machine.failUndefined(value);
  else
    machine.fail("%s: expected an integer, got a %s", name, kindName(value));
  return otherwise;
}

Span textArgument(Machine &machine, const char *name, Value value) {
  if (isText(value))
    return span(value);
  if (value.kind == Undefined)
    machine.fail("%s: expected a text, got an undefined value", name);
  else
    machine.fail("%s: expected a text, got a %s", name, kindName(value));
  return {"", 0};
}

} // namespace perpend::templates
