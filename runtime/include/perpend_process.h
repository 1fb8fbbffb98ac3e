/* perpend_process.h - identifies the process, for calls back into it. */
#ifndef PERPEND_PROCESS_H
#define PERPEND_PROCESS_H

#include <stdint.h>
#include <string.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

/* A random number >= 0 that the kernel draws when a program starts. Its forks share it (and its addresses); other
 * programs and later runs have another one. Process ids, in contrast, are reused. */
static inline int64_t perpend_process_number(void) {
#if defined(__linux__)
  uint64_t numbers[2] = {0, 0}; /* the C library's secrets, which this must not tell */
  const void *random = (const void *)getauxval(AT_RANDOM);
  if (random)
    memcpy(numbers, random, sizeof numbers);
  return (int64_t)((numbers[0] ^ numbers[1]) >> 1);
#else
  return 0; /* a module of WebAssembly: nothing else has its memory */
#endif
}

#endif
