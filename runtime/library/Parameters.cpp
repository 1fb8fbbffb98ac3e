// One pass over the text per parameter: there are few, and they are short.
#include "library/Parameters.h"
#include "library/Json.h"
#include "library/Numbers.h"
#include <cstring>

namespace perpend::library {
namespace {

using runtime::Region;

// Positions the reader at the value of that name; false if there is none.
bool find(JsonReader &reader, const char *name) {
  reader.enter('{');
  while (reader.more('}')) {
    if (!strcmp(reader.key(), name))
      return !reader.failed();
    reader.skip();
  }
  return false;
}

} // namespace

int32_t integerParameter(perpend_call *call, const char *name, int64_t *value) {
  Region region;
  JsonReader reader(call->parameters, strlen(call->parameters), region);
  if (!find(reader, name))
    return 0;
  *value = reader.integer();
  return !reader.failed();
}

int32_t numberParameter(perpend_call *call, const char *name, double *value) {
  Region region;
  JsonReader reader(call->parameters, strlen(call->parameters), region);
  if (!find(reader, name) || reader.atString())
    return 0;
  const char *start = reader.position();
  reader.skip();
  return !reader.failed() && parseNumber({start, reader.position() - start}, *value);
}

int64_t wordParameter(perpend_call *call, const char *name, char *text, int64_t capacity) {
  Region region;
  JsonReader reader(call->parameters, strlen(call->parameters), region);
  if (!find(reader, name) || !reader.atString())
    return -1;
  const char *word = reader.string();
  auto length = static_cast<int64_t>(strlen(word));
  if (reader.failed())
    return -1;
  memcpy(text, word, static_cast<size_t>(length < capacity ? length : capacity));
  return length;
}

} // namespace perpend::library
