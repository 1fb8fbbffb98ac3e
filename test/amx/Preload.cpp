//===- Preload.cpp - a process with tiles ---------------------------------===//
//
// Handles illegal instructions, and answers what a process asks of the system and of the processor (TileMachine.h).
//
//===----------------------------------------------------------------------===//

#include "TileMachine.h"

#include <atomic>
#include <cerrno>
#include <cpuid.h>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

using namespace perpend::amx;

// Where a signal handler can have it without allocation.
static __thread TileMachine machine __attribute__((tls_model("initial-exec")));
static std::atomic<uint64_t> counts[kindCount];
static std::atomic<int64_t> configuredThreads;
/// Who wanted to handle other illegal instructions.
static struct sigaction others;

extern "C" bool perpend_amx_isUsed() {
  unsigned eax, ebx, ecx, edx;
  return !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(edx & 1u << 24); // AMX-TILE
}
extern "C" uint64_t perpend_amx_count(Kind kind) { return counts[static_cast<int>(kind)]; }
extern "C" int64_t perpend_amx_configured() { return configuredThreads; }

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

[[noreturn]] static void die(const Instruction &instruction, const char *why) {
  dprintf(STDERR_FILENO, "perpend_amx: %s: %s\n", kindNames[static_cast<int>(instruction.kind)], why);
  abort();
}

using SetAction = int(int, const struct sigaction *, struct sigaction *);
static SetAction *systemAction() { return reinterpret_cast<SetAction *>(dlsym(RTLD_NEXT, "sigaction")); }

/// To whom the signal would have gone; without one it ends the process when the instruction is tried again.
static void passOn(int signal, siginfo_t *information, void *context) {
  if (others.sa_flags & SA_SIGINFO)
    return others.sa_sigaction(signal, information, context);
  if (others.sa_handler != SIG_DFL && others.sa_handler != SIG_IGN)
    return others.sa_handler(signal);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  systemAction()(signal, &standard, nullptr);
}

static void handle(int signal, siginfo_t *information, void *context) {
  constexpr int inOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  greg_t *saved = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  int64_t registers[16];
  for (int i = 0; i < 16; ++i)
    registers[i] = saved[inOrder[i]];
  Instruction instruction;
  if (!decode(reinterpret_cast<const uint8_t *>(saved[REG_RIP]), registers, instruction))
    return passOn(signal, information, context);
  const bool wasConfigured = machine.isConfigured();
  if (const char *why = machine.execute(instruction))
    die(instruction, why);
  configuredThreads += machine.isConfigured() - wasConfigured;
  ++counts[static_cast<int>(instruction.kind)];
  saved[REG_RIP] += instruction.lengthBytes;
}

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) // they have their own of these

extern "C" int sigaction(int signal, const struct sigaction *action, struct sigaction *previous) {
  if (signal != SIGILL || !perpend_amx_isUsed())
    return systemAction()(signal, action, previous);
  const struct sigaction known = others;
  if (action)
    others = *action;
  if (previous)
    *previous = known;
  return 0;
}

extern "C" sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction action = {}, previous = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return sigaction(number, &action, &previous) == 0 ? previous.sa_handler : SIG_ERR;
}

/// Threads that block every signal (those of models) do not block this one, which would end the process.
extern "C" int pthread_sigmask(int how, const sigset_t *signals, sigset_t *previous) {
  using SetMask = int(int, const sigset_t *, sigset_t *);
  static auto *system = reinterpret_cast<SetMask *>(dlsym(RTLD_NEXT, "pthread_sigmask"));
  if (!signals || how == SIG_UNBLOCK)
    return system(how, signals, previous);
  sigset_t others = *signals;
  sigdelset(&others, SIGILL);
  return system(how, &others, previous);
}

#endif

static long systemCall(long number, const long (&arguments)[6]) {
  register long fourth asm("r10") = arguments[3], fifth asm("r8") = arguments[4], sixth asm("r9") = arguments[5];
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA

/// Grants or refuses the permission to use tiles; all else is the system's.
extern "C" long syscall(long number, ...) {
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long &argument : arguments)
    argument = va_arg(list, long);
  va_end(list);
  const bool isAsked = number == SYS_arch_prctl && arguments[0] == requestPermission && arguments[1] == tileData;
  const bool isRefused = isAsked && getenv("PERPEND_AMX_REFUSED");
  const long result = isRefused ? -EPERM : isAsked && perpend_amx_isUsed() ? 0 : systemCall(number, arguments);
  if (result >= 0 || result < -4095)
    return result;
  errno = static_cast<int>(-result);
  return -1;
}

/// Whether the process has an instruction set beside the processor's (runtime/Isa.cpp).
extern "C" bool perpend_executes(const char *instructionSet) {
  for (const char *known : {"amx-tile", "amx-bf16", "amx-int8"})
    if (!strcmp(known, instructionSet))
      return perpend_amx_isUsed();
  return false;
}

__attribute__((constructor)) static void start() {
  if (!perpend_amx_isUsed()) {
    systemCall(SYS_arch_prctl, {requestPermission, tileData, 0, 0, 0, 0});
    return;
  }
  struct sigaction ours = {};
  ours.sa_sigaction = handle;
  ours.sa_flags = SA_SIGINFO;
  systemAction()(SIGILL, &ours, &others);
}

__attribute__((destructor)) static void finish() {
  const char *path = getenv("PERPEND_AMX_COUNTS");
  FILE *file = path ? fopen(path, "a") : nullptr;
  if (!file)
    return;
  for (int i = 0; i < kindCount; ++i)
    fprintf(file, "%s %llu\n", kindNames[i], static_cast<unsigned long long>(counts[i]));
  fprintf(file, "configured %lld\n", static_cast<long long>(configuredThreads));
  fclose(file);
}
