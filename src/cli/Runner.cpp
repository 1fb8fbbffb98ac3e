//===- Runner.cpp - runs libraries of other architectures -----------------===//

#include "cli/Runner.h"

#include "target/Link.h"
#include "target/Program.h"
#include "target/cpu/Architecture.h"

#include "runner/Wire.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Program.h"

#include <csignal>
#include <cstdlib>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perpend::cli {

using target::Architecture;

void addRunnerOption(OptionList &list, std::string &runner) {
  list.add(
      "runner", runner, "COMMAND",
      "starts programs of the target's architecture, where that is not this machine's (default: PERPEND_RUNNER, or "
      "the emulator of the architecture)");
}

void useRunner(StringRef runner) {
  if (!runner.empty())
    setenv(runnerVariable, runner.str().c_str(), /*replace=*/1);
}

namespace {
/// What starts a library's programs.
struct RunnerCommand {
  std::vector<std::string> words; ///< empty: there is none
  std::string problem, cure;      ///< then
};
} // namespace

static RunnerCommand findCommand(const ForeignLibrary &library) {
  const Architecture &architecture = *library.architecture;
  std::vector<std::string> words;
  if (const char *given = std::getenv(runnerVariable); given && *given) {
    for (StringRef word : llvm::split(given, ' '))
      if (!word.empty())
        words.push_back(word.str());
    if (auto program = llvm::sys::findProgramByName(words.empty() ? "" : words.front());
        program && llvm::sys::fs::can_execute(*program))
      return {words, "", ""};
    return {
        {}, std::string("the runner '") + given + "' is no program", "give the path of a program that can be executed"};
  }
  const StringRef folder = architecture.emulatorFolder;
  const bool hasFolder = folder.empty() || llvm::sys::fs::is_directory(folder);
  if (!hasFolder || !llvm::sys::findProgramByName(architecture.emulator))
    return {{},
            (architecture.isEmulated ? "the emulator '" : "'") + architecture.emulator.str() + "'" +
                (folder.empty() ? "" : " with the C library in '" + folder.str() + "'") + " is not installed",
            "apt-get install " + architecture.emulatorPackages.str() + ", or name another runner with --runner"};
  words = {architecture.emulator.str()};
  if (!folder.empty())
    words.insert(words.end(), {"-L", folder.str()});
  if (architecture.emulatorOptions)
    llvm::append_range(words, architecture.emulatorOptions(library.extensions));
  return {words, "", ""};
}

/// The words of the command; empty, printed: there is none.
static std::vector<std::string> commandFor(const ForeignLibrary &library) {
  RunnerCommand command = findCommand(library);
  std::string title =
      llvm::formatv("'{0}' is for {1}, and this machine is {2}", library.path, library.architecture->name,
                    target::hostArchitecture() ? target::hostArchitecture()->name : "another");
  if (command.words.empty())
    fail(title + "; " + command.problem, command.cure);
  return command.words;
}

std::string describeRunner(const ForeignLibrary &library) {
  if (library.program)
    return llvm::errorToBool(library.program->checkRunner()) ? library.program->runner()
                                                             : "run, check and bench start its simulator";
  const RunnerCommand command = findCommand(library);
  return command.words.empty() ? "run and check have no runner for it: " + command.problem + " (" + command.cure + ")"
                               : "run and check start it with " + llvm::join(command.words, " ");
}

bool announceRunner(const perpend_model *model) {
  const ForeignLibrary *library = foreignLibraryOf(model);
  if (!library)
    return true;
  if (library->program) {
    if (llvm::Error error = library->program->checkRunner())
      return fail(std::move(error)), false;
    return llvm::outs() << library->program->runner() << "\n", true;
  }
  std::vector<std::string> words = commandFor(*library);
  if (words.empty())
    return false;
  const bool isGiven = std::getenv(runnerVariable) && *std::getenv(runnerVariable);
  llvm::outs() << (isGiven || !library->architecture->isEmulated ? "runs through " : "emulated by ") << words.front()
               << ": code for " << library->architecture->name << "\n";
  return true;
}

