//===- CostModel.h - predicts a candidate's time ----------------*- C++ -*-===//

#ifndef PERPEND_TUNE_COSTMODEL_H
#define PERPEND_TUNE_COSTMODEL_H

#include "tune/Search.h"

namespace perpend::tune {

/// Ranks candidates of one kernel.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Lower is faster; only the order matters. Infinite: the primitives refuse the candidate.
  virtual double predict(const Trace &candidate) = 0;
  /// Learns a measured time, relative to the given trace's; infinite: refused or wrong. Returns true if predictions
  /// have changed.
  virtual bool learn(const Trace &, double) { return false; }
};

struct CostModelInfo {
  llvm::StringLiteral name, sentence;
};
/// The models that a tuner can use; without one, searches propose points unranked.
llvm::ArrayRef<CostModelInfo> costModels();

/// Based on the machine's numbers and the footprints of loops (tile/cost); does not learn. `kernel` consists of
/// unscheduled blocks.
std::unique_ptr<CostModel> machineModel(mlir::func::FuncOp kernel, const target::Machine &target);

/// A search guided by the model. If the search cannot query the model itself, the model ranks batches of its proposals,
/// and the best are proposed. Points that the model cannot rank are reported to the search as refused.
std::unique_ptr<Search> rankedSearch(std::unique_ptr<Search> search, std::unique_ptr<CostModel> model,
                                     const Space &space);
} // namespace perpend::tune

#endif
