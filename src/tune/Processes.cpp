//===- Processes.cpp - child processes of a tuner -------------------------===//

#include "tune/Processes.h"

#include "tune/MeasureProgram.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
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

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Memory allocated by this process, with which a copy starts.
static rlim_t allocatedBytes() {
  long long total = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld %lld %lld %lld %lld", &total, &resident, &shared, &text, &library, &data) != 6)
      data = 0;
    std::fclose(file);
  }
  return static_cast<rlim_t>(data) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// Isolates a copy of this process, and makes it exit with its parent.
static void isolate(pid_t parent) {
  constexpr rlim_t mostBytes = rlim_t{mostGiB} << 30;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, signal == SIGINT ? SIG_IGN : SIG_DFL); // the parent stops this process
  rlimit noCore = {0, 0}, memory = {allocatedBytes() + mostBytes, RLIM_INFINITY};
  memory.rlim_max = memory.rlim_cur;
  setrlimit(RLIMIT_CORE, &noCore);
  setrlimit(RLIMIT_DATA, &memory);
  int nowhere = open("/dev/null", O_WRONLY);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    dup2(nowhere, stream);
}

pid_t startCopy(int end, llvm::function_ref<std::string()> work) {
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

pid_t startProgram(int end, std::vector<std::string> words) {
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
  for (int signal : {SIGPIPE, SIGXFSZ}) // ignored in the parent
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

std::string outputOf(double seconds, const std::function<bool()> &isInterrupted,
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
         (isAbort ? "; it may have needed more than " + std::to_string(mostGiB) + " GiB" : "");
}
} // namespace perpend::tune
