// A queue of jobs, each on its caller's stack, under one mutex. Workers take seats in a job and claim parts of it.
// After work a worker polls for some microseconds, then sleeps on a condition variable.
//
// A grain is the compiler's estimate, accurate to a small factor. If units take the same time in every run, the
// measured time decides from the second run on. A negative grain was estimated for unknown extents: a unit may take a
// hundredth of it or a hundred times as much. Then the caller runs the first grain and measures it before sharing the
// rest; likewise before it wakes a worker for few units.
//
// One pool per process: PERPEND_POOL_SYMBOL has binding STB_GNU_UNIQUE, so that the dynamic linker resolves it to one
// address even for objects loaded with RTLD_LOCAL. The object whose code the workers run pins itself in memory. After
// fork() the pool's page reads as zero in the child (MADV_WIPEONFORK; otherwise the process id is compared), and the
// child creates a new pool.
#include "Pool.h"
#include "Clock.h"
#include "Cores.h"
#include "Pin.h"
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

constexpr int64_t partsPerThread = 4;    //  balances cores of different speed and load
constexpr int64_t grainNs = 4000;        //  estimated duration of a grain
constexpr int64_t grainsWorthWaking = 8; // waking a worker takes as long as several grains
constexpr int64_t grainsWorthSharing = 2;
constexpr int64_t leastShareNs = 1000; // by measurement; handing over takes about as long
constexpr int64_t wakingNs = grainNs * grainsWorthWaking;
constexpr int64_t pollNs = 50000;    //  how long workers poll after work
constexpr int64_t leaveNs = 1000000; // least time between two moves of a worker, as callers may outnumber cores

struct Job {
  const ParallelTask *task;
  int64_t first, shares, parts, partUnits, longerParts; // units start at `first`; longerParts parts have one more
  std::atomic<int64_t> unclaimed;
  std::atomic<bool> isClaimed[maxThreads * partsPerThread]; // the first `parts` entries are used
  std::atomic<int32_t> activeHelpers{0};                    // written under the mutex
  int32_t seats;                                            //  number of helpers that may still join
  bool callerSleeps = false;
  Job *next = nullptr;
};

// Time that callers spent alone, because no worker was awake, on tasks for which a worker would have helped. It grows
// by the time of such tasks, and shrinks by half of all time. Any caller may write at any time; a lost update does no
// harm.
struct Unshared {
  std::atomic<pthread_t> caller;
  std::atomic<int64_t> ns, lastNs; // the sum, and when it was updated

  bool isOfThisThread() const { return caller.load(std::memory_order_relaxed) == pthread_self(); }
  int64_t nsAt(int64_t now) const {
    int64_t passed = now - lastNs.load(std::memory_order_relaxed);
    return std::max<int64_t>(0, ns.load(std::memory_order_relaxed) - passed / 2);
  }
};

struct Pool {
  std::atomic<uint32_t> isAlive; // 0 in a forked child
  bool isWipedOnFork;
  pid_t owner;
  void (*run)(Pool &pool, const ParallelTask &task);
  pthread_mutex_t mutex;
  pthread_cond_t workArrived, helpersLeft;
  Job *jobs;                      // first in, first served
  std::atomic<int32_t> openSeats; // over all jobs; polled without the mutex
  std::atomic<int32_t> openJobs;  //  number of jobs with unclaimed parts; polled, too
  std::atomic<int32_t> awake;     //  number of workers that work or poll; read without the mutex
  int32_t workers, started, sleepers;
  int64_t spinNs;                   //  0 with a single core
  std::atomic<int32_t> callersCore; // core of the last job's caller; negative: unknown
  Unshared unshared;
};

void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#elif defined(__riscv)
  asm volatile(".insn i 0x0f, 0, x0, x0, 0x010"); // pause, a hint that older processors pass over
#endif
}

// Polls until ready() or until time is up.
template <typename Ready> bool spin(int64_t spinNs, Ready ready) {
  int64_t limit = 0;
  for (int turn = 0; spinNs > 0; ++turn) {
    if (ready())
      return true;
    pauseCore();
    if (turn % 16)
      continue;
    int64_t now = nowNs();
    limit = limit ? limit : now + spinNs;
    if (now > limit)
      break;
  }
  return ready();
}

// A thread inherits its creator's floating-point modes; kernels expect the defaults.
void resetFloatingPoint() {
#if defined(__x86_64__)
  uint32_t defaults = 0x1f80;
  asm volatile("fninit\n\tldmxcsr %0" : : "m"(defaults));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
#elif defined(__riscv)
  asm volatile("fsrm zero");
#endif
}

