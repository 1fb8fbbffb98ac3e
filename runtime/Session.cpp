// Creating sessions and running them.
#include "Session.h"
#include "Cores.h"
#include "Errors.h"
#include "Pool.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>

namespace perpend::runtime {

bool Buffer::reserve(int64_t bytes) {
  constexpr int64_t alignment = 64;
  if (bytes <= capacityBytes && data)
    return true;
  if (bytes > INT64_MAX - alignment)
    return false;
  int64_t rounded = std::max((bytes + alignment - 1) / alignment, int64_t{1}) * alignment;
  free(data);
  data = static_cast<uint8_t *>(aligned_alloc(alignment, static_cast<size_t>(rounded)));
  capacityBytes = data ? rounded : 0;
  return data;
}

namespace {

// Marks the session as in use for one call.
class Use {
public:
  explicit Use(perpend_session &session) : session(session) {
    isAlone = !session.isBusy.exchange(true, std::memory_order_acquire);
  }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;
  ~Use() {
    if (isAlone)
      session.isBusy.store(false, std::memory_order_release);
  }

  bool isAlone;

private:
  perpend_session &session;
};

perpend_status failBusy() {
  return fail(PERPEND_BUSY,
              "session: expected one thread at a time, got a second; hint: create one session per thread");
}

int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

struct KernelCall {
  perpend_kernel kernel;
  void *const *buffers;
  const int64_t *symbols;
};

void runKernelPart(void *context, int64_t begin, int64_t end) {
  auto *call = static_cast<KernelCall *>(context);
  call->kernel(call->buffers, call->symbols, begin, end);
}

// perpend_frame.parallel
void runKernel(perpend_frame *frame, int32_t kernelIndex, perpend_kernel kernel, void *const *buffers, int64_t extent,
               int64_t grain) {
  perpend_session &session = *reinterpret_cast<SessionFrame *>(frame)->session;
  KernelCall call{kernel, buffers, frame->symbols};
  int64_t start = session.isProfiling ? nowNs() : 0;
  parallelFor({runKernelPart, &call, extent, grain, session.threads});
  if (!session.isProfiling || static_cast<uint32_t>(kernelIndex) >= session.model->module->kernelCount)
    return;
  session.kernelTimes[kernelIndex].timeNs += nowNs() - start;
  ++session.kernelTimes[kernelIndex].calls;
}

// One pointer per tensor into one array of all extents.
int64_t **allocateDims(Region &region, const TensorList &list) {
  size_t total = 0;
  for (uint32_t i = 0; i < list.count; ++i)
    total += static_cast<size_t>(list.tensors[i].rank);
  auto **pointers = region.allocate<int64_t *>(list.count + 1); // entry 0 exists without tensors, too
  auto *dims = region.allocate<int64_t>(total);
  if (!pointers || !dims)
    return nullptr;
  pointers[0] = dims;
  for (uint32_t i = 0; i < list.count; ++i)
    pointers[i + 1] = pointers[i] + list.tensors[i].rank;
  return pointers;
}

bool allocateTables(perpend_session &session) {
  const perpend_module &module = *session.model->module;
  Region &region = session.region;
  session.inputDims = allocateDims(region, session.model->descriptor.inputs);
  session.outputDims = allocateDims(region, session.model->descriptor.outputs);
  session.inputBytes = region.allocate<int64_t>(module.inputCount);
  session.outputBytes = region.allocate<int64_t>(module.outputCount);
  session.symbols = region.allocate<int64_t>(module.symbolCount);
  session.bufferBytes = region.allocate<int64_t>(module.bufferCount);
  session.offsets = region.allocate<int64_t>(module.bufferCount);
  session.outputBuffers = region.allocate<Buffer>(module.outputCount);
  session.inputPointers = region.allocate<const void *>(module.inputCount);
  session.outputPointers = region.allocate<void *>(module.outputCount);
  session.kernelTimes = region.allocate<KernelTime>(module.kernelCount);
  return session.inputDims && session.outputDims && session.inputBytes && session.outputBytes && session.symbols &&
         session.bufferBytes && session.offsets && session.outputBuffers && session.inputPointers &&
         session.outputPointers && session.kernelTimes;
}

void fillFrame(perpend_session &session) {
  const perpend_module &module = *session.model->module;
  session.frame.session = &session;
  session.frame.base = {session.inputPointers,
                        session.outputPointers,
                        module.weights,
                        nullptr,
                        module.staticOffsets ? module.staticOffsets : session.offsets,
                        session.symbols,
                        runKernel};
}

perpend_status checkOutput(const perpend_tensor_info &info, const int64_t *dims, const perpend_tensor &output) {
  if (output.type != info.type)
    return fail(PERPEND_TYPE_MISMATCH, "output '%.60s': type: expected %s, got %s; hint: or leave data NULL", info.name,
                perpend_type_name(info.type), perpend_type_name(output.type));
  if (output.rank != info.rank || (!output.shape && info.rank))
    return fail(PERPEND_INVALID_ARGUMENT, "output '%.60s': rank: expected %d, got %d%s; hint: or leave data NULL",
                info.name, info.rank, output.rank, output.shape ? "" : " and no shape");
  for (int32_t i = 0; i < info.rank; ++i)
    if (output.shape[i] != dims[i])
      return fail(PERPEND_SHAPE_MISMATCH,
                  "output '%.60s', dimension %d: expected %lld, got %lld; hint: ask "
                  "perpend_session_output_shape, or leave data NULL",
                  info.name, i, static_cast<long long>(dims[i]), static_cast<long long>(output.shape[i]));
  return PERPEND_OK;
}

// Chooses where each output goes: the caller's memory, or the session's.
perpend_status placeOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count) {
  const TensorList &declared = session.model->descriptor.outputs;
  if (count < 0 || static_cast<uint32_t>(count) != declared.count || (count && !outputs))
    return fail(PERPEND_INVALID_ARGUMENT, "model '%.60s': number of outputs: expected %u, got %d%s",
                session.model->descriptor.name, declared.count, count, count && !outputs ? " and NULL" : "");
  for (int32_t i = 0; i < count; ++i) {
    Buffer &own = session.outputBuffers[i];
    bool isCallers = outputs[i].data && outputs[i].data != own.data; // own: filled in by an earlier run
    perpend_status status = PERPEND_OK;
    if (isCallers)
      status = checkOutput(declared.tensors[i], session.outputDims[i], outputs[i]);
    else if (!own.reserve(session.outputBytes[i]))
      status = failAllocation(session.outputBytes[i]);
    if (status != PERPEND_OK)
      return status;
    session.outputPointers[i] = isCallers ? outputs[i].data : own.data;
  }
  return PERPEND_OK;
}

bool overlap(const void *a, int64_t aBytes, const void *b, int64_t bBytes) {
  auto aBegin = reinterpret_cast<uintptr_t>(a), bBegin = reinterpret_cast<uintptr_t>(b);
  return aBytes && bBytes && aBegin < bBegin + static_cast<uintptr_t>(bBytes) &&
         bBegin < aBegin + static_cast<uintptr_t>(aBytes);
}

perpend_status checkOverlap(const perpend_session &session) {
  const Descriptor &descriptor = session.model->descriptor;
  for (uint32_t o = 0; o < descriptor.outputs.count; ++o) {
    const char *name = descriptor.outputs.tensors[o].name;
    const char *other = nullptr;
    for (uint32_t i = 0; i < descriptor.inputs.count && !other; ++i)
      if (overlap(session.outputPointers[o], session.outputBytes[o], session.inputPointers[i], session.inputBytes[i]))
        other = descriptor.inputs.tensors[i].name;
    for (uint32_t p = 0; p < o && !other; ++p)
      if (overlap(session.outputPointers[o], session.outputBytes[o], session.outputPointers[p], session.outputBytes[p]))
        other = descriptor.outputs.tensors[p].name;
    if (other)
      return fail(PERPEND_INVALID_ARGUMENT,
                  "output '%.60s': expected memory of its own, got an overlap with '%.60s'; hint: "
                  "copy the data or use other memory for the output",
                  name, other);
  }
  return PERPEND_OK;
}

void returnOutputs(const perpend_session &session, perpend_tensor *outputs, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (session.outputPointers[i] == session.outputBuffers[i].data) {
      const perpend_tensor_info &info = session.model->descriptor.outputs.tensors[i];
      outputs[i] = {session.outputPointers[i], session.outputDims[i], info.rank, info.type};
    }
}

perpend_status run(perpend_session &session, const perpend_tensor *inputs, int32_t inputCount, perpend_tensor *outputs,
                   int32_t outputCount) {
  perpend_status status = bindInputs(session, inputs, inputCount, true);
  if (status == PERPEND_OK && !session.isPlanned)
    status = planArena(session);
  if (status == PERPEND_OK)
    status = placeOutputs(session, outputs, outputCount);
  if (status != PERPEND_OK)
    return status;
  for (int32_t i = 0; i < inputCount; ++i)
    session.inputPointers[i] = inputs[i].data;
  status = checkOverlap(session);
  if (status != PERPEND_OK)
    return status;
  session.frame.base.arena = session.arena.data;
  session.model->module->run(&session.frame.base);
  returnOutputs(session, outputs, outputCount);
  return PERPEND_OK;
}

void destroy(perpend_session *session) {
  for (uint32_t i = 0; session->outputBuffers && i < session->model->module->outputCount; ++i)
    free(session->outputBuffers[i].data);
  free(session->arena.data);
  perpend_model *model = session->model;
  session->~perpend_session();
  free(session);
  release(model);
}

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

perpend_status perpend_session_create(perpend_model *model, const perpend_session_options *options,
                                      perpend_session **session) {
  if (!model || !session)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_session_create: expected a model and a place for the session, got NULL");
  *session = nullptr;
  int32_t threads = options ? options->threads : 0;
  if (threads < 0 || threads > maxThreads)
    return fail(PERPEND_INVALID_ARGUMENT, "session: threads: expected 0 (all cores) to %d, got %d", maxThreads,
                threads);
  void *memory = malloc(sizeof(perpend_session));
  if (!memory)
    return failAllocation(sizeof(perpend_session));
  auto *created = new (memory) perpend_session();
  created->model = model;
  created->threads = threads ? threads : usableCores();
  retain(model);
  if (!allocateTables(*created)) {
    destroy(created);
    return fail(PERPEND_OUT_OF_MEMORY, "session: could not allocate its tables");
  }
  fillFrame(*created);
  *session = created;
  return PERPEND_OK;
}

void perpend_session_free(perpend_session *session) {
  if (session)
    destroy(session);
}

perpend_status perpend_session_output_shape(perpend_session *session, const perpend_tensor *inputs, int32_t inputCount,
                                            int32_t outputIndex, int64_t *shape) {
  if (!session || !shape)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_session_output_shape: expected a session and a shape, got NULL");
  const TensorList &outputs = session->model->descriptor.outputs;
  if (outputIndex < 0 || static_cast<uint32_t>(outputIndex) >= outputs.count)
    return fail(PERPEND_INVALID_ARGUMENT, "output index: expected 0 to %u, got %d", outputs.count - 1, outputIndex);
  Use use(*session);
  if (!use.isAlone)
    return failBusy();
  perpend_status status = bindInputs(*session, inputs, inputCount, false);
  if (status == PERPEND_OK)
    memcpy(shape, session->outputDims[outputIndex],
           static_cast<size_t>(outputs.tensors[outputIndex].rank) * sizeof *shape);
  return status;
}

perpend_status perpend_session_run(perpend_session *session, const perpend_tensor *inputs, int32_t inputCount,
                                   perpend_tensor *outputs, int32_t outputCount) {
  if (!session)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_session_run: expected a session, got NULL");
  Use use(*session);
  return use.isAlone ? run(*session, inputs, inputCount, outputs, outputCount) : failBusy();
}

perpend_status perpend_session_profile(perpend_session *session, int32_t enable) {
  if (!session)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_session_profile: expected a session, got NULL");
  Use use(*session);
  if (!use.isAlone)
    return failBusy();
  session->isProfiling = enable != 0;
  if (enable)
    memset(session->kernelTimes, 0, session->model->module->kernelCount * sizeof(KernelTime));
  return PERPEND_OK;
}

perpend_status perpend_session_kernel_profile(const perpend_session *session, int32_t kernelIndex, int64_t *timeNs,
                                              int64_t *calls) {
  if (!session || !timeNs || !calls)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_session_kernel_profile: expected a session and results, got NULL");
  uint32_t count = session->model->module->kernelCount;
  if (kernelIndex < 0 || static_cast<uint32_t>(kernelIndex) >= count)
    return fail(PERPEND_INVALID_ARGUMENT, "kernel index: expected fewer than %u, got %d", count, kernelIndex);
  *timeNs = session->kernelTimes[kernelIndex].timeNs;
  *calls = session->kernelTimes[kernelIndex].calls;
  return PERPEND_OK;
}
