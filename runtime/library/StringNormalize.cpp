// string.normalize(x [c] or [1, c], stopWords [s]): removes stop words and changes case. Parameters: case "none",
// "lower", "upper"; caseSensitive: stop words are compared before the change. Empty strings and stop words are dropped;
// if none is left, the result is one empty string. Source: ONNX StringNormalizer-10; the case mapping is Unicode's
// simple one, in any locale.
#include "library/Arguments.h"
#include "library/Case.h"
#include "library/Utf8.h"

using namespace perpend::library;

namespace {

using Mapping = uint32_t (*)(uint32_t);

int64_t mapText(perpend_call *call, int64_t identity, Mapping mapping, Array<char> &bytes) {
  if (!mapping)
    return identity;
  perpend_string text = perpend_call_text(call, identity);
  bytes.shrink(0);
  for (int64_t at = 0; at < text.sizeBytes;) {
    char encoded[4];
    if (!bytes.add(encoded, encode(mapping(decode(text.data, text.sizeBytes, at)), encoded)))
      return -1;
  }
  return identityOf(call, bytes);
}

bool contains(const Array<int64_t> &list, int64_t identity) {
  for (int64_t i = 0; i < list.count(); ++i)
    if (list[i] == identity)
      return true;
  return false;
}

} // namespace

extern "C" perpend_status perpend_string_normalize(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0], &stopWords = call->inputs[1];
  char name[8] = "";
  perpend_call_word(call, "case", name, sizeof name - 1);
  Mapping mapping = !strcmp(name, "lower") ? toLower : !strcmp(name, "upper") ? toUpper : Mapping();
  bool isSensitive = perpend_call_integer(call, "caseSensitive", 0) != 0;
  Array<char> bytes;
  Array<int64_t> stops, kept;
  for (int64_t i = 0, count = elementCount(stopWords); i < count; ++i) {
    int64_t word = mapText(call, wordsOf(stopWords)[i], isSensitive ? Mapping() : mapping, bytes);
    if (word < 0 || !stops.add(word))
      return PERPEND_OUT_OF_MEMORY;
  }
  for (int64_t i = 0, count = elementCount(x); i < count; ++i) {
    int64_t given = wordsOf(x)[i], mapped = mapText(call, given, mapping, bytes);
    if (mapped < 0)
      return PERPEND_OUT_OF_MEMORY;
    if (given != 0 && !contains(stops, isSensitive ? given : mapped) && !kept.add(mapped))
      return PERPEND_OUT_OF_MEMORY;
  }
  int64_t shape[2] = {1, kept.count() ? kept.count() : 1};
  auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, shape + (x.rank == 1), x.rank));
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  result[0] = 0;
  memcpy(result, kept.count() ? kept.data() : result, static_cast<size_t>(kept.count()) * sizeof *result);
  return PERPEND_OK;
}
