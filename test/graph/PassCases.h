//===- PassCases.h - small modules that passes must not change the values of -*- C++ -*-===//

#ifndef PERPEND_TEST_GRAPH_PASSCASES_H
#define PERPEND_TEST_GRAPH_PASSCASES_H

#include <cstdint>
#include <string>
#include <vector>

namespace perpend::graph {

/// A module with one @main on f32 tensors; an extent of -1 in `inputs` is the symbol n, -2 is n + 1, and so on.
struct PassCase {
  std::string name, text;
  std::vector<std::vector<int64_t>> inputs;
  /// With less, it reads an element of what is empty, which is refused.
  int64_t leastN = 0;
};

std::vector<PassCase> passCases();
/// Those of them with regions (ControlFlowCases.cpp).
std::vector<PassCase> controlFlowCases();
} // namespace perpend::graph

#endif
