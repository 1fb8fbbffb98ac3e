//===- DetectHost.cpp - queries this processor ----------------------------===//
#include "target/DetectHost.h"

#include "runtime/Isa.h"

#include "llvm/TargetParser/Host.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perpend::target {

/// Intel and AMD report caches in the same form, but under different leaf numbers.
static void readCaches(HostFacts &facts) {
#if defined(__x86_64__)
  constexpr unsigned lists[] = {4, 0x8000001d};
  constexpr unsigned mostCaches = 16, instructionCache = 2;
  for (unsigned list : lists)
    for (unsigned number = 0; number < mostCaches; ++number) {
      unsigned eax, ebx, ecx, edx;
      if (!__get_cpuid_count(list, number, &eax, &ebx, &ecx, &edx) || (eax & 31) == 0)
        break;
      const uint64_t lineBytes = (ebx & 0xfff) + 1, partitions = (ebx >> 12 & 0x3ff) + 1, ways = (ebx >> 22) + 1;
      const uint64_t sizeBytes = lineBytes * partitions * ways * (uint64_t(ecx) + 1);
      uint64_t *const levels[] = {nullptr, &facts.l1Bytes, &facts.l2Bytes, &facts.l3Bytes};
      const unsigned level = eax >> 5 & 7;
      if ((eax & 31) != instructionCache && level >= 1 && level <= 3 && *levels[level] == 0)
        *levels[level] = sizeBytes;
    }
#else
  (void)facts;
#endif
}

void dropRefused(HostFacts &facts, llvm::function_ref<bool(const char *name)> request) {
  for (auto &feature : facts.features)
    feature.second = feature.second && request(feature.first().str().c_str());
}

HostFacts detectHost() {
  HostFacts facts;
  facts.features = llvm::sys::getHostCPUFeatures();
  dropRefused(facts, runtime::requestInstructionSet);
  readCaches(facts);
  return facts;
}

} // namespace perpend::target
