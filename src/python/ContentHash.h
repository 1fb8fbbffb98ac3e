//===- ContentHash.h - detects changes of memory ----------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_CONTENTHASH_H
#define PERPEND_PYTHON_CONTENTHASH_H

#include <cstdint>
#include <vector>

namespace perpend::python {

struct MemoryRange {
  intptr_t address;
  int64_t sizeBytes;
};

/// The 64-bit XXH3 hash of each range. A repeated range is read once.
std::vector<uint64_t> contentHashes(const std::vector<MemoryRange> &ranges);

/// A sample consists of 16 cache lines of a range at equal distances: a change of all elements shows in every sample,
/// and the cost does not depend on the size. All samples together cover every line once.
int64_t sampleCount(MemoryRange range);
/// `number` must be less than sampleCount.
uint64_t sampleHash(MemoryRange range, int64_t number);
} // namespace perpend::python

#endif
