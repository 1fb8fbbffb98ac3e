//===- TensorFile.h - arrays between a tuner and what it measures -*- C++ -*-===//
//
// One behind the other: type, rank, extents and bytes of the machine. Numbers
// only; .npy has one array a file, and one name for all small floats.
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

/// False: it cannot be written, and errno says why.
bool writeTensors(const char *path, const std::vector<perpend_tensor> &tensors);
/// False: it cannot be read, or is cut off.
bool readTensors(const char *path, std::vector<StoredTensor> &tensors);
} // namespace perpend::tune

#endif
