// string.split(x): the parts of each string, [x..., most parts], padded with empty strings; and their numbers, [x...].
// Parameters: delimiter (empty: white space, and no part is empty), maxSplits (-1: any number). Source: ONNX
// StringSplit-20.
#include "library/Arguments.h"
#include "library/Utf8.h"

using namespace perpend::library;

namespace {

// Like Python's str.split().
bool isSpace(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

struct Splitter {
  perpend_call *call;
  perpend_string delimiter;
  int64_t maxSplits;
  Array<int64_t> parts;

  bool add(perpend_string text, int64_t begin, int64_t end) {
    int64_t identity = perpend_call_identity(call, text.data + begin, end - begin);
    return identity >= 0 && parts.add(identity);
  }

  bool isLast(int64_t first) const { return maxSplits >= 0 && parts.count() - first >= maxSplits; }

  bool splitAtDelimiter(perpend_string text) {
    int64_t begin = 0, first = parts.count();
    while (!isLast(first)) {
      const void *found = text.sizeBytes - begin >= delimiter.sizeBytes
                              ? memmem(text.data + begin, static_cast<size_t>(text.sizeBytes - begin), delimiter.data,
                                       static_cast<size_t>(delimiter.sizeBytes))
                              : nullptr;
      if (!found)
        break;
      int64_t end = static_cast<const char *>(found) - text.data;
      if (!add(text, begin, end))
        return false;
      begin = end + delimiter.sizeBytes;
    }
    return add(text, begin, text.sizeBytes);
  }

  // The position after a run of characters that are (or are not) white space.
  static int64_t skip(perpend_string text, int64_t at, bool spaces) {
    while (at < text.sizeBytes) {
      int64_t next = at;
      if (isSpace(decode(text.data, text.sizeBytes, next)) != spaces)
        break;
      at = next;
    }
    return at;
  }

  bool splitAtSpaces(perpend_string text) {
    int64_t first = parts.count(), begin = skip(text, 0, true);
    while (begin < text.sizeBytes) {
      bool takesRest = isLast(first);
      int64_t end = takesRest ? text.sizeBytes : skip(text, begin, false);
      for (int64_t at = begin; takesRest && at < text.sizeBytes;) { // spaces at the very end are dropped
        int64_t word = skip(text, at, false);
        at = skip(text, word, true);
        end = at == text.sizeBytes ? word : end;
      }
      if (!add(text, begin, end))
        return false;
      begin = skip(text, end, true);
    }
    return true;
  }

  bool split(perpend_string text) { return delimiter.sizeBytes ? splitAtDelimiter(text) : splitAtSpaces(text); }
};

} // namespace

extern "C" perpend_status perpend_string_split(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  Splitter splitter{
      call, perpend_call_text(call, wordsOf(call->inputs[1])[0]), perpend_call_integer(call, "maxSplits", -1), {}};
  int64_t count = elementCount(x), most = 0, shape[PERPEND_MAX_RANK];
  auto *counts = allocateLike<int64_t>(call, 1, x);
  if (!counts || x.rank >= PERPEND_MAX_RANK)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t i = 0; i < count; ++i) {
    int64_t before = splitter.parts.count();
    if (!splitter.split(perpend_call_text(call, wordsOf(x)[i])))
      return PERPEND_OUT_OF_MEMORY;
    counts[i] = splitter.parts.count() - before;
    most = counts[i] > most ? counts[i] : most;
  }
  for (int32_t i = 0; i < x.rank; ++i)
    shape[i] = x.shape[i];
  shape[x.rank] = most;
  auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, shape, x.rank + 1));
  if (!result)
    return PERPEND_OUT_OF_MEMORY;
  const int64_t *part = splitter.parts.data();
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < most; ++j)
      *result++ = j < counts[i] ? *part++ : 0;
  return PERPEND_OK;
}
