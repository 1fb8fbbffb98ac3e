// What generated code says of a library call's tensors: integers of 32 bits, a CallCounts and then, for each input and
// each output, a CallTensor. The compiler writes them (target/cpu/RunLibrary.cpp), Call.cpp reads them.
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

// The function that generated code calls; extents are those of all tensors, one after another.
using CallLibrary = int32_t(perpend_frame *frame, perpend_operator function, const char *parameters,
                            const char *subject, const int32_t *signature, void *const *buffers, int64_t *extents);
} // namespace perpend::library

#endif
