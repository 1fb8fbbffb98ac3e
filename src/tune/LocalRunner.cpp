//===- LocalRunner.cpp - candidates of a tuner on this machine ------------===//

#include "tune/LocalRunner.h"

#include "support/TemporaryFolders.h"
#include "tune/MeasureProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace perpend::tune {

using llvm::StringRef;
using Clock = std::chrono::steady_clock;

/// Beyond this part of its usual time, the best so far is slow for a reason that is not its schedule.
static constexpr double unusual = 1.25;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// Memory that this process has allocated; a copy of it begins with it.
static rlim_t allocatedBytes() {
  long long total = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld %lld %lld %lld %lld", &total, &resident, &shared, &text, &library, &data) != 6)
      data = 0;
    std::fclose(file);
  }
  return static_cast<rlim_t>(data) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// Of a copy of this process: what it does stays its own, and it ends with its parent.
static void isolate(pid_t parent) {
  constexpr rlim_t mostBytes = rlim_t{mostGiB} << 30;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, signal == SIGINT ? SIG_IGN : SIG_DFL); // the parent stops it
  rlimit noCore = {0, 0}, memory = {allocatedBytes() + mostBytes, RLIM_INFINITY};
  memory.rlim_max = memory.rlim_cur;
  setrlimit(RLIMIT_CORE, &noCore);
  setrlimit(RLIMIT_DATA, &memory);
  int nowhere = open("/dev/null", O_WRONLY);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    dup2(nowhere, stream);
}

/// A copy of this process that writes what `work` returns to `end`.
static pid_t startCopy(int end, llvm::function_ref<std::string()> work) {
  llvm::outs().flush();
  pid_t parent = getpid(), child = fork();
  if (child != 0)
    return child;
  isolate(parent);
  std::string text = work();
  for (size_t at = 0; at < text.size();)
    if (ssize_t count = write(end, text.data() + at, text.size() - at); count > 0)
      at += static_cast<size_t>(count);
    else
      break;
  _exit(0);
}

/// A program that prints to `end`.
static pid_t startProgram(int end, std::vector<std::string> words) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t caught;
  sigemptyset(&caught);
  for (int signal : {SIGPIPE, SIGXFSZ}) // this process ignores them
    sigaddset(&caught, signal);
  posix_spawnattr_setsigdefault(&attributes, &caught);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  if (posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ) != 0)
    child = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

/// What the process says that `start` makes; "crashed" or "timed out" where it does not end well.
static std::string outputOf(double seconds, const std::function<bool()> &isInterrupted,
                            llvm::function_ref<pid_t(int end)> start) {
  constexpr int sliceMs = 100;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return "not tried\nno pipe";
  Clock::time_point begin = Clock::now();
  pid_t child = start(ends[1]);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return "not tried\nno process";
  }
  std::string text;
  bool isOver = false;
  while (!isOver && !isInterrupted()) {
    double left = seconds - secondsSince(begin);
    pollfd from = {ends[0], POLLIN, 0};
    if (left <= 0)
      break;
    if (poll(&from, 1, std::min(sliceMs, static_cast<int>(left * 1e3) + 1)) <= 0)
      continue;
    char bytes[4096];
    ssize_t count = read(ends[0], bytes, sizeof bytes);
    isOver = count <= 0;
    text.append(bytes, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  close(ends[0]);
  if (!isOver)
    kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!isOver && isInterrupted())
    return "not tried\nit was interrupted";
  if (!isOver)
    return "timed out\nit took more than " + std::to_string(static_cast<int>(seconds)) + " s";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty())
    return text;
  bool isAbort = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return "crashed\nits process ended with " +
         (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "an error") +
         (isAbort ? ", as one does that wants more than " + std::to_string(mostGiB) + " GiB" : "");
}

//===----------------------------------------------------------------------===//
// The runner
//===----------------------------------------------------------------------===//

LocalRunner::LocalRunner(std::unique_ptr<Candidates> candidates, std::string program, Setting setting,
                         std::function<bool()> isInterrupted)
    : candidates(std::move(candidates)), program(std::move(program)), setting(setting),
      isInterrupted(std::move(isInterrupted)) {
  if (support::makeTemporaryFolder(folder))
    folder.clear();
}

LocalRunner::~LocalRunner() {
  if (!folder.empty())
    support::removeTemporaryFolder(folder);
}

std::string LocalRunner::compile(const Trace &candidate, StringRef library, double seconds) {
  return outputOf(seconds, isInterrupted, [&](int end) {
    return startCopy(end, [&] {
      std::string refusal = candidates->compile(candidate, library);
      return refusal.empty() ? "compiled" : "refused\n" + refusal;
    });
  });
}

