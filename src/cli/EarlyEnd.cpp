//===- EarlyEnd.cpp - cleans up when the tool is interrupted --------------===//
//
// A signal handler may not remove folders, so it writes the signal's number to a
// pipe. A thread waits at the other end, and also for the time limit.
//
//===----------------------------------------------------------------------===//

#include "cli/EarlyEnd.h"

#include "support/TemporaryFolders.h"
#include "support/Threads.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace perpend::cli {

static int signalPipe[2];
static std::atomic<bool> isInterrupted = false; ///< only the signal may end the program now
static rlimit memoryBefore;
static int64_t memoryLimit;

static void cleanUp() {
  llvm::sys::RunInterruptHandlers(); // removes unfinished files
  support::removeTemporaryFolders();
}

/// One thread ends the program; others wait for that.
[[noreturn]] static void endWith(const llvm::Twine &message, const llvm::Twine &hint) {
  static std::atomic<bool> isEnding = false;
  while (isEnding.exchange(true))
    pause();
  fail(message, hint);
  llvm::outs().flush();
  cleanUp();
  _exit(UserError);
}

static void forwardSignal(int number) {
  char byte = static_cast<char>(number);
  isInterrupted = true;
  (void)!write(signalPipe[1], &byte, 1);
}

static void waitForSignal() {
  char byte = 0;
  while (read(signalPipe[0], &byte, 1) != 1) {
  }
  cleanUp();
  std::signal(byte, SIG_DFL);
  kill(getpid(), byte);
}

/// Waits after an interruption: the program might otherwise fail, or finish, while its folders are being removed.
static void leaveTheEndToSignal() {
  while (isInterrupted)
    pause();
}

void cleanUpOnSignals() {
  for (int number : {SIGPIPE, SIGXFSZ}) // writing reports it as an error
    std::signal(number, SIG_IGN);
  if (pipe(signalPipe) != 0)
    return;
  if (!support::startThread(waitForSignal))
    return; // signals end the program then, and nothing else
  std::atexit(leaveTheEndToSignal);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before;
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) // keep ignored signals, as under nohup
      std::signal(number, forwardSignal);
  }
}

/// Handles a failed allocation. Lifts the limit, so that the message can be allocated.
static void runOutOfMemory() {
  static thread_local bool isEnding = false;
  if (std::exchange(isEnding, true)) // not even for the last words
    _exit(UserError);
  if (!memoryLimit) {
    constexpr llvm::StringLiteral text =
        "error: the system gives this process no more memory\n"
        "hint: a machine with more, a larger limit (ulimit -v), or smaller dimensions of the inputs (--dim)\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
    cleanUp();
    _exit(UserError);
  }
  setrlimit(RLIMIT_DATA, &memoryBefore);
  endWith("more than " + llvm::Twine(memoryLimit) + " MB of memory are needed, the limit of --max-mem",
          "a larger limit, or smaller dimensions of the inputs (--dim)");
}

void endIfOutOfMemory() {
  // The heap grows by 132 KB at least, so no small allocation fails while twice that can be had.
  constexpr size_t smallest = size_t{1} << 18;
  void *probe = memoryLimit ? std::malloc(smallest) : nullptr;
  if (memoryLimit && !probe)
    runOutOfMemory();
  std::free(probe);
}

void Limits::addTo(OptionList &list) {
  list.add("max-time", seconds, "SECONDS", "stop with an error after this time (default 0: never)");
  list.add("max-mem", megabytes, "MB", "stop with an error beyond this much allocated memory (default 0: never)");
}

bool Limits::apply() const {
  if (seconds < 0 || megabytes < 0)
    return fail("options '--max-time' and '--max-mem': expected a number of at least 0"), false;
  bool isWatched = !seconds || support::startThread([seconds = seconds] {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    endWith("the compilation took more than " + llvm::Twine(seconds) + " s, the limit of --max-time",
            "a larger limit, a lower -O, or --stop-after to see how far it gets");
  });
  if (!isWatched)
    return fail("option '--max-time': the system has no thread that watches the time",
                "a larger limit of processes or memory (ulimit -u, ulimit -v), or leave it out"),
           false;
  if (megabytes) {
    memoryLimit = megabytes;
    getrlimit(RLIMIT_DATA, &memoryBefore);
    rlimit limit = {static_cast<rlim_t>(megabytes) << 20, memoryBefore.rlim_max};
    if (setrlimit(RLIMIT_DATA, &limit) != 0)
      return fail("option '--max-mem': the system refuses a limit of " + llvm::Twine(megabytes) + " MB"), false;
  }
  std::set_new_handler(runOutOfMemory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { runOutOfMemory(); });
  return true;
}
} // namespace perpend::cli
