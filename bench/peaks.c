// What one thread of this processor reaches at most: prints JSON of multiply-adds per second (as 2 operations each) of
// f32, bf16 pairs and bytes, in vectors or, where it has them and the system lets it, in tiles (AMX), and bytes per
// second of reading memory. For the roofs in bench/kernels.py.
#include <cpuid.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { accumulators = 12, steps = 1 << 20, attempts = 20 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// The fastest of several attempts.
static double fastest(void (*run)(void)) {
  double best = 1e9;
  for (int i = 0; i < attempts; ++i) {
    double start = now();
    run();
    double seconds = now() - start;
    best = seconds < best ? seconds : best;
  }
  return best;
}

/// `accumulators` independent chains of one instruction, kept in registers.
#define CHAINS(NAME, FEATURES, TYPE, INSTRUCTION)                                                                      \
  __attribute__((target(FEATURES))) static void NAME(void) {                                                           \
    TYPE sums[accumulators], x, y;                                                                                     \
    memset(sums, 0, sizeof sums);                                                                                      \
    memset(&x, 0, sizeof x);                                                                                           \
    memset(&y, 0, sizeof y);                                                                                           \
    __asm__ volatile("" : "+v"(x), "+v"(y));                                                                           \
    for (int i = 0; i < steps; ++i) {                                                                                  \
      _Pragma("GCC unroll 12") for (int j = 0; j < accumulators;                                                       \
                                    ++j) __asm__ volatile(INSTRUCTION : "+v"(sums[j]) : "v"(x), "v"(y));               \
    }                                                                                                                  \
  }

CHAINS(f32Of512, "avx512f", __m512, "vfmadd231ps %2, %1, %0")
CHAINS(f32Of256, "avx2,fma", __m256, "vfmadd231ps %2, %1, %0")
CHAINS(bf16Of512, "avx512f", __m512, "vdpbf16ps %2, %1, %0")
CHAINS(bytesOf512, "avx512f", __m512i, "vpdpbusd %2, %1, %0")

/// Four tiles of sums, as many products as `steps` of `CHAINS` have.
#define TILES(NAME, FEATURES, INSTRUCTION)                                                                             \
  __attribute__((target("amx-tile," FEATURES))) static void NAME(void) {                                               \
    struct {                                                                                                           \
      unsigned char palette, start, reserved[14];                                                                      \
      unsigned short bytes[16];                                                                                        \
      unsigned char rows[16];                                                                                          \
    } shapes = {1};                                                                                                    \
    for (int i = 0; i < 8; ++i) {                                                                                      \
      shapes.bytes[i] = 64;                                                                                            \
      shapes.rows[i] = 16;                                                                                             \
    }                                                                                                                  \
    _tile_loadconfig(&shapes);                                                                                         \
    for (int i = 0; i < steps / 16 * accumulators / 4; ++i)                                                            \
      __asm__ volatile(INSTRUCTION " %%tmm6, %%tmm4, %%tmm0\n\t" INSTRUCTION " %%tmm7, %%tmm4, %%tmm1\n\t" INSTRUCTION \
                                   " %%tmm6, %%tmm5, %%tmm2\n\t" INSTRUCTION " %%tmm7, %%tmm5, %%tmm3" ::);            \
    _tile_release();                                                                                                   \
  }

TILES(bf16OfTiles, "amx-bf16", "tdpbf16ps")
TILES(bytesOfTiles, "amx-int8", "tdpbusd")

/// Whether the processor has tiles of bf16 and bytes, and Linux permits them to this process.
static int hasTiles(void) {
  enum { requestPermission = 0x1023, tileData = 18, bits = 1 << 22 | 1 << 24 | 1 << 25 };
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & bits) != bits)
    return 0;
  return !syscall(SYS_arch_prctl, requestPermission, tileData);
}

static const size_t memoryBytes = (size_t)256 << 20;
static char *memory;

typedef long long Vector __attribute__((vector_size(32)));

__attribute__((target("avx2"))) static void readMemory(void) {
  const Vector *from = (const Vector *)memory;
  Vector sums[8] = {{0}};
  for (size_t i = 0; i < memoryBytes / sizeof *from; i += 8)
    for (int j = 0; j < 8; ++j)
      sums[j] ^= from[i + j];
  for (int j = 0; j < 8; ++j)
    __asm__ volatile("" : : "x"(sums[j]));
}

static double operations(void (*run)(void), int perInstruction) {
  return (double)steps * accumulators * 2 * perInstruction / fastest(run);
}

int main(void) {
  memory = aligned_alloc(4096, memoryBytes);
  if (!memory)
    return 1;
  memset(memory, 1, memoryBytes);
  int isWide = __builtin_cpu_supports("avx512f"), isFused = __builtin_cpu_supports("avx2");
  double f32 = isWide ? operations(f32Of512, 16) : isFused ? operations(f32Of256, 8) : 0;
  double bf16 = __builtin_cpu_supports("avx512bf16") ? operations(bf16Of512, 32) : 0;
  double bytes = __builtin_cpu_supports("avx512vnni") ? operations(bytesOf512, 64) : 0;
  if (hasTiles()) { // a sixteenth of the steps, of 16 x 16 sums
    bf16 = operations(bf16OfTiles, 16 * 32);
    bytes = operations(bytesOfTiles, 16 * 64);
  }
  printf("{\"f32\": %.4g, \"bf16\": %.4g, \"int8\": %.4g, \"bytes\": %.4g}\n", f32, bf16, bytes,
         (double)memoryBytes / fastest(readMemory));
  free(memory);
  return 0;
}
