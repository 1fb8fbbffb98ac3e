//===- TreeModel.h - a cost model that learns while a tuner measures -*- C++ -*-===//

#ifndef PERPEND_TUNE_TREEMODEL_H
#define PERPEND_TUNE_TREEMODEL_H

#include "tune/CostModel.h"
#include "tune/Trees.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::tune {

/// All that was measured, of several kernels, and trees that rank it.
class Experience {
public:
  explicit Experience(std::unique_ptr<Trees> trees) : trees(std::move(trees)) {}
  /// Reads what is there, of this version's features, and appends what is learned from now on. Errors: the file cannot
  /// be read, or written.
  llvm::Error keepIn(llvm::StringRef path);
  /// `group`: of which kernel. True: the trees are others now.
  bool learn(llvm::StringRef group, MeasuredRow row);
  /// What needs no measuring, and is not kept.
  void assume(llvm::StringRef group, MeasuredRow row) { add(group, std::move(row)); }
  /// Whether enough is known.
  bool isTrained() const { return trainedRows > 0; }
  size_t countOfRows() const { return rows; }
  double predict(const Features &features) const { return trees->predict(features); }

private:
  void add(llvm::StringRef group, MeasuredRow row);
  bool train();

  std::unique_ptr<Trees> trees;
  std::vector<std::vector<MeasuredRow>> groups;
  llvm::StringMap<size_t> numbers; ///< of groups
  size_t rows = 0, trainedRows = 0;
  std::unique_ptr<llvm::raw_fd_ostream> file; ///< null: nothing is kept
};

/// What `experience` says of a kernel of plain blocks, whose times are parts of that of the trace `given`; the
/// machine's numbers before it knows enough.
std::unique_ptr<CostModel> treeModel(mlir::func::FuncOp kernel, const target::TargetInfo &target, const Trace &given,
                                     std::shared_ptr<Experience> experience);
} // namespace perpend::tune

#endif
