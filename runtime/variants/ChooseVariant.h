// What an artifact for several machines has beside a module for each: the list of these, and the function that chooses.
#ifndef PERPEND_RUNTIME_VARIANTS_CHOOSEVARIANT_H
#define PERPEND_RUNTIME_VARIANTS_CHOOSEVARIANT_H
#include "../include/perpend_module.h"

extern "C" {

// Read by the runtime, written by generated code.
struct perpend_variant {
  const perpend_module *module;
  const char *target;
  const char *isa; // the names of the descriptor's "isa", each with its NUL, then an empty one
};

// The module of the first variant that this processor runs; of the one that the environment variable PERPEND_TARGET
// names, where it is set. None: a module that no processor runs, for whose refusal the runtime that loads it says what
// is missing; valid until the thread's next call. name: the model's.
__attribute__((visibility("hidden"))) const perpend_module *perpend_choose_variant_v1(const perpend_variant *variants,
                                                                                      uint32_t count, const char *name);
}
#endif
