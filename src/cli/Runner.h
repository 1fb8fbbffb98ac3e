//===- Runner.h - runs libraries of other architectures ---------*- C++ -*-===//
//
// What is compiled for another architecture runs in an emulator, or through any program that starts programs of it
// (--runner). That starts the runtime's perpend-runner, which loads the library and serves requests (runner/Wire.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_CLI_RUNNER_H
#define PERPEND_CLI_RUNNER_H

#include "cli/CompiledModel.h"

#include <sys/types.h>

namespace perpend::target {
struct Architecture;
class Program;
} // namespace perpend::target

namespace perpend::cli {

/// A library that only a runner runs.
struct ForeignLibrary {
  std::string path;
  const target::Architecture *architecture = nullptr;
  std::shared_ptr<target::Program> program; ///< of an accelerator, in place of an architecture
  std::string variant;                      ///< of a library for several machines; empty: it chooses
  std::vector<std::string> extensions;      ///< that its code needs, of all machines
  mutable bool isRefused = false;           ///< no runner starts it, and it has been said why
};

/// What the option --runner and the environment variable PERPEND_RUNNER are.
inline constexpr const char *runnerVariable = "PERPEND_RUNNER";
void addRunnerOption(OptionList &list, std::string &runner);
void useRunner(StringRef runner);

/// For users: the command that starts programs of a library's architecture, or why there is none.
std::string describeRunner(const ForeignLibrary &library);

/// For outputs whose first line says that a library does not run in this process. False, printed: there is no runner.
bool announceRunner(const perpend_model *model);

/// The process in which a library runs.
class Runner {
public:
  /// Null, printed: it does not start, or refuses the library.
  static std::unique_ptr<Runner> start(const ForeignLibrary &library, StringRef entry, int64_t threads);
  ~Runner();
  Runner(const Runner &) = delete;

  /// The tensors of the reply. Errors: nullopt; `message` of the library, or of the runner's end.
  std::optional<std::vector<Array>> ask(uint64_t request, ArrayRef<perpend_tensor> inputs, std::string &message);

private:
  Runner(int socket, pid_t process, std::string name) : socket(socket), process(process), name(std::move(name)) {}
  std::optional<std::vector<Array>> receive(std::string &message);
  /// How the process ended.
  std::string end();

  int socket;
  pid_t process;
  std::string name;
};
} // namespace perpend::cli

#endif
