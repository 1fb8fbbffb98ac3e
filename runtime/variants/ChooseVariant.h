// What an artifact for several machines has besides one module for each: their list, and the function that chooses.
#ifndef PERPEND_RUNTIME_VARIANTS_CHOOSEVARIANT_H
#define PERPEND_RUNTIME_VARIANTS_CHOOSEVARIANT_H
#include "../include/perpend_module.h"

extern "C" {

// Read by the runtime, written by generated code.
struct perpend_variant {
  const perpend_module *module;
  const char *target;
  const char *isa; // the names of the tables' isa, each with its NUL, then an empty one
};

// The module of the first variant that this processor can run, or of the one named by the environment variable
// PERPEND_TARGET. If there is none: a module that no processor runs, so that the runtime which loads it reports what is
// missing; valid until the thread's next call. name: the model's name.
__attribute__((visibility("hidden"))) const perpend_module *perpend_choose_variant_v1(const perpend_variant *variants,
                                                                                      uint32_t count, const char *name);
}
#endif
