//===- WideReductions.h - of integers of 64 bits ----------------*- C++ -*-===//
#ifndef PERPEND_TARGET_ACCELERATOR_WIDEREDUCTIONS_H
#define PERPEND_TARGET_ACCELERATOR_WIDEREDUCTIONS_H

#include "target/accelerator/Nest.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace perpend::accelerator {

/// Nodes of I32.
struct Words {
  unsigned low = 0, high = 0;
};

/// The nests of one that reduces integers of 64 bits, to the least or the greatest (`nest.combine`), and stores them at
/// `nest.store`, which counts such integers. bufferOf: new memory for so many I32.
std::vector<Nest> reduceWide(const Nest &nest, Words words, int64_t initial,
                             llvm::function_ref<unsigned(int64_t elements)> bufferOf);

} // namespace perpend::accelerator

#endif
