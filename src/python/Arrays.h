//===- Arrays.h - numpy arrays and torch tensors as runtime tensors -*- C++ -*-===//
//
// Contiguous CPU arrays are used in place. torch tensors go through the C
// function table of DLPack (no Python code runs), numpy arrays and other buffers
// through the buffer protocol.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_ARRAYS_H
#define PERPEND_PYTHON_ARRAYS_H

#include "perpend.h"

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

namespace perpend::python {

/// The DLPack functions of a tensor class.
struct ExchangeApi;

inline int64_t countOf(const perpend_tensor &tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.rank; ++i)
    count *= tensor.shape[i];
  return count;
}

/// An array for the duration of a call. Ownership: holds a reference to the memory.
class InputArray {
public:
  InputArray() = default;
  InputArray(const InputArray &) = delete;
  InputArray &operator=(const InputArray &) = delete;
  ~InputArray();

  /// Takes any array; lists and numbers become numpy arrays of type `wanted` (if given). Errors: nb::type_error naming
  /// `what`; those of numpy and torch.
  void read(nanobind::handle object, const char *what, std::optional<perpend_type> wanted = std::nullopt);
  perpend_tensor tensor() const { return {data, extents, rank, type}; }
  /// The functions of the tensor's class, for outputs of the same class; null for numpy.
  const ExchangeApi *api = nullptr;

  void *data = nullptr;
  const int64_t *extents = nullptr;
  int32_t rank = 0;
  perpend_type type = PERPEND_F32;

private:
  void readTensor(nanobind::handle object, const char *what);
  bool readBuffer(nanobind::handle object, const char *what);

  nanobind::object keeper;
  Py_buffer buffer = {};
  bool hasBuffer = false;
};

/// Uninitialised memory that becomes a numpy array, or a tensor of `api`. Errors: MemoryError.
class OutputArray {
public:
  OutputArray(const ExchangeApi *api, perpend_type type, const int64_t *shape, int32_t rank);
  void *data = nullptr;
  /// The array.
  nanobind::object take() { return std::move(array); }

private:
  void allocateTensor(const ExchangeApi *api, perpend_type type, const int64_t *shape, int32_t rank);
  nanobind::object array;
};

std::optional<perpend_type> typeNamed(const std::string &name);
} // namespace perpend::python

#endif
