//===- CostModel.h - what a candidate may take, before it is measured -*- C++ -*-===//

#ifndef PERPEND_TUNE_COSTMODEL_H
#define PERPEND_TUNE_COSTMODEL_H

#include "tune/Search.h"

namespace perpend::tune {

/// Ranks candidates of one kernel.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Less is faster, and only the order counts. Infinite: the primitives refuse it.
  virtual double predict(const Trace &candidate) = 0;
  /// How long it takes, as a part of the given trace's time; infinite: it was refused, or is wrong. True: predictions
  /// are others now.
  virtual bool learn(const Trace &, double) { return false; }
};

struct CostModelInfo {
  llvm::StringLiteral name, sentence;
};
/// What a tuner may be asked for; without a model, searches propose what they come by.
llvm::ArrayRef<CostModelInfo> costModels();

/// The machine's numbers and the footprints of loops (tile/cost); nothing is learned. `kernel` is of plain blocks.
std::unique_ptr<CostModel> machineModel(mlir::func::FuncOp kernel, const target::TargetInfo &target);

/// A search that asks the model itself; else, of what it proposes, some points at a time, the one that the model likes
/// best. What the model cannot make is told to that search, and not proposed.
std::unique_ptr<Search> rankedSearch(std::unique_ptr<Search> search, std::unique_ptr<CostModel> model,
                                     const Space &space);
} // namespace perpend::tune

#endif
