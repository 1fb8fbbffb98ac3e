//===- TuningRun.h - a run of the tuner -------------------------*- C++ -*-===//
//
// Takes modules and a database and puts faster schedules into the database: all
// of `perpend tune` except reading options and printing.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNING_TUNINGRUN_H
#define PERPEND_TUNING_TUNINGRUN_H

#include "arrays/Array.h"
#include "target/TargetInfo.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tune/CostModel.h"
#include "tune/Database.h"
#include "tune/Tuner.h"
#include "tuning/ModelComparison.h"
#include "tuning/Tuning.h"

#include <map>

namespace perpend {

struct TuningOptions {
  CompileOptions compiler;
  std::vector<ExtentSet> extents = {{}}; ///< of the symbols of the models' inputs
  llvm::StringMap<arrays::Array> inputs; ///< inputs of the models by name: extents, and data of kernels
  static constexpr int64_t assumed = 2;  ///< value of symbols without one, as in other commands
  std::string search = "evolutionary", space = "all";
  std::string costModel = "machine"; ///< or "trees", or "none"
  std::string points;                ///< file with training data of the trees; empty: none
  std::string sketches;              ///< file of schedules to add to the kernels' spaces; empty: none
  int64_t seed = 1, threads = 1;
  double seconds = 600; ///< time for the search
  int64_t trials = std::numeric_limits<int64_t>::max();
  std::string scheduler = "gradient"; ///< or "turns"
  bool confirms = true;               ///< confirm gains in the models at the end
  /// Replaces the named search, for kernels that have a space; empty: use the named one.
  std::function<std::unique_ptr<tune::Search>(const tune::Job &)> makeSearch = {};
  std::function<std::unique_ptr<tune::CostModel>(const tune::Job &)> makeCostModel = {};
  std::vector<std::string> kernels; ///< names of kernels to tune; empty: all
};

/// Gain of the schedules in one model, with one set of extents.
struct GainInModel {
  size_t model = 0;                          ///< index of the model
  std::string entry;                         ///< of the model, one of several; empty: the only one
  std::string extents;                       ///< "n=128"; empty: the only ones
  std::string refusal;                       ///< why the model was not measured; empty: it was measured
  double plainSeconds = 0, tunedSeconds = 0; ///< time of a run without and with the schedules
};

class TuningRun {
public:
  using IsInterrupted = std::function<bool()>;

  /// Consumes the modules: one or more at graph level, of one context; their entries are models of their own.
  /// `isInterrupted` stops running work. Errors:
  /// diagnostics on the context.
  static mlir::FailureOr<std::unique_ptr<TuningRun>> make(llvm::ArrayRef<mlir::ModuleOp> modules, TuningOptions options,
                                                          IsInterrupted isInterrupted);

  /// Reads earlier records of the kernels, from which the search starts.
  llvm::Error readKnown(const tune::Database &database);

  /// Measures the time of each kernel, without a search.
  void measure(const tune::Tuner::Progress &progress);
  /// Searches until time is up, and records what is found. Afterwards removes records that are no gain in the models.
  llvm::Error search(tune::Database &database, const tune::Tuner::Progress &progress);

  /// In the order of the models and sets of extents; empty: nothing was found, or no time was left.
  llvm::ArrayRef<GainInModel> gainsInModels() const { return gains; }
  /// The kernels of the models, with what was found.
  llvm::ArrayRef<tune::Job> kernels() const { return jobs; }
  const target::TargetInfo &machine() const { return target; }
  /// Totals over all kernels.
  const tune::Tuner &sums() const { return *tuner; }
  /// Symbols of inputs without a given value.
  llvm::ArrayRef<std::string> assumedSymbols() const { return assumed; }
  tune::RecordKey keyOf(const tune::Job &job) const;

private:
  TuningRun(TuningOptions options, target::TargetInfo target, IsInterrupted isInterrupted)
      : options(std::move(options)), target(std::move(target)), isInterrupted(std::move(isInterrupted)) {}
  mlir::LogicalResult readIntrinsics(mlir::MLIRContext *context);
  std::string bindInput(mlir::func::FuncOp entry, unsigned number, const arrays::Array &given);
  mlir::LogicalResult bindInputs(llvm::ArrayRef<mlir::ModuleOp> modules);
  mlir::LogicalResult checkSymbols(llvm::ArrayRef<mlir::ModuleOp> modules);
  int64_t otherBytesOf(const TaskExtents &extents) const;
  mlir::LogicalResult makeJobs(mlir::Location location);
  mlir::LogicalResult readSketches(mlir::MLIRContext *context);
  const TuningTask &taskOf(const tune::Job &job) const { return tasks[job.group]; }
  double setWeightOf(const tune::Job &job) const;
  /// Part of the remaining time for measuring each extents' best trace with the other extents.
  std::chrono::duration<double> secondsToCompare() const;
  tune::Record recordOf(const tune::Job &job, int64_t trials) const;

  /// An entry of a model after fusion, and for each set the extents of its kernels by name, as jobs have them.
  struct Whole {
    size_t model;
    std::string entry;
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
  std::vector<std::optional<tune::Record>> knownRecords; ///< earlier record of each job
  std::optional<tune::Tuner> tuner;
  /// Intrinsics of a file are read and compared with their descriptions once.
  std::optional<tile::IntrinsicScope> intrinsics;
};
} // namespace perpend

#endif
