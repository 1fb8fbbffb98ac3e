#include "BusGuard.h"
#include "../Pin.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // guards all but what the handler reads
std::atomic<GuardedRange *> ranges{nullptr};
int raised = 0;
struct sigaction previous;

GuardedRange *findRange(uintptr_t address) {
  for (GuardedRange *range = ranges.load(); range; range = range->next)
    if (address >= range->begin.load() && address < range->end.load())
      return range;
  return nullptr;
}

bool isSame(const struct sigaction &one, const struct sigaction &other) {
  const bool hasInfo = one.sa_flags & SA_SIGINFO;
  return hasInfo == bool(other.sa_flags & SA_SIGINFO) &&
         (hasInfo ? one.sa_sigaction == other.sa_sigaction : one.sa_handler == other.sa_handler);
}

// Restores the previous handler. If that is the current one already, it has forwarded the signal to this handler and
// had its turn, so the default action follows.
void restorePrevious() {
  struct sigaction current, standard = {};
  standard.sa_handler = SIG_DFL;
  const bool cameRound = sigaction(SIGBUS, nullptr, &current) == 0 && isSame(current, previous);
  sigaction(SIGBUS, cameRound ? &standard : &previous, nullptr);
}

// Maps zeros where the file has shrunk, and lets the access be repeated.
void onBusError(int, siginfo_t *info, void *) {
  const int savedErrno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  GuardedRange *range = info->si_code == BUS_ADRERR ? findRange(address) : nullptr;
  const uintptr_t page = address & ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
  if (range && mmap(reinterpret_cast<void *>(page), range->end.load() - page, PROT_READ,
                    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    range->isCut.store(true);
  else
    restorePrevious();    //  a real fault occurs again
  if (info->si_code <= 0) // a signal sent by a process does not
    raise(SIGBUS);
  errno = savedErrno;
}

bool isInstalled() {
  struct sigaction current;
  return sigaction(SIGBUS, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) &&
         current.sa_sigaction == onBusError;
}

} // namespace

GuardedRange *guardRange(uintptr_t begin, uintptr_t end) {
  pthread_mutex_lock(&mutex);
  GuardedRange *range = ranges.load();
  while (range && range->begin.load())
    range = range->next;
  const bool isNew = !range;
  if (isNew)
    if (void *memory = malloc(sizeof(GuardedRange)))
      range = new (memory) GuardedRange;
  if (range) {
    range->isCut.store(false);
    range->end.store(end);
    range->begin.store(begin);
  }
  if (range && isNew) {
    range->next = ranges.load();
    ranges.store(range);
  }
  pthread_mutex_unlock(&mutex);
  return range;
}

void releaseRange(GuardedRange *range) {
  pthread_mutex_lock(&mutex);
  range->end.store(0);
  range->begin.store(0);
  pthread_mutex_unlock(&mutex);
}

void raiseGuard() {
  pthread_mutex_lock(&mutex);
  if (raised++ == 0 && !isInstalled()) {
    static bool isPinned = false;
    if (!isPinned)
      pinObjectOf(reinterpret_cast<void *>(&onBusError)); // a handler installed over this one may go on calling it
    isPinned = true;
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGBUS, &action, &previous);
  }
  pthread_mutex_unlock(&mutex);
}

// Handlers that others have installed since stay in place.
void lowerGuard() {
  pthread_mutex_lock(&mutex);
  if (--raised == 0 && isInstalled())
    sigaction(SIGBUS, &previous, nullptr);
  pthread_mutex_unlock(&mutex);
}

} // namespace perpend::runtime
