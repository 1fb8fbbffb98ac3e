// Calls a function of the runtime's library in a program whose steps the accelerator orders.
#include "Run.h"
#include "perpend_operator.h"

// Of libperpend_library.a, see library/CallSignature.h.
int32_t perpend_call_library_v1(perpend_frame *frame, perpend_operator function, const char *parameters,
                                const char *subject, const int32_t *signature, void *const *buffers, int64_t *extents);

// In DDR.
struct CallRecord {
  struct Run *shared;
  perpend_operator function;
  const char *parameters, *subject;
  const int32_t *signature;
  int64_t *extents;
  void *buffers[];
};

// Begins a run. Later calls do nothing if one has failed.
void perpend_scalar_begin(struct Run *run) { run->status = PERPEND_OK; }

void perpend_scalar_call(const struct CallRecord *record) {
  struct Run *run = record->shared;
  enter(run);
  if (run->status)
    return;
  perpend_scalar_clear(run);
  int64_t threads = 1;
  perpend_frame frame = {.symbols = &threads,
                         .parallel = perpend_scalar_parallel,
                         .reserve = perpend_scalar_reserve,
                         .refuse = perpend_scalar_refuse,
                         .handles = perpend_scalar_handles(run)};
  if (run->status)
    return;
  const int32_t status = perpend_call_library_v1(&frame, record->function, record->parameters, record->subject,
                                                 record->signature, record->buffers, record->extents);
  if (!run->status)
    run->status = status;
}
