// The fake model as a module: becomes a shared object and an executable in the tests.
#include "FakeModel.h"

extern "C" __attribute__((visibility("default"))) const perpend_module *perpend_module_main(void) {
  static perpend_module module;
  if (!module.magic)
    module = fake::makeModule();
  return &module;
}
