// What the C library calls where it was built for cores without a multiplier; ours has one. Names are the compiler's.

long __muldi3(long a, long b) { return a * b; }
long __divdi3(long a, long b) { return a / b; }
long __moddi3(long a, long b) { return a % b; }
unsigned long __udivdi3(unsigned long a, unsigned long b) { return a / b; }
unsigned long __umoddi3(unsigned long a, unsigned long b) { return a % b; }

// Errors of functions of numbers are not reported: they go to a register of the core that nobody reads.
int *__errno_location(void) { return (int *)0x40000008; }
int *__errno(void) { return __errno_location(); }

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
