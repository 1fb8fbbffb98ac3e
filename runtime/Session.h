// A session: everything one stream of runs needs, allocated when it is created or when shapes change.
#ifndef PERPEND_RUNTIME_SESSION_H
#define PERPEND_RUNTIME_SESSION_H
#include "Model.h"
#include "Pool.h"

namespace perpend::runtime {

// Room for `bytes` bytes, aligned; memory only grows, by half at least, for sizes that grow step by step. Old contents
// are not kept. Errors: OUT_OF_MEMORY.
perpend_status reserve(perpend_buffer &buffer, int64_t bytes);

// perpend_frame.reserve: the same, and the first bytes are kept.
int32_t reserveGrowing(perpend_buffer *buffer, int64_t bytes, int64_t keptBytes);

struct KernelTime {
  int64_t timeNs, calls;
};

struct SessionFrame {
  perpend_frame base; // first: generated code hands it back to parallel
  perpend_session *session;
};

} // namespace perpend::runtime

struct perpend_session {
  perpend_model *model = nullptr;
  int32_t threads = 1;
  bool isBound = false;   // symbols and everything computed from them belong to inputDims
  bool isPlanned = false; // offsets and the arena do, too
  bool isProfiling = false;
  bool isComplete = false; // the latest run that began succeeded
  mutable std::atomic<bool> isBusy{false};
  perpend::runtime::Region region;

  int64_t **inputDims = nullptr; // shapes of the latest binding
  int64_t *inputBytes = nullptr, *symbols = nullptr;
  int64_t *bufferBytes = nullptr, *offsets = nullptr; // per planned buffer
  int64_t **outputDims = nullptr, *outputBytes = nullptr;
  bool *isCallers = nullptr;         // per output: the latest run writes it to memory of the caller
  bool *isFromData = nullptr;        // per output: an extent depends on data; dims and bytes are then the latest run's
  perpend_buffer *growing = nullptr; // for outputs that the caller left to the session, then for intermediate values
  perpend_buffer arena{};
  perpend_buffer *repeated = nullptr; // per input; for those that a run repeats
  const void **inputPointers = nullptr;
  void **outputPointers = nullptr;
  perpend_handles *handles = nullptr; // texts and lists
  perpend::runtime::KernelTime *kernelTimes = nullptr;
  perpend::runtime::Pace *paces = nullptr; // per kernel
  perpend::runtime::SessionFrame frame{};
};

namespace perpend::runtime {

// Binding.cpp: checks the inputs against the model and, when their shapes changed, computes symbols and all sizes.
// needsData: NULL data is an error for inputs with elements.
perpend_status bindInputs(perpend_session &session, const perpend_tensor *inputs, int32_t count, bool needsData);

// Outputs.cpp. Decides whose memory each output is written to, and checks it; changes nothing else.
perpend_status checkOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count);

// Makes room for the outputs of the session.
perpend_status placeOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count);

// After a run: checks and copies outputs with extents from data, fills in those of the session.
perpend_status returnOutputs(perpend_session &session, perpend_tensor *outputs, int32_t count);

// Forgets what the session handed out before, as its memory may have moved. Outputs of the caller stay as they are.
void clearOutputs(perpend_session &session, perpend_tensor *outputs, int32_t count);

// The message of an input whose elements are too many.
perpend_status failInputSize(const perpend_tensor_info &info);

// Repeats.cpp. Makes room for the inputs that the bound shapes repeat.
perpend_status reserveRepeats(perpend_session &session);

// Replaces the pointers of these inputs by repeated copies.
void repeatInputs(perpend_session &session);

// Lays out the arena for the bound shapes, growing it if needed.
perpend_status planArena(perpend_session &session);

} // namespace perpend::runtime
#endif
