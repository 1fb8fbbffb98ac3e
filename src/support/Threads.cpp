#include "support/Threads.h"

#include <memory>
#include <pthread.h>
#include <vector>

namespace perpend::support {

static void *callAndForget(void *work) {
  (*std::unique_ptr<std::function<void()>>(static_cast<std::function<void()> *>(work)))();
  return nullptr;
}

bool startThread(std::function<void()> work) {
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  pthread_t thread;
  if (pthread_create(&thread, nullptr, callAndForget, owned.get()) != 0)
    return false;
  (void)owned.release(); // the thread's now
  pthread_detach(thread);
  return true;
}

namespace {
struct Part {
  llvm::function_ref<void(unsigned)> work;
  unsigned number;
};
} // namespace

static void *callPart(void *part) {
  static_cast<Part *>(part)->work(static_cast<Part *>(part)->number);
  return nullptr;
}

void runBeside(unsigned count, llvm::function_ref<void(unsigned)> work) {
  std::vector<Part> parts;
  for (unsigned number = 0; number < count; ++number)
    parts.push_back({work, number});
  std::vector<pthread_t> threads;
  unsigned started = 1; // the first is for this thread
  for (pthread_t thread; started < count; ++started) {
    if (pthread_create(&thread, nullptr, callPart, &parts[started]) != 0)
      break;
    threads.push_back(thread);
  }
  if (count > 0)
    work(0);
  for (unsigned number = started; number < count; ++number)
    work(number);
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

} // namespace perpend::support
