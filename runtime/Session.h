// A session: the state of one stream of runs, allocated at creation or when shapes change.
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
  perpend_frame base; // first member: generated code passes it back to parallel
  perpend_session *session;
};

} // namespace perpend::runtime

struct perpend_session {
  perpend_model *model = nullptr;
  // Itself, or the session whose arena it uses. The owner lives as long as any session that shares with it.
  perpend_session *owner = nullptr;
  std::atomic<int32_t> holders{1}; // of an owner: itself and those that share with it
  int32_t threads = 1;
  bool isBound = false;   //  symbols and what is computed from them match inputDims
  bool isPlanned = false; // offsets and the arena match, too
  int64_t arenaBytes = 0; //  of the latest plan
  bool hasPlan = false;   //  offsets fit buffers of plannedBytes, and the arena is large enough for them
  bool isProfiling = false;
  bool isComplete = false;                 // the latest run has succeeded
  mutable std::atomic<bool> isBusy{false}; // of an owner: it, or one that shares with it
  perpend::runtime::Region region;

  // Behind those of inputs and outputs come those of states.
  int64_t **inputDims = nullptr; // shapes of the latest binding
  int64_t *inputBytes = nullptr, *symbols = nullptr;
  int64_t *bufferBytes = nullptr, *plannedBytes = nullptr, *offsets = nullptr; // per planned buffer
  int64_t **outputDims = nullptr, *outputBytes = nullptr;
  bool *isCallers = nullptr;  //  per output: the latest run writes it to the caller's memory
  bool *isFromData = nullptr; //  per output: an extent depends on data (dims, bytes: of the latest run)
  uint64_t growingCount = 0;
  perpend_buffer *growing = nullptr;  // first for outputs in the session's memory, then for intermediate values
  perpend_buffer arena{};             // of an owner
  perpend_buffer *repeated = nullptr; // per input; used if the run repeats it
  const void **inputPointers = nullptr;
  void **outputPointers = nullptr;
  perpend_handles *handles = nullptr; // strings and lists
  perpend_states *states = nullptr;   // values that runs keep
  perpend::runtime::KernelTime *kernelTimes = nullptr;
  perpend::runtime::Pace *paces = nullptr; // per kernel
  perpend::runtime::SessionFrame frame{};
};

namespace perpend::runtime {

// Binding.cpp: checks the inputs against the model and, if their shapes have changed, computes symbols and all sizes.
// needsData: NULL data is an error for inputs with elements.
perpend_status bindInputs(perpend_session &session, const perpend_tensor *inputs, int32_t count, bool needsData);

// Outputs.cpp. Decides in whose memory each output is written, and checks it; changes nothing else.
perpend_status checkOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count);

// Allocates the outputs in the session's memory.
perpend_status placeOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count);

// After a run: checks and copies outputs with data-dependent extents, and fills in those in the session's memory.
perpend_status returnOutputs(perpend_session &session, perpend_tensor *outputs, int32_t count);

// Clears pointers that the session returned before, because its memory may have moved. Outputs of the caller stay as
// they are.
void clearOutputs(perpend_session &session, perpend_tensor *outputs, int32_t count);

// Fails because an input has too many elements.
perpend_status failInputSize(const perpend_tensor_info &info);

// Repeats.cpp. Allocates memory for inputs that the bound shapes repeat.
perpend_status reserveRepeats(perpend_session &session);

// Replaces the pointers of these inputs by repeated copies.
void repeatInputs(perpend_session &session);

// Lays out the arena for the bound shapes, growing it if needed.
perpend_status prepareArena(perpend_session &session);

} // namespace perpend::runtime
#endif