std::string LocalRunner::run(StringRef library, int64_t placement) {
  std::vector<std::string> words = {program,
                                    std::to_string(getpid()),
                                    pathOf("inputs"),
                                    pathOf("outputs"),
                                    std::to_string(setting.threads),
                                    std::to_string(placement),
                                    std::to_string(setting.otherBytes),
                                    library.str()};
  if (!best.empty())
    words.push_back(best);
  std::string text =
      outputOf(limitSeconds, isInterrupted, [&](int end) { return startProgram(end, std::move(words)); });
  for (StringRef kind : {"measured ", "refused "})
    if (StringRef(text).starts_with(kind))
      text[kind.size() - 1] = '\n';
  return text;
}

Outcome LocalRunner::parse(StringRef text) const {
  Outcome outcome;
  auto [kind, rest] = text.split('\n');
  outcome.message = rest.trim().str();
  for (auto [name, value] : {std::pair<StringRef, Outcome::Kind>("crashed", Outcome::Crashed),
                             {"timed out", Outcome::TimedOut},
                             {"not tried", Outcome::NotTried}})
    if (kind == name)
      outcome.kind = value;
  if (kind != "measured")
    return outcome;
  llvm::SmallVector<StringRef> numbers;
  rest.trim().split(numbers, ' ');
  double bestNow = 0, *values[] = {&outcome.seconds, &outcome.spreadSeconds, &outcome.ratio, &bestNow};
  bool isRead = numbers.size() == 5;
  for (auto [number, value] : llvm::zip(numbers, values))
    isRead &= !number.getAsDouble(*value);
  if (!isRead || !(outcome.seconds > 0)) {
    outcome.message = "its process printed something else";
    return outcome;
  }
  outcome.kind = Outcome::Measured;
  outcome.message.clear();
  // Some processes run one of two libraries several times as slowly; a candidate does not win by that.
  outcome.isUsual = bestSeconds == 0 || bestNow < unusual * bestSeconds;
  outcome.isFaster = outcome.isUsual && numbers.back() == "1";
  return outcome;
}

Outcome LocalRunner::runAndCompare(StringRef library, int64_t placement) {
  Outcome outcome = parse(run(library, placement));
  if (outcome.kind != Outcome::Measured)
    return outcome;
  if (std::string difference = candidates->differenceOf(pathOf("outputs")); !difference.empty()) {
    outcome = Outcome();
    outcome.kind = Outcome::Wrong;
    outcome.message = difference;
  }
  return outcome;
}

void LocalRunner::remove(StringRef library) const {
  llvm::sys::fs::remove(library);
  llvm::sys::fs::remove(library.drop_back(2).str() + "h");
}

/// The least of some processes' times.
Outcome LocalRunner::measureFirst(const Trace &given, StringRef library) {
  constexpr double slower = 20;
  constexpr int64_t processes = 3;
  auto refused = [](std::string message) {
    Outcome outcome;
    outcome.message = std::move(message);
    return outcome;
  };
  if (std::string text = compile(given, library, limitSeconds); text != "compiled")
    return parse(text);
  if (std::string refusal = candidates->writeInputs(pathOf("inputs")); !refusal.empty())
    return refused(std::move(refusal));
  Clock::time_point start = Clock::now();
  Outcome least = parse(run(library, 0));
  if (least.kind != Outcome::Measured)
    return least;
  if (!candidates->readReference(pathOf("outputs")))
    return refused("its outputs cannot be read");
  limitSeconds = leastLimit + slower * secondsSince(start);
  for (int64_t i = 1; i < processes; ++i) {
    Outcome outcome = runAndCompare(library, i);
    if (outcome.kind != Outcome::Measured)
      return outcome;
    if (outcome.seconds < least.seconds)
      least = outcome;
  }
  best = library;
  bestSeconds = least.seconds;
  return least;
}

Outcome LocalRunner::measure(const Trace &candidate) {
  if (folder.empty())
    return parse("not tried\nthere is no folder for its files\nhint: TMPDIR=FOLDER");
  std::string library = pathOf("candidate" + std::to_string(number++) + ".so");
  if (best.empty())
    return measureFirst(candidate, library);
  std::string text = compile(candidate, library, limitSeconds);
  Outcome outcome = text == "compiled" ? runAndCompare(library, 0) : parse(text);
  // A duel ends when chance favours the candidate, too; another one, elsewhere in memory, does not know that.
  if (double first = outcome.ratio; outcome.isFaster) {
    outcome = runAndCompare(library, 1);
    outcome.ratio = std::max(first, outcome.ratio);
  }
  remove(outcome.isFaster ? best : library);
  if (outcome.isFaster) {
    best = library;
    bestSeconds *= outcome.ratio;
  }
  return outcome;
}
} // namespace perpend::tune
