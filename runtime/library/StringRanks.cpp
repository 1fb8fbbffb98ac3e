// string.ranks(x): of each text, how many smaller ones x has, in the order of their bytes, which is that of code
// points.
#include "library/Arguments.h"
#include <algorithm>
#include <cstring>

using namespace perpend::library;

namespace {

bool isLess(perpend_string a, perpend_string b) {
  auto both = static_cast<size_t>(std::min(a.sizeBytes, b.sizeBytes));
  int order = both ? memcmp(a.data, b.data, both) : 0;
  return order ? order < 0 : a.sizeBytes < b.sizeBytes;
}

} // namespace

extern "C" perpend_status perpend_string_ranks(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  const int64_t *identities = wordsOf(x);
  int64_t count = elementCount(x);
  auto *order = static_cast<int64_t *>(perpend_call_scratch(call, count * static_cast<int64_t>(sizeof(int64_t))));
  auto *ranks = allocateLike<int64_t>(call, 0, x);
  if (!ranks || (count && !order))
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t i = 0; i < count; ++i)
    order[i] = i;
  std::sort(order, order + count, [=](int64_t a, int64_t b) {
    return identities[a] != identities[b] &&
           isLess(perpend_call_text(call, identities[a]), perpend_call_text(call, identities[b]));
  });
  for (int64_t i = 0; i < count; ++i) {
    bool isSame = i && identities[order[i]] == identities[order[i - 1]];
    ranks[order[i]] = isSame ? ranks[order[i - 1]] : i;
  }
  return PERPEND_OK;
}
