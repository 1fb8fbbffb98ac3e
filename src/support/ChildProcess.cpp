#include "support/ChildProcess.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perpend::support {
namespace {
/// Meanings of the exit status.
enum Status { Done = 0, Stopped = 3 };
} // namespace

static void writeAll(int file, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return;
    text = text.drop_front(static_cast<size_t>(count));
  }
}

static std::string readAll(int file) {
  constexpr size_t mostBytes = 1 << 16; // a child may print endlessly; its result comes last
  std::string text;
  char part[4096];
  while (true) {
    ssize_t count = read(file, part, sizeof part);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return text;
    text.append(part, static_cast<size_t>(count));
    if (text.size() > 2 * mostBytes)
      text.erase(0, text.size() - mostBytes);
  }
}

/// Disables this process's handlers in the child: they would remove the parent's files.
static void becomeChild(unsigned seconds, int out) {
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGXCPU, SIGALRM, SIGTERM, SIGINT, SIGSYS})
    std::signal(signal, SIG_DFL);
  rlimit none = {0, 0}, time = {seconds, seconds + 1};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_CPU, &time);
  alarm(4 * seconds); // also limits waiting
  dup2(out, STDERR_FILENO);
  dup2(out, STDOUT_FILENO);
  llvm::remove_bad_alloc_error_handler();
  std::set_new_handler([] {
    writeAll(STDERR_FILENO, "it needs more memory than there is");
    _exit(Stopped);
  });
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    writeAll(STDERR_FILENO, reason);
    _exit(Stopped);
  });
}

/// Code may ignore SIGXCPU, but not the SIGKILL that follows.
static std::string describe(int status, const rusage &usage, unsigned seconds) {
  if (!WIFSIGNALED(status))
    return "it ends the process";
  int signal = WTERMSIG(status);
  bool isOverTime = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec >= static_cast<time_t>(seconds);
  if (signal == SIGXCPU || signal == SIGALRM || (signal == SIGKILL && isOverTime))
    return "it takes longer than " + std::to_string(seconds) + " s";
  if (signal == SIGKILL)
    return "the system kills it, as it does with what takes too much memory";
  return std::string("it ends with signal ") + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

ChildResult runInChild(unsigned seconds, llvm::function_ref<std::string()> body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {false, std::string("no pipe: ") + std::strerror(errno)};
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    becomeChild(seconds, ends[1]);
    std::string text = body();
    writeAll(ends[1], llvm::StringRef("\0", 1)); // separates the result from output of libraries
    writeAll(ends[1], text);
    _exit(Done);
  }
  close(ends[1]);
  std::string text = child < 0 ? "" : readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  rusage usage = {};
  if (child < 0)
    return {false, std::string("no process: ") + std::strerror(errno)};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == Done && llvm::StringRef(text).contains('\0'))
    return {true, llvm::StringRef(text).rsplit('\0').second.str()};
  bool isStopped = WIFEXITED(status) && WEXITSTATUS(status) == Stopped;
  return {false, isStopped ? text : describe(status, usage, seconds), WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

} // namespace perpend::support
