// A loaded model: the module, its parsed descriptor, and the number of handles that keep it alive.
#ifndef PERPEND_RUNTIME_MODEL_H
#define PERPEND_RUNTIME_MODEL_H
#include "Descriptor.h"
#include <atomic>

struct perpend_model {
  const perpend_module *module = nullptr;
  perpend::runtime::Region region;
  perpend::runtime::Descriptor descriptor;
  std::atomic<int32_t> holders{1}; // the caller and all sessions
  void (*unload)(void *handle) = nullptr;
  void *handle = nullptr; // for unload
  // Whether what is mapped from a file is still there; NULL where it need not be asked. Errors: CORRUPT.
  perpend_status (*checkFile)(const perpend_model &model) = nullptr;
};

namespace perpend::runtime {

void retain(perpend_model *model);
void release(perpend_model *model);

// Compares code, constants and weights with their checksums. Errors: CORRUPT.
perpend_status verifyContents(const perpend_model &model);

inline perpend_status checkFile(const perpend_model &model) {
  return model.checkFile ? model.checkFile(model) : PERPEND_OK;
}

} // namespace perpend::runtime
#endif
