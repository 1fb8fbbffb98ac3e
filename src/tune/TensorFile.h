//===- TensorFile.h - arrays for the measuring program ----------*- C++ -*-===//
//
// A file of arrays one after another: type, rank, extents, and bytes in the machine's order; types are numbers only.
// (.npy has one array per file, and a single name for all small floats.)
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_TENSORFILE_H
#define PERPEND_TUNE_TENSORFILE_H

#include "perpend.h"

#include <cstddef>
#include <vector>

namespace perpend::tune {

struct StoredTensor {
  perpend_type type = PERPEND_F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// False: it cannot be written; errno has the reason.
bool writeTensors(const char *path, const std::vector<perpend_tensor> &tensors);
/// False: it cannot be read, or is truncated.
bool readTensors(const char *path, std::vector<StoredTensor> &tensors);
} // namespace perpend::tune

#endif
