//===- TuningRun.h - models that are tuned ----------------------*- C++ -*-===//
//
// From modules and a database to faster schedules in the database: what
// `perpend tune` does besides reading options and printing.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNINGRUN_H
#define PERPEND_TUNINGRUN_H

#include "ModelComparison.h"
#include "Tuning.h"
#include "arrays/Array.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tune/CostModel.h"
#include "tune/Database.h"
#include "tune/Tuner.h"

#include <map>

namespace perpend {

struct TuningOptions {
  CompileOptions compiler;
  std::vector<ExtentSet> extents = {{}}; ///< of the symbols of the models' inputs
  llvm::StringMap<arrays::Array> inputs; ///< of the models, by name: their extents, and for kernels that read them
  static constexpr int64_t assumed = 2;  ///< what others are taken as, as in other commands
  std::string search = "evolutionary", space = "all";
  std::string costModel = "machine"; ///< or "trees", or "none"
  std::string points;                ///< a file, in which the trees keep what they learn from; empty: none
  std::string sketches; ///< a file of schedules, any number for a kernel, that are in its space, too; empty: none
  int64_t seed = 1, threads = 1;
  double seconds = 600; ///< of searching
  int64_t trials = std::numeric_limits<int64_t>::max();
  std::string scheduler = "gradient"; ///< or "turns"
  bool confirms = true;               ///< what is found, in the models at the end
  /// In the place of the named ones, for a kernel whose space is made; empty: the named ones.
  std::function<std::unique_ptr<tune::Search>(const tune::Job &)> makeSearch = {};
  std::function<std::unique_ptr<tune::CostModel>(const tune::Job &)> makeCostModel = {};
  std::vector<std::string> kernels; ///< names of those that are tuned; empty: all
};

/// What the schedules that were found gain in a model, with one set of extents.
struct GainInModel {
  size_t model = 0;                          ///< which of those given
  std::string extents;                       ///< "n=128"; empty: the only ones
  std::string refusal;                       ///< why the model was not measured; empty: it was
  double plainSeconds = 0, tunedSeconds = 0; ///< of a run, without and with them
};

class TuningRun {
public:
  using IsInterrupted = std::function<bool()>;

  /// The modules, at least one, are at graph level, of one context, and consumed. `isInterrupted` ends what runs.
  /// Errors: diagnostics on the context.
  static mlir::FailureOr<std::unique_ptr<TuningRun>> make(llvm::ArrayRef<mlir::ModuleOp> modules, TuningOptions options,
                                                          IsInterrupted isInterrupted);

  /// Of the kernels, what was found before; the search begins with it.
  llvm::Error readKnown(const tune::Database &database);

  /// Only the time of each kernel.
  void measure(const tune::Tuner::Progress &progress);
  /// Searches until the time is over, and writes what is found. Of that, what is no gain in the models is forgotten
  /// again.
  llvm::Error search(tune::Database &database, const tune::Tuner::Progress &progress);

  /// In the order of the models, and of the sets of extents; empty: nothing was found, or there was no time.
  llvm::ArrayRef<GainInModel> gainsInModels() const { return gains; }
  /// The model's kernels, with what was found.
  llvm::ArrayRef<tune::Job> kernels() const { return jobs; }
  const target::TargetInfo &machine() const { return target; }
  /// Sums of all kernels.
  const tune::Tuner &sums() const { return *tuner; }
  /// Symbols of the inputs that nobody has said.
  llvm::ArrayRef<std::string> assumedSymbols() const { return assumed; }
  tune::RecordKey keyOf(const tune::Job &job) const;

private:
  TuningRun(TuningOptions options, target::TargetInfo target, IsInterrupted isInterrupted)
      : options(std::move(options)), target(std::move(target)), isInterrupted(std::move(isInterrupted)) {}
  mlir::LogicalResult readIntrinsics(mlir::MLIRContext *context);
  mlir::LogicalResult bindInputs(llvm::ArrayRef<mlir::ModuleOp> modules);
  mlir::LogicalResult checkSymbols(llvm::ArrayRef<mlir::ModuleOp> modules);
  int64_t otherBytesOf(const TaskExtents &extents) const;
  mlir::LogicalResult makeJobs(mlir::Location location);
  mlir::LogicalResult readSketches(mlir::MLIRContext *context);
  const TuningTask &taskOf(const tune::Job &job) const { return tasks[job.group]; }
  double setWeightOf(const tune::Job &job) const;
  /// Of what is left, for measuring what was found for some extents with the others.
  std::chrono::duration<double> secondsToCompare() const;
  tune::Record recordOf(const tune::Job &job, int64_t trials) const;

  /// A model behind fusion, and for each set the extents of its kernels, by name, as jobs have them.
  struct Whole {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::vector<llvm::StringMap<std::string>> extents;
  };
  // TuningConfirmation.cpp
  struct Place;
  static constexpr int mostSecondsToConfirm = 20;
  std::chrono::duration<double> secondsToConfirm() const;
  llvm::Error confirm(tune::Database &database, tune::Tuner::Clock::time_point end);
  std::vector<tune::Job *> improvedIn(const Place &place);
  std::map<tune::Job *, double> meansOf(llvm::ArrayRef<Place> places);
  llvm::Error measure(Place &place, tune::Tuner::Clock::time_point end);
  llvm::Error refute(tune::Job &job, double part, tune::Database &database);

  TuningOptions options;
  target::TargetInfo target;
  IsInterrupted isInterrupted;
  std::vector<std::string> assumed;
  std::vector<Whole> models;
  std::vector<GainInModel> gains;
  std::vector<TuningTask> tasks;
  std::vector<tune::Job> jobs;
  std::vector<std::optional<tune::Record>> knownRecords; ///< of jobs, before the run
  std::optional<tune::Tuner> tuner;
  /// Those of a file are read, and compared with their descriptions, once.
  std::optional<tile::IntrinsicScope> intrinsics;
};
} // namespace perpend

#endif
