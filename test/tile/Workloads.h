//===- Workloads.h - small kernels to schedule ------------------*- C++ -*-===//
//
// Kernels of a few operators, of static and of symbolic shapes, whose values are
// small integers: sums of f32 are exact in any order, so results can be compared
// bit by bit.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEST_TILE_WORKLOADS_H
#define PERPEND_TEST_TILE_WORKLOADS_H

#include <cstdint>
#include <string>
#include <vector>

namespace perpend::tile {

struct TensorText {
  /// Numbers and the symbol n.
  std::vector<std::string> dims;
  std::string element = "f32";
  /// Of an input's values.
  int64_t low = -8, high = 8;

  bool isSymbolic() const;
  std::string str() const;
};

struct Workload {
  std::string name;
  std::vector<TensorText> inputs;
  /// Computes %r from %a, %b, …
  std::string body;
  TensorText result;
  /// What n is; {1} where no shape is symbolic.
  std::vector<int64_t> sizes = {1};

  bool isSymbolic() const;
  /// A module with the kernel @k, and @main, which calls it.
  std::string text() const;
};

std::vector<Workload> workloads();
} // namespace perpend::tile

#endif
