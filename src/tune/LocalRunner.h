//===- LocalRunner.h - runs a tuner's candidates on this machine -*- C++ -*-===//
//
// A candidate is compiled in a copy of this process (fork), where nothing needs
// to be parsed again. It runs in another program (MeasureProgram.h), whose
// memory layout is that of a program using models. A candidate that crashes or
// hangs ends its own process only.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_LOCALRUNNER_H
#define PERPEND_TUNE_LOCALRUNNER_H

#include "tune/Tuner.h"

#include "llvm/ADT/SmallString.h"

namespace perpend::tune {

/// Access to the kernel being tuned.
class Candidates {
public:
  virtual ~Candidates() = default;
  /// Writes a library. Returns why that is refused; empty: done. Called in a child process.
  virtual std::string compile(const Trace &candidate, llvm::StringRef library) = 0;
  /// Writes the kernel's inputs (TensorFile.h). Returns why that is impossible; empty: done.
  virtual std::string writeInputs(llvm::StringRef path) = 0;
  /// Reads the outputs of the compiler's own trace as the reference. False: the file cannot be read.
  virtual bool readReference(llvm::StringRef path) = 0;
  /// How other outputs differ from the reference; empty if they agree.
  virtual std::string differenceOf(llvm::StringRef path) = 0;
};

class LocalRunner : public Runner {
public:
  /// Conditions of a measurement.
  struct Setting {
    int64_t threads = 1;
    int64_t otherBytes = 0; ///< bytes that the model accesses between two calls, limited to the caches
  };
  /// `program`: path of the measuring program. `isInterrupted` stops running work.
  LocalRunner(std::unique_ptr<Candidates> candidates, std::string program, Setting setting,
              std::function<bool()> isInterrupted);
  LocalRunner(const LocalRunner &) = delete;
  ~LocalRunner() override;

  Outcome measure(const Trace &candidate) override;

  double leastLimit = 20; ///< least time limit of a candidate, in seconds

private:
  // Returns the outcome in the form that `parse` reads.
  std::string compile(const Trace &candidate, llvm::StringRef library, double seconds);
  std::string run(llvm::StringRef library, int64_t placement);
  Outcome runAndCompare(llvm::StringRef library, int64_t placement);
  Outcome parse(llvm::StringRef text) const;
  Outcome measureFirst(const Trace &given, llvm::StringRef library);
  std::string pathOf(llvm::StringRef name) const { return (folder + "/" + name).str(); }
  void remove(llvm::StringRef library) const;

  std::unique_ptr<Candidates> candidates;
  std::string program;
  Setting setting;
  std::function<bool()> isInterrupted;
  llvm::SmallString<128> folder;
  int64_t number = 0;
  double limitSeconds = 300; ///< time limit of a candidate
  double bestSeconds = 0;    ///< time of a call; 0: unknown
  std::string best;          ///< path of the best library
};
} // namespace perpend::tune

#endif
