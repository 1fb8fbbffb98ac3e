// Reads and writes NumPy's .npy files (format versions 1 to 3, little endian) without the C++ library.
#ifndef PERPEND_RUNTIME_NPY_H
#define PERPEND_RUNTIME_NPY_H
#include "include/perpend.h"
#include <cstddef>

namespace perpend::runtime {

struct NpyArray {
  perpend_type type; // two-byte void ('V2') is read as bf16, one-byte void ('V1') as i4: see npyTypeFor
  int32_t rank;
  int64_t shape[PERPEND_MAX_RANK];
  int64_t dataOffset, dataBytes; // offsets in the file
  int64_t elementBytes;          //  for strings ('<U5', PERPEND_STRING): four per character
  bool isFortran;                // the first index changes fastest
};

struct NpyError {
  char message[256] = "";
};

// Parses the header of a whole file in memory. False, with error set, if it is malformed.
bool parseNpy(const uint8_t *bytes, size_t count, NpyArray &array, NpyError &error);

// Reads a file into C order. *data is 64-byte aligned and released by the caller with free(); null on failure.
bool readNpy(const char *path, NpyArray &array, uint8_t *&data, NpyError &error);

// The type of an array read from a file where a model expects `wanted`. The format has no names for bf16, types below 8
// bits and small floats, so void and integers of the same size stand for them.
perpend_type npyTypeFor(perpend_type file, perpend_type wanted);

// Types without a name in the format are written as void of their size ('V2', 'V1'), as ml_dtypes does.
bool writeNpy(const char *path, const perpend_tensor &tensor, NpyError &error);

// The same for elements of another type, such as '<U5', with the bytes `data`.
bool writeNpyAs(const char *path, const char *type, const perpend_tensor &shape, const void *data, int64_t dataBytes,
                NpyError &error);

} // namespace perpend::runtime
#endif
