// What the C library lacks or calls where it was built for cores without a multiplier; ours has one. Names are the
// compiler's.

long __muldi3(long a, long b) { return a * b; }
long __divdi3(long a, long b) { return a / b; }
long __moddi3(long a, long b) { return a % b; }
unsigned long __udivdi3(unsigned long a, unsigned long b) { return a / b; }
unsigned long __umoddi3(unsigned long a, unsigned long b) { return a % b; }

// Errors of functions of numbers are not reported: they go to a register of the core that nobody reads (Run.h).
_Thread_local int errno;
int *__errno_location(void) { return (int *)0x40000008; }
int *__errno(void) { return __errno_location(); }

// There is one locale.
double strtod(const char *text, char **end);
float strtof(const char *text, char **end);
double strtod_l(const char *text, char **end, void *locale) { return (void)locale, strtod(text, end); }
float strtof_l(const char *text, char **end, void *locale) { return (void)locale, strtof(text, end); }
void *newlocale(int categories, const char *name, void *base) { return (void)categories, (void)name, base; }

// One core runs the code of a kernel, so it has claimed its scratch memory when it has written the flag.
unsigned char __atomic_exchange_1(volatile void *place, unsigned char value, int order) {
  (void)order;
  volatile unsigned char *flag = place;
  unsigned char old = *flag;
  *flag = value;
  return old;
}

void __atomic_store_1(volatile void *place, unsigned char value, int order) {
  (void)order;
  *(volatile unsigned char *)place = value;
}

int __clzdi2(unsigned long value) {
  int count = 0;
  for (unsigned long bit = 1ul << 63; bit && !(value & bit); bit >>= 1)
    ++count;
  return count;
}

// Products of 128 bits, from those of 64, which are instructions.
__int128 __multi3(__int128 a, __int128 b) {
  const unsigned long aLow = (unsigned long)a, bLow = (unsigned long)b;
  const unsigned long aHigh = (unsigned long)(a >> 64), bHigh = (unsigned long)(b >> 64);
  const unsigned __int128 low = (unsigned __int128)aLow * bLow;
  return (__int128)(low + ((unsigned __int128)(aLow * bHigh + aHigh * bLow) << 64));
}
