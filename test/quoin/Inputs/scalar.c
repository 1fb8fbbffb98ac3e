// Functions that use all of rv64imfd, for scalar.test. Compiled with any compiler for riscv64.
typedef unsigned long u64;
typedef long i64;

static u64 mix(u64 hash, u64 value) { return (hash ^ value) * 0x100000001b3ul + (hash >> 29); }
static u64 bits(double value) {
  u64 result;
  __builtin_memcpy(&result, &value, 8);
  return value != value ? 1 : result;
}

/// Products, quotients, remainders and shifts of all widths.
u64 integers(u64 seed) {
  u64 hash = 7;
  for (u64 i = 0; i < 200; ++i) {
    u64 a = seed * (i + 1) >> (i % 13), b = (seed ^ (i * 0x9e3779b97f4a7c15ul)) >> (i * 7 % 61);
    hash = mix(hash, a * b);
    hash = mix(hash, (u64)((unsigned __int128)a * b >> 64));
    hash = mix(hash, (u64)((__int128)(i64)a * (i64)b >> 64));
    if (b) {
      hash = mix(hash, a / b), hash = mix(hash, a % b);
      if ((i64)b != -1)
        hash = mix(hash, (u64)((i64)a / (i64)b)), hash = mix(hash, (u64)((i64)a % (i64)b));
    }
    if ((int)b != 0 && (int)b != -1)
      hash = mix(hash, (u64)((int)a / (int)b)), hash = mix(hash, (u64)((int)a % (int)b));
    if ((unsigned)b)
      hash = mix(hash, (unsigned)a / (unsigned)b), hash = mix(hash, (unsigned)a % (unsigned)b);
    hash = mix(hash, a << (b & 63)), hash = mix(hash, a >> (b & 63)), hash = mix(hash, (u64)((i64)a >> (b & 63)));
    hash = mix(hash, (unsigned)a << (b & 31)), hash = mix(hash, (u64)((int)a >> (b & 31)));
    hash = mix(hash, (i64)a < (i64)b), hash = mix(hash, a < b), hash = mix(hash, (u64)(short)a + (signed char)b);
  }
  return hash;
}

/// Arithmetic, comparisons and conversions of f32 and f64.
u64 floats(u64 seed) {
  u64 hash = 11;
  for (u64 i = 0; i < 200; ++i) {
    double a = (double)(i64)(seed * (i + 3)) * 0x1p-50, b = (double)(seed >> (i % 50)) / (double)(i + 1) - 3.5;
    float c = (float)a * 0.3f, d = (float)b / 7.0f;
    hash = mix(hash, bits(a * b + 1.5)), hash = mix(hash, bits(a / b)), hash = mix(hash, bits(__builtin_sqrt(b < 0 ? -b : b)));
    hash = mix(hash, bits(__builtin_fma(a, b, -a))), hash = mix(hash, bits(__builtin_fmaf(c, d, c)));
    hash = mix(hash, bits(c + d)), hash = mix(hash, bits(c - d)), hash = mix(hash, bits(c * d)), hash = mix(hash, bits(c / d));
    hash = mix(hash, bits(__builtin_sqrtf(c < 0 ? -c : c))), hash = mix(hash, a < b), hash = mix(hash, c <= d), hash = mix(hash, c == d);
    hash = mix(hash, bits(__builtin_fmin(a, b))), hash = mix(hash, bits(__builtin_fmaxf(c, d)));
    hash = mix(hash, bits(__builtin_copysign(a, b))), hash = mix(hash, bits((double)(float)a));
    if (a > -1e9 && a < 1e9)
      hash = mix(hash, (u64)(i64)a), hash = mix(hash, (u64)(int)a), hash = mix(hash, bits((float)(int)a));
    hash = mix(hash, bits((float)seed)), hash = mix(hash, bits((double)(unsigned)seed));
  }
  return hash;
}

/// out[0..2) of the flat address in a0.
void hashes(u64 *out, u64 *unused0, u64 *unused1, u64 *unused2, i64 seed) {
  out[0] = integers((u64)seed * 0x2545f4914f6cdd1dul);
  out[1] = floats((u64)seed * 0x2545f4914f6cdd1dul);
}

static const float table[4] = {1.5f, 2.5f, 3.5f, 4.5f}; // read-only data of the image

void scale(float *out, const float *in, void *unused1, void *unused2, i64 count) {
  for (i64 i = 0; i < count; ++i)
    out[i] = in[i] * table[i & 3];
}

void fail(u64 *unused) { __asm__ volatile("li a0, 42\n ecall"); }
void runaway(u64 *unused) {
  for (;;)
    __asm__ volatile("");
}
void stray(u64 *unused) { *(volatile u64 *)0x1234 = 1; }
