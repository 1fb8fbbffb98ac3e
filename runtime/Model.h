// A loaded model: the module, its tables, and the number of handles that keep it alive.
#ifndef PERPEND_RUNTIME_MODEL_H
#define PERPEND_RUNTIME_MODEL_H
#include "Tables.h"
#include <atomic>

struct perpend_model {
  const perpend_module *module = nullptr;
  perpend::runtime::Region region;
  perpend::runtime::Tables tables;
  std::atomic<int32_t> holders{1}; // the caller and all sessions
  void (*unload)(void *handle) = nullptr;
  void *handle = nullptr; // for unload
  // Whether what is mapped from a file is still there; NULL where it need not be asked. Errors: CORRUPT.
  perpend_status (*checkFile)(const perpend_model &model) = nullptr;
};

namespace perpend::runtime {

// perpend_model_from_module. isMapped: from a file that may be cut short while the model is there, so that its names
// and shapes must not lie in it.
perpend_status openModel(const perpend_module *module, bool isMapped, perpend_model **model);

void retain(perpend_model *model);
void release(perpend_model *model);

// Compares code, constants and weights with their checksums. Errors: CORRUPT.
perpend_status verifyContents(const perpend_model &model);

inline perpend_status checkFile(const perpend_model &model) {
  return model.checkFile ? model.checkFile(model) : PERPEND_OK;
}

} // namespace perpend::runtime
#endif
