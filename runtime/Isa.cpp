// CPUID and XGETBV on x86-64 (a set counts only if the operating system saves its registers), hwcaps on AArch64. One
<<<<<<< HEAD
// table per architecture (IsaX86.def for x86-64); a new instruction set is one row.
=======
// table per architecture; a new instruction set is one row.
>>>>>>> runtime
#include "Isa.h"
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

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
<<<<<<< HEAD
#define PERPEND_ISA(...) {__VA_ARGS__},
#define PERPEND_ISA_UNUSED(...) {__VA_ARGS__},
#include "IsaX86.def"
=======
    {"sse3", 1, 0, Ecx, 0, None},
    {"pclmul", 1, 0, Ecx, 1, None},
    {"ssse3", 1, 0, Ecx, 9, None},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"cx16", 1, 0, Ecx, 13, None},
    {"sse4.1", 1, 0, Ecx, 19, None},
    {"sse4.2", 1, 0, Ecx, 20, None},
    {"crc32", 1, 0, Ecx, 20, None},
    {"movbe", 1, 0, Ecx, 22, None},
    {"popcnt", 1, 0, Ecx, 23, None},
    {"aes", 1, 0, Ecx, 25, None},
    {"xsave", 1, 0, Ecx, 26, None},
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"sahf", 0x80000001, 0, Ecx, 0, None},
    {"lzcnt", 0x80000001, 0, Ecx, 5, None},
    {"bmi", 7, 0, Ebx, 3, None},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8, None},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"adx", 7, 0, Ebx, 19, None},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"gfni", 7, 0, Ecx, 8, None},
    {"vaes", 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"avx512vp2intersect", 7, 0, Edx, 8, Avx512},
    {"amx-bf16", 7, 0, Edx, 22, Amx},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Amx},
    {"amx-int8", 7, 0, Edx, 25, Amx},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"amx-fp16", 7, 1, Eax, 21, Amx},
    {"avxifma", 7, 1, Eax, 23, Avx},
    {"avxvnniint8", 7, 1, Edx, 4, Avx},
    {"avxneconvert", 7, 1, Edx, 5, Avx},
    {"avxvnniint16", 7, 1, Edx, 10, Avx},
>>>>>>> runtime
};

static void readCpuid(uint32_t leaf, uint32_t subleaf, uint32_t (&registers)[4]) {
  asm volatile("cpuid"
               : "=a"(registers[0]), "=b"(registers[1]), "=c"(registers[2]), "=d"(registers[3])
               : "a"(leaf), "c"(subleaf));
}

static bool hasState(State state) {
  if (state == None)
    return true;
  uint32_t registers[4], low, high;
  readCpuid(1, 0, registers);
  if (!(registers[Ecx] & (1u << 27))) // OSXSAVE
    return false;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  uint32_t needed = state == Amx ? uint32_t{Amx} << 12 : uint32_t{state};
  return (low & needed) == needed;
}

static bool isPresent(const FeatureRow &row) {
  uint32_t registers[4];
  readCpuid(row.leaf & 0x80000000u, 0, registers);
  if (registers[Eax] < row.leaf)
    return false;
  if (row.subleaf) {
    readCpuid(row.leaf, 0, registers);
    if (registers[Eax] < row.subleaf)
      return false;
  }
  readCpuid(row.leaf, row.subleaf, registers);
  return (registers[row.reg] & (1u << row.bit)) && hasState(row.state);
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
};

static const FeatureRow featureTable[] = {
<<<<<<< HEAD
    {"fp-armv8", AT_HWCAP, 0}, {"neon", AT_HWCAP, 1},  {"crc", AT_HWCAP, 7},   {"lse", AT_HWCAP, 8},
=======
    {"fp-armv8", AT_HWCAP, 0}, {"neon", AT_HWCAP, 1},  {"crc", AT_HWCAP, 7},      {"lse", AT_HWCAP, 8},
>>>>>>> runtime
    {"fullfp16", AT_HWCAP, 9}, {"rdm", AT_HWCAP, 12},  {"dotprod", AT_HWCAP, 20}, {"fp16fml", AT_HWCAP, 23},
    {"sve", AT_HWCAP, 22},     {"sve2", AT_HWCAP2, 1}, {"i8mm", AT_HWCAP2, 13},   {"bf16", AT_HWCAP2, 14},
};

static bool isPresent(const FeatureRow &row) { return (getauxval(row.word) >> row.bit) & 1; }

bool requestInstructionSet(const char *) { return true; }
#else
#error "no table of instruction sets for this architecture: add one"
#endif

<<<<<<< HEAD
bool hasInstructionSet(const char *name) {
  for (const FeatureRow &row : featureTable)
    if (!strcmp(row.name, name))
      return isPresent(row);
  return false;
=======
static const FeatureRow *findRow(const char *name) {
  for (const FeatureRow &row : featureTable)
    if (!strcmp(row.name, name))
      return &row;
  return nullptr;
}

bool isKnownInstructionSet(const char *name) { return findRow(name); }

bool hasInstructionSet(const char *name) {
  const FeatureRow *row = findRow(name);
  return row && isPresent(*row);
>>>>>>> runtime
}

void describeInstructionSets(char *text, size_t capacity) {
  size_t used = 0;
  text[0] = '\0';
  for (const FeatureRow &row : featureTable)
    if (isPresent(row) && used + strlen(row.name) + 2 < capacity)
      used += static_cast<size_t>(snprintf(text + used, capacity - used, "%s%s", used ? "," : "", row.name));
}

} // namespace perpend::runtime
