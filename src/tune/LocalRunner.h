//===- LocalRunner.h - candidates of a tuner on this machine -----*- C++ -*-===//
//
// A candidate is compiled in a copy of this process (fork), where nothing has to
// be parsed again. It runs in another program (MeasureProgram.h), whose memory
// is laid out as that of a program that uses models. One that crashes or hangs
// ends its own process.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_LOCALRUNNER_H
#define PERPEND_TUNE_LOCALRUNNER_H

#include "tune/Tuner.h"

#include "llvm/ADT/SmallString.h"

namespace perpend::tune {

/// What a runner asks about its kernel.
class Candidates {
public:
  virtual ~Candidates() = default;
  /// Writes a library. Empty: done; else why it is refused. Called in a process of its own.
  virtual std::string compile(const Trace &candidate, llvm::StringRef library) = 0;
  /// Writes the kernel's inputs (TensorFile.h). Empty: done; else why there are none.
  virtual std::string writeInputs(llvm::StringRef path) = 0;
  /// Keeps what the compiler's own trace computes. False: the file cannot be read.
  virtual bool readReference(llvm::StringRef path) = 0;
  /// Of other outputs: empty, or how they differ.
  virtual std::string differenceOf(llvm::StringRef path) = 0;
};

class LocalRunner : public Runner {
public:
  /// How the kernel runs.
  struct Setting {
    int64_t threads = 1;
    int64_t otherBytes = 0; ///< that the model reads and writes between two calls, as far as caches matter
  };
  /// `program`: that which measures. `isInterrupted` ends what runs.
  LocalRunner(std::unique_ptr<Candidates> candidates, std::string program, Setting setting,
              std::function<bool()> isInterrupted);
  LocalRunner(const LocalRunner &) = delete;
  ~LocalRunner() override;

  Outcome measure(const Trace &candidate) override;

  double leastLimit = 20; ///< seconds that a candidate may take at least

private:
  // What happened, as `parse` reads it.
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
  double limitSeconds = 300; ///< of a candidate
  double bestSeconds = 0;    ///< of a call; 0: not known
  std::string best;          ///< its library
};
} // namespace perpend::tune

#endif
