// CPUID and XGETBV on x86-64 (a set counts only if the operating system saves its registers), hwcaps on AArch64,
// riscv_hwprobe or the system's text on RISC-V. One table per architecture (IsaX86.def, IsaAArch64.def, IsaRiscV.def);
// a new instruction set is one row.
#include "Isa.h"
#include <atomic>
#include <cstdint>
#include <cstring>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) || defined(__riscv)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif
#if defined(__riscv)
#include <fcntl.h>
#endif

/// Defined by processes that emulate instructions which the processor lacks, so that tests run on every machine
/// (test/amx).
extern "C" __attribute__((weak, visibility("default"))) bool perpend_executes(const char *instructionSet);

namespace perpend::runtime {

#if defined(__x86_64__)
enum Register : uint8_t { Eax, Ebx, Ecx, Edx };
enum State : uint8_t { None = 0, Avx = 0x06, Avx512 = 0xE6, Amx = 0x60 }; // bits of XCR0; Amx is shifted by 12

struct FeatureRow {
  const char *name;
  uint32_t leaf;
  uint8_t subleaf;
  Register reg;
  uint8_t bit;
  State state;
};

static const FeatureRow featureTable[] = {
#define PERPEND_ISA(...) {__VA_ARGS__},
#define PERPEND_ISA_UNUSED(...) {__VA_ARGS__},
#include "IsaX86.def"
};

struct Leaf {
  uint32_t leaf, subleaf, registers[4];
};

static Leaf askProcessor(uint32_t leaf, uint32_t subleaf) {
  Leaf answer{leaf, subleaf, {}};
  asm volatile("cpuid"
               : "=a"(answer.registers[Eax]), "=b"(answer.registers[Ebx]), "=c"(answer.registers[Ecx]),
                 "=d"(answer.registers[Edx])
               : "a"(leaf), "c"(subleaf));
  return answer;
}

// Asks the processor once for each leaf, since in a virtual machine an answer takes some microseconds.
static Leaf readCpuid(uint32_t leaf, uint32_t subleaf) {
  enum : uint8_t { Empty, Writing, Written };
  static struct {
    std::atomic<uint8_t> state;
    Leaf answer;
  } known[8]; // more than the table has; the rest is asked again
  for (auto &[state, answer] : known) {
    uint8_t found = state.load(std::memory_order_acquire);
    if (found == Written && answer.leaf == leaf && answer.subleaf == subleaf)
      return answer;
    if (found == Written)
      continue;
    Leaf asked = askProcessor(leaf, subleaf);
    if (found == Empty && state.compare_exchange_strong(found, Writing, std::memory_order_relaxed)) {
      answer = asked;
      state.store(Written, std::memory_order_release);
    }
    return asked;
  }
  return askProcessor(leaf, subleaf);
}

static bool hasState(State state) {
  if (state == None)
    return true;
  uint32_t low, high;
  if (!(readCpuid(1, 0).registers[Ecx] & (1u << 27))) // OSXSAVE
    return false;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  uint32_t needed = state == Amx ? uint32_t{Amx} << 12 : uint32_t{state};
  return (low & needed) == needed;
}

static bool isPresent(const FeatureRow &row) {
  if (readCpuid(row.leaf & 0x80000000u, 0).registers[Eax] < row.leaf)
    return false;
  if (row.subleaf && readCpuid(row.leaf, 0).registers[Eax] < row.subleaf)
    return false;
  return (readCpuid(row.leaf, row.subleaf).registers[row.reg] & (1u << row.bit)) && hasState(row.state);
}

bool requestInstructionSet(const char *name) {
  if (strncmp(name, "amx-", 4))
    return true;
  const long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

#elif defined(__aarch64__)
struct FeatureRow {
  const char *name;
  uint64_t word; // AT_HWCAP or AT_HWCAP2
  uint8_t bit;
  uint8_t vectorBytes; // that a vector of SVE has, neither more nor less; 0: any
};

static const FeatureRow featureTable[] = {
#define PERPEND_ISA(...) {__VA_ARGS__},
#define PERPEND_ISA_UNUSED(...) {__VA_ARGS__},
#include "IsaAArch64.def"
};

// Of this thread, from which others inherit it: a system or a program may choose fewer than the processor has.
static uint64_t askVectorBytes() {
  const int getLength = 51, mask = 0xffff; // PR_SVE_GET_VL
  const int answer = prctl(getLength, 0ul, 0ul, 0ul, 0ul);
  return answer < 0 ? 0 : uint64_t(answer & mask);
}

static bool isPresent(const FeatureRow &row) {
  return ((getauxval(row.word) >> row.bit) & 1) && (!row.vectorBytes || askVectorBytes() == row.vectorBytes);
}

bool requestInstructionSet(const char *) { return true; }

#elif defined(__riscv)
struct FeatureRow {
  const char *name;
  uint8_t bit;         // of the answer to riscv_hwprobe
  uint8_t vectorBytes; // that a vector has at least; 0: none is needed
};

static const FeatureRow featureTable[] = {
#define PERPEND_ISA(...) {__VA_ARGS__},
#define PERPEND_ISA_UNUSED(...) {__VA_ARGS__},
#include "IsaRiscV.def"
};

static bool hasLetter(char letter) { return (getauxval(AT_HWCAP) >> (letter - 'a')) & 1; }

// Whether the system lets this process use vectors. Systems before Linux 6.5 cannot be asked.
static bool mayUseVectors() {
  const int getControl = 70, mask = 3, off = 1; // PR_RISCV_V_GET_CONTROL
  const int control = prctl(getControl, 0ul, 0ul, 0ul, 0ul);
  return control < 0 || (control & mask) != off;
}

// Bytes of a vector; 0: there are none, or those of a draft of the extension, which knows no agnostic elements.
static uint64_t askVectorBytes() {
  uint64_t bytes = 0;
  if (hasLetter('v') && mayUseVectors())
    asm volatile(".option push\n\t.option arch, +v\n\tvsetvli %0, zero, e8, m1, ta, ma\n\t.option pop"
                 : "=r"(bytes)
                 :
                 : "vl", "vtype");
  return bytes;
}

// False: the system does not know the call, which came with Linux 6.4.
static bool askSystem(uint64_t &answer) {
  struct {
    int64_t key;
    uint64_t value;
  } pair = {4, 0};               // RISCV_HWPROBE_KEY_IMA_EXT_0
  const long riscvHwprobe = 258; // of all processors
  if (syscall(riscvHwprobe, &pair, 1ul, 0ul, nullptr, 0u) != 0 || pair.key < 0)
    return false;
  answer = pair.value;
  return true;
}

// Whether a line such as "isa : rv64imafdcv_zba_zbb_zvfh" has the name between its underscores.
static bool isInLine(const char *line, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = strchr(line, '_'); at; at = strchr(at, '_'))
    if (!strncmp(++at, name, length) && strchr("_ \t\n", at[length]))
      return true;
  return false;
}

static bool isInText(const char *name) {
  char text[4096];
  const int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0)
    close(file);
  if (bytes < 0)
    return false;
  text[bytes] = '\0';
  char *line = strstr(text, "\nisa");
  if (!line)
    return false;
  if (char *end = strchr(line + 1, '\n'))
    *end = '\0';
  return isInLine(line, name);
}

static bool isPresent(const FeatureRow &row) {
  if (row.vectorBytes && askVectorBytes() < row.vectorBytes)
    return false;
  uint64_t answer = 0;
  if (askSystem(answer))
    return (answer >> row.bit) & 1;
  constexpr uint8_t vectors = 2; // which the system has a letter for, and the length of which has been asked
  return !row.name[1] ? hasLetter(row.name[0]) : row.bit == vectors || isInText(row.name);
}

bool requestInstructionSet(const char *) { return true; }

#elif defined(__wasm__)
struct FeatureRow {
  const char *name;
};

static const FeatureRow featureTable[] = {{"relaxed-simd"}};

// An engine refuses a module with instructions that it lacks.
static bool isPresent(const FeatureRow &) { return true; }
bool requestInstructionSet(const char *) { return true; }
#else
#error "no table of instruction sets for this architecture: add one"
#endif

static const FeatureRow *findRow(const char *name) {
  for (const FeatureRow &row : featureTable)
    if (!strcmp(row.name, name))
      return &row;
  return nullptr;
}

bool hasInstructionSet(const char *name) {
  const FeatureRow *row = findRow(name);
  return row && (isPresent(*row) || (perpend_executes && perpend_executes(name)));
}

} // namespace perpend::runtime
