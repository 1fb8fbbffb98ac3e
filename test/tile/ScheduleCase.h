//===- ScheduleCase.h - a kernel whose schedules are compared ---*- C++ -*-===//

#ifndef PERPEND_TEST_TILE_SCHEDULECASE_H
#define PERPEND_TEST_TILE_SCHEDULECASE_H

#include "Module.h"
#include "Workloads.h"

#include "tile/schedule/Schedule.h"

#include <map>

namespace perpend::tile {

/// A workload, what its operators give, and its loops around blocks. Failures are those of the test.
class ScheduleCase {
public:
  explicit ScheduleCase(const Workload &workload);

  mlir::MLIRContext *context() { return &module.context; }
  /// After the steps the kernel gives the same bits, and so does a replay of their trace, as text. Returns the kernel.
  std::string apply(llvm::function_ref<void(KernelSchedule &)> steps);
  /// So many random steps. `counts`: of each primitive, how often it was applied and refused.
  void applyRandom(interp::Random &random, int64_t steps, std::map<std::string, std::pair<int, int>> &counts);
  /// How many runs computed with vectors.
  int64_t vectorKernels() const { return vectors; }

private:
  struct Run {
    int64_t n = 1;
    std::vector<interp::Tensor> inputs, expected;
  };
  void step(mlir::ModuleOp scheduled, KernelSchedule &schedule, interp::Random &random,
            std::map<std::string, std::pair<int, int>> &counts);
  void replay(mlir::ModuleOp scheduled, const KernelSchedule &schedule);
  void check(mlir::ModuleOp scheduled, const KernelSchedule &schedule);

  const Workload workload;
  interp::Module module;
  std::vector<Run> runs;
  int64_t vectors = 0;
};
} // namespace perpend::tile

#endif
