/* What the functions share that a program of an accelerator calls on its scalar core. */
#ifndef PERPEND_SCALAR_RUN_H
#define PERPEND_SCALAR_RUN_H
#include "perpend_module.h"

/* In DDR, where the host writes and reads it by this layout. */
struct Run {
  int64_t status; /* a perpend_status: of the first function that failed */
  int64_t got;    /* the number behind the message */
  int64_t hasGot;
  char message[512];            /* up to a newline; then a hint */
  const perpend_tables *tables; /* of the model's texts; 0: it has none */
  unsigned char *heap;
  int64_t heapBytes, used;
};

/* The core's first register. Functions of the C library do not get the run as an argument. */
static struct Run **const currentRun = (struct Run **)0x40000000;

/* Of each function that programs call: the run, and the variables of threads (errno), which are the second register. */
static inline void enter(struct Run *run) {
  *currentRun = run;
  __asm__ volatile("li tp, 0x40000008" ::: "memory");
}

/* All memory of the heap becomes free. */
void perpend_scalar_clear(struct Run *run);
/* Texts, lists and tables of library calls; NULL: no call is linked, or out of memory, which sets the status. */
perpend_handles *perpend_scalar_handles(struct Run *run);
/* A frame's functions. */
void perpend_scalar_parallel(perpend_frame *frame, int32_t kernelIndex, perpend_kernel kernel, void *const *buffers,
                             int64_t extent, int64_t grain);
int32_t perpend_scalar_reserve(perpend_buffer *buffer, int64_t bytes, int64_t keptBytes);
int32_t perpend_scalar_refuse(const char *text, int64_t got);

#endif
