// Runs a host program on the scalar core of an accelerator.
#include "Run.h"

// In DDR.
struct MainRecord {
  struct Run *shared;
  int32_t (*run)(perpend_frame *frame);
  void (*sizes)(const int64_t *symbols, int64_t *bufferBytes, int64_t *outputDims);
  int64_t *bufferBytes;
  int64_t growingCount;
  perpend_frame frame;
};

void perpend_scalar_main(struct MainRecord *record) {
  perpend_frame *frame = &record->frame;
  struct Run *run = record->shared;
  enter(run);
  run->status = PERPEND_OK;
  perpend_scalar_clear(run);
  for (int64_t i = 0; i < record->growingCount; ++i) {
    frame->growing[i].data = 0;
    frame->growing[i].capacityBytes = 0;
  }
  frame->parallel = perpend_scalar_parallel;
  frame->reserve = perpend_scalar_reserve;
  frame->refuse = perpend_scalar_refuse;
  frame->handles = perpend_scalar_handles(run);
  record->sizes(frame->symbols, record->bufferBytes, frame->outputDims);
  if (run->status)
    return;
  const int32_t status = record->run(frame);
  if (!run->status)
    run->status = status;
}
