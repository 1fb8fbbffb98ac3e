//===- LocalRunner.h - candidates of a tuner on this machine -----*- C++ -*-===//
//
// Each candidate is compiled, loaded, compared and timed in a process of its
// own, which is a copy of this one (fork): nothing is parsed or loaded again, and
// a candidate that crashes or hangs ends its own process.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_LOCALRUNNER_H
#define PERPEND_LOCALRUNNER_H

#include "Tuning.h"
#include "arrays/Array.h"
#include "tune/Tuner.h"

namespace perpend {

class LocalRunner : public tune::Runner {
public:
  ~LocalRunner() override;
  /// `isInterrupted` ends what runs.
  LocalRunner(const TuningTask &task, const CompileOptions &options, int64_t threads, int64_t seed,
              std::function<bool()> isInterrupted);

  tune::Outcome measure(const tune::Trace &candidate) override;

private:
  // In the process of its own: what happened, as `parse` reads it.
  /// Empty: it is compiled.
  std::string compileOne(const tune::Trace &candidate, llvm::StringRef library);
  std::string attempt(const tune::Trace &candidate, llvm::StringRef library);
  std::string loadAndTime(llvm::StringRef library);
  tune::Outcome parse(llvm::StringRef text) const;
  /// Of the first candidate, in this process.
  /// What `work` returns in a process of its own; "crashed" or "timed out" where that does not end well.
  std::string isolated(double seconds, llvm::function_ref<std::string()> work) const;
  tune::Outcome measureFirst();
  std::string pathOf(llvm::StringRef name) const;
  bool readReference(llvm::StringRef library);
  void remove(llvm::StringRef library) const;

  const TuningTask &task;
  const CompileOptions &options;
  int64_t threads, seed;
  std::function<bool()> isInterrupted;
  llvm::SmallString<128> folder;
  int64_t number = 0;
  double limitSeconds = 0; ///< of a candidate
  double bestSeconds = 0;  ///< of a call; 0: not known
  std::string best;        ///< its library
  std::vector<arrays::Array> inputs, reference;
};
} // namespace perpend

#endif
