//===- ContentHash.h - whether memory has changed ---------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_CONTENTHASH_H
#define PERPEND_PYTHON_CONTENTHASH_H

#include <cstdint>
#include <vector>

namespace perpend::python {

struct MemoryRange {
  intptr_t address;
  int64_t sizeBytes;
};

/// The 64-bit XXH3 hash of each range. One that is given twice is read once.
std::vector<uint64_t> contentHashes(const std::vector<MemoryRange> &ranges);

/// Samples read 16 cache lines of a range at equal distances, so that a change of all elements shows in each of them,
/// and what one costs does not depend on the size. Together they read everything, each line once.
int64_t sampleCount(MemoryRange range);
/// number: less than sampleCount.
uint64_t sampleHash(MemoryRange range, int64_t number);
} // namespace perpend::python

#endif
