// What the C library calls where it was built for cores without a multiplier; ours has one. Names are the compiler's.

long __muldi3(long a, long b) { return a * b; }
long __divdi3(long a, long b) { return a / b; }
long __moddi3(long a, long b) { return a % b; }
unsigned long __udivdi3(unsigned long a, unsigned long b) { return a / b; }
unsigned long __umoddi3(unsigned long a, unsigned long b) { return a % b; }

// Errors of functions of numbers are not reported.
static int ignored;
int *__errno_location(void) { return &ignored; }
