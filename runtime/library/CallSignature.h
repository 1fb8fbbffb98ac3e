// The format in which generated code describes the tensors of a library call: 32-bit integers, first a CallCounts, then
// a CallTensor for each input and output. The compiler writes it (target/cpu/RunLibrary.cpp), Call.cpp reads it.
#ifndef PERPEND_LIBRARY_CALLSIGNATURE_H
#define PERPEND_LIBRARY_CALLSIGNATURE_H
#include "include/perpend_module.h"
#include "include/perpend_operator.h"
#include <stdint.h>

namespace perpend::library {

enum CallMemory : int32_t { Fixed, Growing };

struct CallCounts {
  int32_t inputs, outputs;
};

struct CallTensor {
  int32_t type; // a perpend_type
  int32_t rank;
  int32_t memory; // a CallMemory
};

static_assert(sizeof(CallCounts) == 2 * sizeof(int32_t) && sizeof(CallTensor) == 3 * sizeof(int32_t));

// The function called by generated code; extents of all tensors are concatenated.
using CallLibrary = int32_t(perpend_frame *frame, perpend_operator function, const char *parameters,
                            const char *subject, const int32_t *signature, void *const *buffers, int64_t *extents);
} // namespace perpend::library

#endif