// Shares have equally many parts, and longer parts are spread over all shares, which differ by at most one unit.
int64_t beginOf(const Job &job, int64_t part) {
  return job.first + part * job.partUnits + (part * job.longerParts + job.parts - 1) / job.parts;
}

bool claim(Pool &pool, Job &job, int64_t part) {
  if (job.isClaimed[part].exchange(true, std::memory_order_relaxed))
    return false;
  if (job.unclaimed.fetch_sub(1, std::memory_order_relaxed) == 1)
    pool.openJobs.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

// The caller (share 0) and every helper start with their own share, then take parts that others have not begun. So a
// thread finds in its cache what it wrote in the previous kernel: reading from another core's cache costs more than
// most kernels compute.
int64_t runParts(Pool &pool, Job &job, int64_t share) {
  int64_t first = share * job.parts / job.shares, units = 0;
  for (int64_t i = 0; i < job.parts && job.unclaimed.load(std::memory_order_relaxed) > 0; ++i) {
    int64_t part = first + i < job.parts ? first + i : first + i - job.parts;
    if (!claim(pool, job, part))
      continue;
    int64_t begin = beginOf(job, part), end = beginOf(job, part + 1);
    job.task->body(job.task->context, begin, end);
    units += end - begin;
  }
  return units;
}

Job *findOpenJob(Pool &pool) {
  for (Job *job = pool.jobs; job; job = job->next)
    if (job->seats > 0 && job->unclaimed.load(std::memory_order_relaxed) > 0)
      return job;
  return nullptr;
}

// The mutex is held before and after; the job may end as soon as activeHelpers drops.
void helpWith(Pool &pool, Job &job, int64_t worker) {
  --job.seats;
  pool.openSeats.fetch_sub(1, std::memory_order_relaxed);
  job.activeHelpers.fetch_add(1, std::memory_order_relaxed);
  pthread_mutex_unlock(&pool.mutex);
  runParts(pool, job, 1 + worker % (job.shares - 1));
  pthread_mutex_lock(&pool.mutex);
  bool wakesCaller = job.callerSleeps && job.activeHelpers.load(std::memory_order_relaxed) == 1;
  job.activeHelpers.fetch_sub(1, std::memory_order_release);
  if (wakesCaller)
    pthread_cond_broadcast(&pool.helpersLeft);
}

// Linux may wake a thread on the core of the thread that wakes it, although another core is idle. Then each runs only
// while the other sleeps or after its time slice, and they may share the core for seconds.
bool isOnCallersCore(const Pool &pool) { return sched_getcpu() == pool.callersCore.load(std::memory_order_relaxed); }

void *workerMain(void *argument) {
  Pool &pool = *static_cast<Pool *>(argument);
  resetFloatingPoint();
  pthread_setname_np(pthread_self(), "perpend");
  pthread_mutex_lock(&pool.mutex);
  int64_t worker = pool.started++, leaveAgainNs = 0;
  pool.awake.fetch_add(1, std::memory_order_relaxed);
  while (true) {
    if (int64_t now = 0; isOnCallersCore(pool) && (now = nowNs()) > leaveAgainNs) {
      leaveAgainNs = now + leaveNs;
      pthread_mutex_unlock(&pool.mutex);
      leaveCore();
      pthread_mutex_lock(&pool.mutex);
    }
    if (Job *job = findOpenJob(pool)) {
      helpWith(pool, *job, worker);
      continue;
    }
    pthread_mutex_unlock(&pool.mutex);
    spin(pool.spinNs, [&pool] {
      return isOnCallersCore(pool) ||
             (pool.openJobs.load(std::memory_order_relaxed) > 0 && pool.openSeats.load(std::memory_order_relaxed) > 0);
    });
    pthread_mutex_lock(&pool.mutex);
    if (findOpenJob(pool))
      continue;
    ++pool.sleepers;
    pool.awake.fetch_sub(1, std::memory_order_relaxed);
    pthread_cond_wait(&pool.workArrived, &pool.mutex);
    pool.awake.fetch_add(1, std::memory_order_relaxed);
    --pool.sleepers;
  }
}

// Threads are detached, with all signals blocked but SIGBUS, which a thread gets that reads what a mapped file has
// lost: there may be a handler for it (segments/BusGuard.h), and the system ends a process that blocks it. If the
// system provides no more, the caller does the work.
void startWorkers(Pool &pool, int32_t wanted) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  while (pool.workers < wanted && pthread_create(&thread, &attributes, workerMain, &pool) == 0)
    ++pool.workers;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void offer(Pool &pool, Job &job, int64_t mostWoken) {
  pool.callersCore.store(sched_getcpu(), std::memory_order_relaxed);
  pthread_mutex_lock(&pool.mutex);
  if (pool.workers < job.seats)
    startWorkers(pool, job.seats);
  Job **tail = &pool.jobs;
  while (*tail)
    tail = &(*tail)->next;
  *tail = &job;
  pool.openSeats.fetch_add(job.seats, std::memory_order_relaxed);
  pool.openJobs.fetch_add(1, std::memory_order_relaxed);
  int64_t wakeups = std::min<int64_t>(std::min(pool.sleepers, job.seats), mostWoken);
  pthread_mutex_unlock(&pool.mutex);
  for (; wakeups > 0; --wakeups)
    pthread_cond_signal(&pool.workArrived);
}

void withdraw(Pool &pool, Job &job) {
  pthread_mutex_lock(&pool.mutex);
  pool.openSeats.fetch_sub(job.seats, std::memory_order_relaxed);
  Job **link = &pool.jobs;
  while (*link != &job)
    link = &(*link)->next;
  *link = job.next;
  pthread_mutex_unlock(&pool.mutex);
  auto isDone = [&job] { return job.activeHelpers.load(std::memory_order_acquire) == 0; };
  if (isDone() || spin(pool.spinNs, isDone))
    return;
  pthread_mutex_lock(&pool.mutex);
  job.callerSleeps = true;
  while (!isDone())
    pthread_cond_wait(&pool.helpersLeft, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}

int64_t grainOf(const ParallelTask &task) { return std::max<int64_t>(std::abs(task.grain), 1); }

// A first run touches new memory, and any run may be interrupted, so the shorter time counts.
void learn(const ParallelTask &task, int64_t units, int64_t ns) {
  if (!task.pace || units == 0)
    return;
  double unitNs = static_cast<double>(ns) / static_cast<double>(units), &known = task.pace->unitNs;
  known = known == 0 || unitNs < known ? unitNs : known + (unitNs - known) / 8;
}

// Shares the units from `first` on.
void share(Pool &pool, const ParallelTask &task, int64_t first, int64_t shares, int64_t parts, int64_t mostWoken) {
  int64_t extent = task.extent - first;
  parts -= parts % shares;
  Job job;
  job.task = &task;
  job.first = first;
  job.shares = shares;
  job.parts = parts;
  job.partUnits = extent / parts;
  job.longerParts = extent % parts;
  job.unclaimed.store(parts, std::memory_order_relaxed);
  for (int64_t part = 0; part < parts; ++part)
    job.isClaimed[part].store(false, std::memory_order_relaxed);
  job.seats = static_cast<int32_t>(shares) - 1;
  pool.unshared.ns.store(0, std::memory_order_relaxed);
  offer(pool, job, mostWoken);
  int64_t start = nowNs(), units = runParts(pool, job, 0);
  learn(task, units, nowNs() - start);
  withdraw(pool, job);
}

void shareGrains(Pool &pool, const ParallelTask &task, int64_t first) {
  int64_t threads = std::min(task.threads, maxThreads), wholeGrains = (task.extent - first) / grainOf(task);
  int64_t parts = std::min<int64_t>(threads * partsPerThread, wholeGrains);
  share(pool, task, first, std::min<int64_t>(threads, parts), parts, parts);
}

// Runs the units from `first` on; those before have been running since startNs.
void runAlone(Pool &pool, const ParallelTask &task, int64_t first, int64_t startNs) {
  task.body(task.context, first, task.extent);
  int64_t now = nowNs(), ns = now - startNs;
  learn(task, task.extent, ns);
  if (ns < leastShareNs * 2)
    return;
  Unshared &unshared = pool.unshared;
  int64_t before = unshared.isOfThisThread() ? unshared.nsAt(now) : 0;
  unshared.caller.store(pthread_self(), std::memory_order_relaxed);
  unshared.ns.store(before + std::min(ns, wakingNs), std::memory_order_relaxed); // longer tasks were interrupted
  unshared.lastNs.store(now, std::memory_order_relaxed);
}

// Keeping a worker awake pays for short tasks that one caller runs in succession, once they have taken as long as the
// worker polls. Tasks of several callers keep the cores busy already.
bool isWorthWaking(const Pool &pool) {
  const Unshared &unshared = pool.unshared;
  return pool.spinNs > 0 && unshared.ns.load(std::memory_order_relaxed) >= pollNs && unshared.isOfThisThread() &&
         unshared.nsAt(nowNs()) >= pollNs;
}

// A short task uses the helpers that are polling, unless another caller's task waits for them.
void runAtPace(Pool &pool, const ParallelTask &task, int64_t awake, bool isWorthWaking) {
  auto ns = static_cast<int64_t>(task.pace->unitNs * static_cast<double>(task.extent));
  int64_t mostWoken = ns >= wakingNs ? ns / grainNs : isWorthWaking;
  int64_t helped = std::min(ns / leastShareNs, 1 + awake + mostWoken);
  int64_t shares = std::min(std::min<int64_t>(std::min(task.threads, maxThreads), task.extent), helped);
  if (shares < 2 || (ns < wakingNs && pool.openJobs.load(std::memory_order_relaxed) > 0))
    return runAlone(pool, task, 0, nowNs());
  share(pool, task, 0, shares, std::min(shares * partsPerThread, task.extent), mostWoken);
}

void runByEstimate(Pool &pool, const ParallelTask &task, bool isAwake) {
  int64_t grain = grainOf(task), wholeGrains = task.extent / grain;
  bool isLittle = wholeGrains < grainsWorthWaking;
  bool isForEach = wholeGrains <= std::min(task.threads, maxThreads); // a first grain alone would be all the work
  bool isKnown = task.grain > 0;
  if (isAwake ? isKnown || isLittle || isForEach : isKnown && !isLittle)
    return shareGrains(pool, task, 0);
  int64_t start = nowNs();
  if (isLittle && grain > 1) // a unit is short
    return runAlone(pool, task, 0, start);
  task.body(task.context, 0, grain);
  int64_t restNs = (nowNs() - start) * (wholeGrains - 1);
  if (wholeGrains == 2 || restNs < grainNs * (isAwake ? grainsWorthSharing : grainsWorthWaking))
    return runAlone(pool, task, grain, start);
  shareGrains(pool, task, grain);
}

void runInPool(Pool &pool, const ParallelTask &task) {
  int64_t awake = pool.awake.load(std::memory_order_relaxed);
  bool wakes = isWorthWaking(pool);
  if (task.pace && task.pace->unitNs > 0)
    runAtPace(pool, task, awake, wakes);
  else
    runByEstimate(pool, task, awake > 0 || wakes);
}

Pool *createPool() {
  void *page = mmap(nullptr, sizeof(Pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return nullptr;
  auto *pool = new (page) Pool();
  pool->isWipedOnFork = madvise(page, sizeof(Pool), MADV_WIPEONFORK) == 0;
  pool->owner = getpid();
  pool->run = runInPool;
  pool->mutex = PTHREAD_MUTEX_INITIALIZER;
  pool->workArrived = PTHREAD_COND_INITIALIZER;
  pool->helpersLeft = PTHREAD_COND_INITIALIZER;
  pool->spinNs = usableCores() > 1 ? pollNs : 0;
  pool->callersCore.store(-1, std::memory_order_relaxed);
  pool->isAlive.store(1, std::memory_order_relaxed);
  return pool;
}

bool belongsToProcess(const Pool &pool) {
  return pool.isAlive.load(std::memory_order_relaxed) && (pool.isWipedOnFork || pool.owner == getpid());
}

} // namespace

// Points to the Pool. In assembly, because C++ cannot declare a unique symbol.
extern "C" __attribute__((visibility("default"))) std::atomic<void *> PERPEND_POOL_SYMBOL;
#define POOL PERPEND_NAME_OF(PERPEND_POOL_SYMBOL)
asm(".pushsection .bss." POOL ",\"aw\",@nobits\n"
    ".p2align 3\n"
    ".type " POOL ", @gnu_unique_object\n"
    ".size " POOL ", 8\n" POOL ":\n"
    ".zero 8\n"
    ".popsection\n");
#undef POOL

static Pool *acquirePool() {
  void *pool = PERPEND_POOL_SYMBOL.load(std::memory_order_acquire);
  while (!pool || !belongsToProcess(*static_cast<Pool *>(pool))) {
    Pool *created = createPool();
    if (!created)
      return nullptr;
    pinObjectOf(reinterpret_cast<void *>(&workerMain)); // which goes on when the model that started it is unloaded
    if (PERPEND_POOL_SYMBOL.compare_exchange_strong(pool, created, std::memory_order_acq_rel,
                                                    std::memory_order_acquire))
      return created;
    munmap(created, sizeof(Pool));
  }
  return static_cast<Pool *>(pool);
}

void parallelFor(const ParallelTask &task) {
  if (task.extent <= 0)
    return;
  bool isSerial = task.threads <= 1 || task.extent / 2 < grainOf(task);
  Pool *pool = isSerial ? nullptr : acquirePool();
  if (pool)
    pool->run(*pool, task);
  else
    task.body(task.context, 0, task.extent);
}

} // namespace perpend::runtime
