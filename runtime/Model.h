// A loaded model: the module, its parsed descriptor, and the number of handles that keep it alive.
#ifndef PERPEND_RUNTIME_MODEL_H
#define PERPEND_RUNTIME_MODEL_H
#include "Descriptor.h"
#include <atomic>

struct perpend_model {
  const perpend_module *module = nullptr;
  perpend::runtime::Region region;
  perpend::runtime::Descriptor descriptor;
  std::atomic<int32_t> holders{1}; //  the caller and all sessions
  void (*unload)(void *handle) = nullptr;
  void *handle = nullptr; // for unload
};

namespace perpend::runtime {

void retain(perpend_model *model);
void release(perpend_model *model);

} // namespace perpend::runtime
#endif
