//===- FrozenTensors.h - detects changes of frozen weights ------*- C++ -*-===//
//
// Detects changes of the weights that torch.compile has frozen into a model. Every call checks all of them, so a check
// takes a fraction of a microsecond: it compares PyTorch's version counter, the address, and the hash of one sample of
// the memory. From time to time it moves on to another sample. The whole memory is hashed by a thorough check only,
// and for a tensor without a version counter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_FROZENTENSORS_H
#define PERPEND_PYTHON_FROZENTENSORS_H

#include "python/ContentHash.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

namespace perpend::python {

/// Ownership: keeps the tensors and their storages, so that their memory is not reused. Thread-safe.
class FrozenTensors {
public:
  /// tensors: dense, on the CPU. positions: their positions among the inputs of a call. Reads all of their memory.
  FrozenTensors(nanobind::sequence tensors, std::vector<size_t> positions);

  /// The positions whose tensor has been replaced or has changed. isThorough: reads all of the memory. Otherwise
  /// changes that PyTorch does not count are found once a sample covers them, after at most 16 calls for each KiB of
  /// the tensor; tensors without a counter (inference mode) are always read completely.
  std::vector<size_t> changes(nanobind::tuple inputs, bool isThorough) const;

  /// The recorded state of each tensor: identity, address, counter of changes (-1: none) and hash.
  nanobind::tuple states() const;

  int traverse(visitproc visit, void *argument) const;
  void clear() { std::exchange(tensors, {}); }

private:
  struct State {
    int64_t address, version, storageBytes;
    bool operator==(const State &) const = default;
  };
  struct Tensor {
    nanobind::object object, storage;
    size_t position;
    State state;
    MemoryRange memory;
    std::vector<uint64_t> samples;
    uint64_t hash;
  };
  static std::optional<State> stateOf(nanobind::handle tensor, nanobind::handle storage, bool isCounted);

  std::vector<Tensor> tensors;
  mutable std::atomic<uint64_t> calls{0}; ///< selects the sample to read
};

void bindFrozenTensors(nanobind::module_ &module);
} // namespace perpend::python

#endif
