// Access to the inputs of library functions.
#ifndef PERPEND_RUNTIME_LIBRARY_ARGUMENTS_H
#define PERPEND_RUNTIME_LIBRARY_ARGUMENTS_H
#include "include/perpend_operator.h"
#include "library/Array.h"

namespace perpend::library {

inline int64_t elementCount(const perpend_tensor &tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.shape[i];
  return count;
}

// Identities of strings, handles of lists, or 64-bit integers.
inline const int64_t *wordsOf(const perpend_tensor &tensor) { return static_cast<const int64_t *>(tensor.data); }

// Allocates an output with the shape of an input. Null: return PERPEND_OUT_OF_MEMORY.
template <typename T> T *allocateLike(perpend_call *call, int32_t output, const perpend_tensor &input) {
  return static_cast<T *>(perpend_call_allocate(call, output, input.shape, input.rank));
}

inline int64_t identityOf(perpend_call *call, const Array<char> &bytes) {
  return perpend_call_identity(call, bytes.data(), bytes.count());
}

} // namespace perpend::library
#endif
