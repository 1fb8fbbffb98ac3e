//===- KernelCost.cpp - estimates a kernel's time on one thread -----------===//

#include "tile/cost/KernelCost.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {

/// Assumed value of a symbolic extent.
static constexpr int64_t assumedExtent = 32;
/// Fraction of the machine's peak that kernels typically reach; edges of blocks, loads and epilogues take the rest.
static constexpr double reachedPartOfPeak = 0.5;
int64_t estimate(const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return std::max<int64_t>(1, *number);
  std::set<std::string> names;
  value.symbols(names);
  llvm::StringMap<int64_t> values;
  for (const std::string &name : names)
    values[name] = assumedExtent;
  return std::max<int64_t>(1, value.evaluate(values).value_or(assumedExtent));
}

double estimateSeconds(const KernelWork &work, const target::Machine &target) {
  auto words = static_cast<double>(estimate(work.operationBytes)) / 4,
       bytes = static_cast<double>(estimate(work.bytes));
  return std::max(words / (target.flopsPerSecond() * reachedPartOfPeak), bytes / target.bytesPerSecondOf(bytes));
}
} // namespace perpend::tile
