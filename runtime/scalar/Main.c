// Runs a host program on the scalar core of an accelerator: what the runtime's session does elsewhere.
#include "perpend_module.h"
#include <string.h>

// In DDR; the words behind `heapBytes` are results.
struct MainRecord {
  int32_t (*run)(perpend_frame *frame);
  void (*sizes)(const int64_t *symbols, int64_t *bufferBytes, int64_t *outputDims);
  int64_t *bufferBytes;
  int64_t growingCount;
  unsigned char *heap;
  int64_t heapBytes;
  int64_t used; // of the heap
  int64_t status;
  const char *message;
  int64_t got;
  perpend_frame frame;
};

// The core's first register: the record of the run, for functions that do not get it.
static struct MainRecord **const current = (struct MainRecord **)0x40000000;

static void runAll(perpend_frame *frame, int32_t kernelIndex, perpend_kernel kernel, void *const *buffers,
                   int64_t extent, int64_t grain) {
  (void)kernelIndex;
  (void)grain;
  if (extent > 0)
    kernel(buffers, frame->symbols, 0, extent);
}

static int32_t refuse(const char *text, int64_t got) {
  (*current)->message = text;
  (*current)->got = got;
  return PERPEND_INVALID_ARGUMENT;
}

static int32_t reserve(perpend_buffer *buffer, int64_t bytes, int64_t keptBytes) {
  struct MainRecord *record = *current;
  if (bytes < 0)
    return refuse("expected a size of at least 0 bytes", bytes);
  if (buffer->data && bytes <= buffer->capacityBytes)
    return PERPEND_OK;
  int64_t capacity = (bytes + bytes / 2 + 127) / 64 * 64;
  if (capacity > record->heapBytes - record->used)
    return refuse("too little memory for values whose sizes data decides: bytes", bytes);
  unsigned char *data = record->heap + record->used;
  record->used += capacity;
  if (keptBytes > 0)
    memcpy(data, buffer->data, keptBytes);
  buffer->data = data;
  buffer->capacityBytes = capacity;
  return PERPEND_OK;
}

void perpend_scalar_main(struct MainRecord *record) {
  perpend_frame *frame = &record->frame;
  *current = record;
  record->used = 0;
  record->message = 0;
  for (int64_t i = 0; i < record->growingCount; ++i) {
    frame->growing[i].data = 0;
    frame->growing[i].capacityBytes = 0;
  }
  frame->parallel = runAll;
  frame->reserve = reserve;
  frame->refuse = refuse;
  record->sizes(frame->symbols, record->bufferBytes, frame->outputDims);
  record->status = record->run(frame);
}
