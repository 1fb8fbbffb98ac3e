// The instruction sets of this processor for which there is code.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERLEVEL_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERLEVEL_H
#if defined(__x86_64__)
#include "Isa.h"
#include <atomic>

namespace perpend::library {
namespace {

enum Level : int32_t { Unknown, Base, Avx2, Avx512 };

Level levelOfProcessor() {
  auto hasAll = [](auto... names) { return (perpend::runtime::hasInstructionSet(names) && ...); };
  static std::atomic<Level> answer{Unknown};
  Level known = answer.load(std::memory_order_relaxed);
  if (known == Unknown) {
    known = hasAll("avx512f", "avx512vl", "avx512dq", "avx512bw", "fma") ? Avx512 : hasAll("avx2", "fma") ? Avx2 : Base;
    answer.store(known, std::memory_order_relaxed);
  }
  return known;
}

} // namespace
} // namespace perpend::library
#endif
#endif
