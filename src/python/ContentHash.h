//===- ContentHash.h - whether memory has changed ---------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_CONTENTHASH_H
#define PERPEND_PYTHON_CONTENTHASH_H

#include <cstdint>
#include <utility>
#include <vector>

namespace perpend::python {

/// The 64-bit XXH3 hash of each piece: its address, and its size in bytes. A piece that is given twice is read once.
std::vector<uint64_t> contentHashes(const std::vector<std::pair<intptr_t, int64_t>> &memory);
} // namespace perpend::python

#endif
