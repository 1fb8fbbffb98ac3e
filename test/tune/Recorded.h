//===- Recorded.h - schedules that were measured once -----------*- C++ -*-===//
//
// recorded.json: kernels, each with a trace whose numbers are free, and times of
// points that were drawn, as parts of the trace's. So searches and cost models
// compare in seconds, and say the same each time.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEST_TUNE_RECORDED_H
#define PERPEND_TEST_TUNE_RECORDED_H

#include "Module.h"

#include "target/TargetInfo.h"
#include "tune/Search.h"
#include "tune/Trees.h"

#include "llvm/Support/JSON.h"

namespace perpend::tune {

class Recorded {
public:
  explicit Recorded(const llvm::json::Object &object);
  /// All of the file.
  static std::vector<std::unique_ptr<Recorded>> kernels();

  /// The number of a recorded point.
  size_t nearest(const Point &point) const;
  double bestTime() const;

  std::string name;
  interp::Module module;
  target::TargetInfo target;
  mlir::func::FuncOp kernel;
  Space space;
  std::vector<Point> points;
  std::vector<MeasuredRow> rows; ///< of the points

private:
  void addPoint(const llvm::json::Array &numbers, const llvm::json::Array &trace);
};

/// Proposes recorded points alone, those next to what another search proposes.
std::unique_ptr<Search> recordedSearch(std::unique_ptr<Search> search, const Recorded &kernel, uint64_t seed);
/// Trees that learn from recorded points; the machine model before they know enough.
std::unique_ptr<CostModel> recordedTrees(const Recorded &kernel);
/// The machine's numbers, of recorded points.
std::unique_ptr<CostModel> recordedMachine(const Recorded &kernel);
} // namespace perpend::tune

#endif
