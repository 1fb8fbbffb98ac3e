//===- ModelTuning.h - a model that is tuned, for Python ---------*- C++ -*-===//
//
// TuningRun behind plain C++ types, as Program is.
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
  std::string output; ///< the database; empty: nothing is searched
  std::string budget; ///< "90", "90s", "10m"
  OptionValues settings, compiler;
  std::vector<std::string> symbols; ///< "n=128", or as ExtentSets.h says
  std::vector<std::pair<std::string, perpend_tensor>> inputs;
  std::vector<std::string> kernels; ///< that are tuned; empty: all
  bool isMeasured = true;           ///< else the kernels are only named
};

struct TunedKernel {
  std::string name, structure, symbols, trace;
  int64_t calls = 0, trials = 0, refused = 0, wrong = 0, crashed = 0, timedOut = 0;
  double weight = 1, roofSeconds = 0;
  /// Of a call; 0: not measured.
  double defaultSeconds = 0, seconds = 0;
};

struct TuningStep {
  std::string kernel, outcome;
  int64_t trials = 0;
  double defaultSeconds = 0, seconds = 0; ///< of the model's kernels
};

/// Of the model with some extents.
struct ModelGain {
  std::string symbols, refusal;
  double defaultSeconds = 0, seconds = 0; ///< of a run
};

struct TuningResult {
  std::vector<TunedKernel> kernels;
  std::vector<ModelGain> model;
  std::string target;
  double defaultSeconds = 0, seconds = 0; ///< of the model's kernels
};

/// A search of the caller's own: of each decision the number of its choice.
struct SearchCalls {
  std::function<std::optional<std::vector<unsigned>>()> propose;
  std::function<void(const std::vector<unsigned> &, double time)> tell;
};

/// What the caller hears while it runs, and may do in the place of a search or a cost model; none of them throws.
struct TuningCalls {
  std::function<bool()> isInterrupted;
  std::function<void(const TuningStep &)> progress;
  std::function<void(const std::string &)> warn;
  /// Of a kernel's candidate; empty: the named cost model.
  std::function<double(const std::string &kernel, const std::string &trace)> predict = {};
  std::function<bool(const std::string &kernel, const std::string &trace, double time)> learn = {};
  /// Of a kernel's decisions, and what stands there in its own trace; empty: the named search.
  std::function<SearchCalls(const std::string &kernel, const std::vector<std::vector<std::string>> &choices,
                            const std::vector<unsigned> &given)>
      makeSearch = {};
};

/// The program stays as it is. False: an error. What was found until then, or until it was interrupted, is written.
bool tuneProgram(Program &program, const TuningRequest &request, const TuningCalls &calls, TuningResult &result,
                 std::string &error);

/// Records as `perpend db export` writes them; of one structure or target, unless it is empty. nullopt: an error.
std::optional<std::string> exportRecords(const std::string &database, const std::string &structure,
                                         const std::string &target, std::string &error);
/// Of "90", "90s", "10m". nullopt: an error.
std::optional<double> secondsOf(const std::string &budget, std::string &error);
/// The canonical text of a machine. nullopt: an error.
std::optional<std::string> targetName(const std::string &target, std::string &error);
/// Adds what was found beginning with `known`, which goes where it was not found again. Makes the database.
bool addRecords(const std::string &database, const std::string &found, const std::string &known, std::string &error);
} // namespace perpend::python

#endif
