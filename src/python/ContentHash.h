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

/// The hash of some places at equal distances, the first and the last bytes among them: a change of all elements shows,
/// and what the reading costs does not depend on the size. A small range is read whole.
uint64_t sampleHash(MemoryRange range);
} // namespace perpend::python

#endif
