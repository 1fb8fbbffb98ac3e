//===- ModelTuning.h - tunes a model for Python -----------------*- C++ -*-===//
//
// TuningRun behind plain C++ types, like Program.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_MODELTUNING_H
#define PERPEND_PYTHON_MODELTUNING_H

#include "python/Program.h"

#include "perpend.h"

#include <functional>
#include <optional>

namespace perpend::python {

struct TuningRequest {
  std::string output; ///< the database; empty: no search
  std::string budget; ///< "90", "90s", "10m"
  OptionValues settings, compiler;
  std::vector<std::string> symbols; ///< "n=128", or as ExtentSets.h says
  std::vector<std::pair<std::string, perpend_tensor>> inputs;
  std::vector<std::string> kernels; ///< kernels to tune; empty: all
  bool isMeasured = true;           ///< false: only list the kernels
};

struct TunedKernel {
  std::string name, structure, symbols, trace;
  int64_t calls = 0, trials = 0, refused = 0, wrong = 0, crashed = 0, timedOut = 0;
  double weight = 1, roofSeconds = 0;
  /// Time of a call; 0: not measured.
  double defaultSeconds = 0, seconds = 0;
};

struct TuningStep {
  std::string kernel, outcome;
  int64_t trials = 0;
  double defaultSeconds = 0, seconds = 0; ///< sums over the model's kernels
};

/// The gain in an entry of the model with some extents.
struct ModelGain {
  std::string entry, symbols, refusal;
  double defaultSeconds = 0, seconds = 0; ///< time of a run
};

struct TuningResult {
  std::vector<TunedKernel> kernels;
  std::vector<ModelGain> model;
  std::string target;
  double defaultSeconds = 0, seconds = 0; ///< sums over the model's kernels
};

/// The caller's own search; points give the index of the choice for each decision.
struct SearchCalls {
  std::function<std::optional<std::vector<unsigned>>()> propose;
  std::function<void(const std::vector<unsigned> &, double time)> tell;
};

/// Callbacks during a run, some of which replace a search or a cost model; none of them throws.
struct TuningCalls {
  std::function<bool()> isInterrupted;
  std::function<void(const TuningStep &)> progress;
  std::function<void(const std::string &)> warn;
  /// Predicts the time of a kernel's candidate; empty: use the named cost model.
  std::function<double(const std::string &kernel, const std::string &trace)> predict = {};
  std::function<bool(const std::string &kernel, const std::string &trace, double time)> learn = {};
  /// Creates a search for a kernel's decisions, given the choices of its own trace; empty: use the named search.
  std::function<SearchCalls(const std::string &kernel, const std::vector<std::vector<std::string>> &choices,
                            const std::vector<unsigned> &given)>
      makeSearch = {};
};

/// Leaves the program unchanged. False: an error. Results found before an error or interruption are saved.
bool tuneProgram(Program &program, const TuningRequest &request, const TuningCalls &calls, TuningResult &result,
                 std::string &error);

/// Records in the format of `perpend db export`, restricted to a structure or target unless that is empty. nullopt: an
/// error.
std::optional<std::string> exportRecords(const std::string &database, const std::string &structure,
                                         const std::string &target, std::string &error);
/// Parses "90", "90s" or "10m". nullopt: an error.
std::optional<double> secondsOf(const std::string &budget, std::string &error);
/// The canonical text of a machine. nullopt: an error.
std::optional<std::string> targetName(const std::string &target, std::string &error);
/// Adds records found by a search that started from `known`; removes known ones that were not found again. Creates the
/// database if needed.
bool addRecords(const std::string &database, const std::string &found, const std::string &known, std::string &error);
} // namespace perpend::python

#endif
