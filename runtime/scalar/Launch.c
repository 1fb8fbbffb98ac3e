// What programs of an accelerator call on its scalar core. Records lie in DDR, and hold addresses as the core sees
// them.
#include "Run.h"
#include <string.h>

typedef void (*Kernel)(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end);

struct LaunchRecord {
  Kernel kernel;
  int64_t units;
  unsigned char *scratch; // flags of its parts; 0: none
  void *buffers[];
};

struct CopyRecord {
  void *target;
  const void *source;
  int64_t bytes;
};

// Runs all units of a kernel.
void perpend_scalar_launch(const struct LaunchRecord *record) {
  enter(0);
  if (record->scratch)
    *record->scratch = 0;
  record->kernel(record->buffers, 0, 0, record->units);
}

void perpend_scalar_copy(const struct CopyRecord *record) { memmove(record->target, record->source, record->bytes); }
