// A loaded model: the module, its tables, and the number of handles that keep it alive.
#ifndef PERPEND_RUNTIME_MODEL_H
#define PERPEND_RUNTIME_MODEL_H
#include "Tables.h"
#include <atomic>

struct perpend_model {
  const perpend_module *module = nullptr;
  perpend_entry_functions code = {};    // of the entry
  const uint8_t *weights = nullptr;     // of the section, or of the range that files are mapped to
  perpend_model *base = nullptr;        // of a handle for another entry: the model, which has the rest
  perpend_segments *segments = nullptr; // the mapped files, if there are any
  const perpend_segment_functions *segmentFunctions = nullptr;
  perpend::runtime::Region region;
  perpend::runtime::Tables tables;
  std::atomic<int32_t> holders{1}; // the caller and all sessions
  void (*unload)(void *handle) = nullptr;
  void *handle = nullptr; // for unload
  // Whether what is mapped from a file is still there; NULL where it need not be asked. Errors: CORRUPT.
  perpend_status (*checkFile)(const perpend_model &model) = nullptr;
};

namespace perpend::runtime {

struct Opening {
  // The module is mapped from a file that may be cut short while the model is there, so that names and shapes must not
  // lie in it.
  bool isMapped = false;
  const char *path = nullptr;          // of the artifact; NULL: ask the system
  const char *weightsFolder = nullptr; // where files of weights are looked for first; NULL: none
  const perpend_segment_functions *segmentFunctions = nullptr; // NULL: the module's
};

perpend_status openModel(const perpend_module *module, const Opening &opening, perpend_model **model);

void retain(perpend_model *model);
void release(perpend_model *model);

// Compares code, constants and weights with their checksums. Errors: CORRUPT.
perpend_status verifyContents(const perpend_model &model);

inline perpend_status checkFile(const perpend_model &model) {
  const perpend_model &whole = model.base ? *model.base : model;
  return whole.checkFile ? whole.checkFile(whole) : PERPEND_OK;
}

} // namespace perpend::runtime
#endif
