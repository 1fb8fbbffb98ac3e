/* perpend_process.h - which process this is, for calls back into it. */
#ifndef PERPEND_PROCESS_H
#define PERPEND_PROCESS_H

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* A number >= 0 that the kernel draws when a program starts: its forks have the same one (and the same addresses),
 * other programs and later runs another one, unlike process ids, which return. */
static inline int64_t perpend_process_number(void) {
  uint64_t number = 0;
  const void *random = (const void *)getauxval(AT_RANDOM);
  if (random)
    memcpy(&number, random, sizeof number);
  return (int64_t)(number >> 1);
}

#endif