/// -1, printed: it cannot be started.
static pid_t spawn(std::vector<std::string> words, StringRef variant, int end) {
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(words.front());
  if (!program)
    return fail("cannot find '" + words.front() + "': " + program.getError().message()), -1;
  std::vector<char *> arguments, environment;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string chosen = "PERPEND_TARGET=" + variant.str();
  for (char **each = environ; *each; ++each)
    if (variant.empty() || !StringRef(*each).starts_with("PERPEND_TARGET="))
      environment.push_back(*each);
  if (!variant.empty())
    environment.push_back(chosen.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  auto free = llvm::make_scope_exit([&] { posix_spawn_file_actions_destroy(&actions); });
  for (int file : {STDIN_FILENO, STDOUT_FILENO})
    posix_spawn_file_actions_adddup2(&actions, end, file);
  pid_t process = -1;
  if (int error = posix_spawn(&process, program->c_str(), &actions, nullptr, arguments.data(), environment.data()))
    return fail("cannot start '" + *program + "': " + std::generic_category().message(error)), -1;
  return process;
}

std::unique_ptr<Runner> Runner::start(const ForeignLibrary &library, StringRef entry, int64_t threads) {
  std::vector<std::string> words = commandFor(library);
  if (words.empty())
    return nullptr;
  llvm::Expected<std::string> program =
      target::runtimeFilePath((library.architecture->name + "/" + library.architecture->runner).str());
  if (!program)
    return fail(program.takeError()), nullptr;
  std::string name = words.front();
  words.insert(words.end(), {*program, library.path, entry.str(), std::to_string(threads)});
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail("cannot make a socket: " + std::generic_category().message(errno)), nullptr;
  pid_t process = spawn(std::move(words), library.variant, ends[1]);
  close(ends[1]);
  std::unique_ptr<Runner> runner(new Runner(ends[0], process, name));
  if (process < 0)
    return nullptr;
  std::string message;
  if (!runner->receive(message))
    return fail(message), nullptr;
  return runner;
}

static constexpr llvm::StringLiteral signalled = "signal ";

Runner::~Runner() {
  close(socket);
  if (process > 0)
    end();
}

std::string Runner::end() {
  int status = 0;
  while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  process = -1;
  return WIFSIGNALED(status) ? signalled.str() + strsignal(WTERMSIG(status))
                             : "exit status " + std::to_string(WEXITSTATUS(status));
}

std::optional<std::vector<Array>> Runner::receive(std::string &message) {
  uint64_t status = 0, count = 0;
  auto gone = [&] {
    shutdown(socket, SHUT_RDWR);
    const std::string how = end();
    message = "the runner '" + name + "' ended before it answered: " + how;
    if (StringRef(how).starts_with(signalled))
      message += "; hint: emulators have faults of their own (docs/targets.md); --runner names another version";
    return std::nullopt;
  };
  if (!runtime::receiveWord(socket, status))
    return gone();
  if (status != PERPEND_OK) {
    size_t bytes = 0;
    char *text = runtime::receiveText(socket, bytes);
    if (!text)
      return gone();
    message.assign(text, bytes);
    std::free(text);
    return std::nullopt;
  }
  if (!runtime::receiveWord(socket, count))
    return gone();
  std::vector<Array> arrays;
  for (uint64_t i = 0; i < count; ++i) {
    perpend_tensor tensor;
    auto free = llvm::make_scope_exit([&] { runtime::freeTensor(tensor); });
    if (!runtime::receiveTensor(socket, tensor))
      return gone();
    if (tensor.data)
      arrays.push_back(Array::copyOf(tensor));
    else
      arrays.push_back({tensor.type, llvm::SmallVector<int64_t>(ArrayRef(tensor.shape, tensor.rank)), nullptr});
  }
  return arrays;
}

std::optional<std::vector<Array>> Runner::ask(uint64_t request, ArrayRef<perpend_tensor> inputs, std::string &message) {
  bool isSent = runtime::sendWord(socket, request) && runtime::sendWord(socket, inputs.size());
  for (const perpend_tensor &input : inputs)
    isSent = isSent && runtime::sendTensor(socket, input);
  return receive(message); // of a runner that has gone, too
}
} // namespace perpend::cli
