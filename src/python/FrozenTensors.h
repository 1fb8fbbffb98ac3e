//===- FrozenTensors.h - whether constants are what they were ---*- C++ -*-===//
//
// The weights of a model that torch.compile has frozen. Each call asks whether
// they are still the same, so the answer takes a fraction of a microsecond for
// each: PyTorch's counter of changes in place, the address and a sample of the
// memory, now and then another one. Only a thorough look reads all of it.
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

/// Ownership: keeps the tensors and their storages, so that nothing else takes their places in memory.
/// Threads: any.
class FrozenTensors {
public:
  /// tensors: dense ones on the CPU. positions: theirs among the inputs of a call. Reads all of their memory.
  FrozenTensors(nanobind::sequence tensors, std::vector<size_t> positions);

  /// The positions whose tensor is another one than it was, or has other elements.
  /// isThorough: reads all of the memory. Otherwise, changes that PyTorch does not count show once the sample has them,
  /// after 16 calls for each KiB of the tensor at the latest; tensors without a counter, those of inference mode, are
  /// read all the same.
  std::vector<size_t> changes(nanobind::tuple inputs, bool isThorough) const;

  /// Per tensor what it was: its identity, address, counter of changes (-1: none) and hash.
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
  mutable std::atomic<uint64_t> calls{0}; ///< decide which sample is read
};

void bindFrozenTensors(nanobind::module_ &module);
} // namespace perpend::python

#endif
