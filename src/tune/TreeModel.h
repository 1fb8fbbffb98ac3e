//===- TreeModel.h - a cost model that learns during tuning -----*- C++ -*-===//

#ifndef PERPEND_TUNE_TREEMODEL_H
#define PERPEND_TUNE_TREEMODEL_H

#include "tune/CostModel.h"
#include "tune/Trees.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::tune {

/// All measurements, of several kernels, and trees trained on them.
class Experience {
public:
  explicit Experience(std::unique_ptr<Trees> trees) : trees(std::move(trees)) {}
  /// Reads the measurements in a file (of this version's features), and appends new ones. Errors: the file cannot be
  /// read, or written.
  llvm::Error keepIn(llvm::StringRef path);
  /// `group` identifies the kernel. True: the trees have been retrained.
  bool learn(llvm::StringRef group, MeasuredRow row);
  /// Adds a row that needs no measurement, and is not stored.
  void assume(llvm::StringRef group, MeasuredRow row) { add(group, std::move(row)); }
  /// Whether there are enough measurements.
  bool isTrained() const { return trainedRows > 0; }
  size_t countOfRows() const { return rows; }
  double predict(const Features &features) const { return trees->predict(features); }

private:
  void add(llvm::StringRef group, MeasuredRow row);
  bool train();

  std::unique_ptr<Trees> trees;
  std::vector<std::vector<MeasuredRow>> groups;
  llvm::StringMap<size_t> numbers; ///< index of each group
  size_t rows = 0, trainedRows = 0;
  std::unique_ptr<llvm::raw_fd_ostream> file; ///< null: nothing is stored
};

/// Predicts by `experience` for a kernel of unscheduled blocks, with times relative to that of the trace `given`; uses
/// the machine model until there is enough experience.
std::unique_ptr<CostModel> treeModel(mlir::func::FuncOp kernel, const target::Machine &target, const Trace &given,
                                     std::shared_ptr<Experience> experience);
} // namespace perpend::tune

#endif
