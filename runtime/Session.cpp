// Creation and runs of sessions.
#include "Session.h"
#include "Clock.h"
#include "Cores.h"
#include "Errors.h"
#include "Pool.h"
#include "Types.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace perpend::runtime {

namespace {

// Marks the session as in use during a call.
class Use {
public:
  explicit Use(const perpend_session &session) : session(session) {
    isAlone = !session.owner->isBusy.exchange(true, std::memory_order_acquire);
  }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;
  ~Use() {
    if (isAlone)
      session.owner->isBusy.store(false, std::memory_order_release);
  }

  bool isAlone;

private:
  const perpend_session &session;
};

perpend_status failBusy() {
  return fail(PERPEND_BUSY,
              "session: expected one thread at a time, got a second; hint: create one session per thread");
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
  bool isNumbered = static_cast<uint32_t>(kernelIndex) < session.model->tables.kernels.count; // not a library function
  int64_t start = session.isProfiling ? nowNs() : 0;
  Pace *pace = isNumbered && grain > 0 ? &session.paces[kernelIndex] : nullptr; // otherwise units depend on shapes
  parallelFor({runKernelPart, &call, extent, grain, session.threads, pace});
  if (!session.isProfiling || !isNumbered)
    return;
  session.kernelTimes[kernelIndex].timeNs += nowNs() - start;
  ++session.kernelTimes[kernelIndex].calls;
}

// perpend_frame.refuse
int32_t refuse(const char *text, int64_t got) {
  const char *newline = strchr(text, '\n');
  int length = newline ? static_cast<int>(newline - text) : 400;
  const char *hint = newline ? newline + 1 : "the values of the inputs, or their extents, do not fit the model there";
  return fail(PERPEND_INVALID_DATA, "%.*s, got %lld; hint: %.200s", length, text, static_cast<long long>(got), hint);
}

// The run itself. Files of weights are compared with what they were, and guarded while they are read.
perpend_status runCode(perpend_session &session) {
  const perpend_model &model = *session.model;
  int32_t status = model.segments ? model.segmentFunctions->begin(model.segments) : PERPEND_OK;
  if (status != PERPEND_OK)
    return static_cast<perpend_status>(status);
  status = model.code.run(&session.frame.base);
  const int32_t files = model.segments ? model.segmentFunctions->end(model.segments) : PERPEND_OK;
  return static_cast<perpend_status>(files != PERPEND_OK ? files : status);
}

// Passes on messages of code in artifacts.
int32_t note(int32_t status, const char *text) { return fail(static_cast<perpend_status>(status), "%s", text); }

// Allocates one array of all extents, and one pointer into it per tensor and then per state of the entry.
int64_t **allocateDims(Region &region, const TensorList &list, const Tables &tables) {
  const EntryStates &states = tables.entry.states;
  const auto rankOf = [&](uint32_t i) {
    return i < list.count ? list.tensors[i].rank : tables.states.tensors[states.entries[i - list.count].state].rank;
  };
  const uint32_t count = list.count + states.count;
  size_t total = 0;
  for (uint32_t i = 0; i < count; ++i)
    total += static_cast<size_t>(rankOf(i));
  auto **pointers = region.allocate<int64_t *>(count + 1); // entry 0 exists even without tensors
  auto *dims = region.allocate<int64_t>(total);
  if (!pointers || !dims)
    return nullptr;
  pointers[0] = dims;
  for (uint32_t i = 0; i < count; ++i)
    pointers[i + 1] = pointers[i] + rankOf(i);
  return pointers;
}

bool allocateTables(perpend_session &session) {
  const Entry &entry = session.model->tables.entry;
  const uint32_t inputCount = entry.inputs.count, outputCount = entry.outputs.count;
  const uint32_t kernelCount = session.model->tables.kernels.count;
  Region &region = session.region;
  const uint32_t stateCount = entry.states.count;
  session.inputDims = allocateDims(region, entry.inputs, session.model->tables);
  session.outputDims = allocateDims(region, entry.outputs, session.model->tables);
  session.inputBytes = region.allocate<int64_t>(inputCount);
  session.outputBytes = region.allocate<int64_t>(outputCount);
  session.symbols = region.allocate<int64_t>(size_t{entry.symbols.count} + 1);
  session.bufferBytes = region.allocate<int64_t>(entry.bufferCount);
  session.plannedBytes = region.allocate<int64_t>(entry.bufferCount);
  session.offsets = region.allocate<int64_t>(entry.bufferCount);
  session.isCallers = region.allocate<bool>(outputCount);
  session.isFromData = region.allocate<bool>(outputCount);
  session.growingCount = uint64_t{outputCount} + stateCount + entry.growingCount;
  session.growing = region.allocate<perpend_buffer>(session.growingCount);
  session.repeated = region.allocate<perpend_buffer>(inputCount);
  session.inputPointers = region.allocate<const void *>(size_t{inputCount} + stateCount);
  session.outputPointers = region.allocate<void *>(size_t{outputCount} + stateCount);
  session.kernelTimes = region.allocate<KernelTime>(kernelCount);
  session.paces = region.allocate<Pace>(kernelCount);
  return session.inputDims && session.outputDims && session.inputBytes && session.outputBytes && session.symbols &&
         session.bufferBytes && session.plannedBytes && session.offsets && session.isCallers && session.isFromData &&
         session.growing && session.repeated && session.inputPointers && session.outputPointers &&
         session.kernelTimes && session.paces;
}

void fillFrame(perpend_session &session) {
  const Entry &entry = session.model->tables.entry;
  session.frame.session = &session;
  session.frame.base = {session.inputPointers,
                        session.outputPointers,
                        session.model->weights,
                        nullptr,
                        entry.arenaBytes >= 0 ? entry.offsets : session.offsets,
                        session.symbols,
                        runKernel,
                        session.growing,
                        reserveGrowing,
                        refuse,
                        session.outputDims[0],
                        session.handles};
}

// Converts strings and lists to their form inside a run.
perpend_status takeInputs(perpend_session &session, const perpend_tensor *inputs, int32_t count) {
  const perpend_handle_functions *functions = session.model->module->handles;
  const TensorList &declared = session.model->tables.entry.inputs;
  if (functions)
    functions->begin(session.handles, session.isComplete);
  session.isComplete = false;
  for (int32_t i = 0; i < count; ++i) {
    if (!isHandle(inputs[i].type))
      continue;
    if (!functions)
      return fail(PERPEND_CORRUPT, "model '%.60s': it has texts or lists, but lacks the functions for them",
                  session.model->tables.name);
    int32_t status = functions->take(session.handles, &inputs[i], &declared.tensors[i], &session.inputPointers[i]);
    if (status != PERPEND_OK)
      return static_cast<perpend_status>(status);
  }
  return PERPEND_OK;
}

perpend_status runEntry(perpend_session &session, perpend_tensor *outputs, int32_t outputCount) {
  perpend_status status = runCode(session);
  return status == PERPEND_OK ? returnOutputs(session, outputs, outputCount) : status;
}

// The states change when everything else has succeeded.
perpend_status runWithStates(perpend_session &session, perpend_tensor *outputs, int32_t outputCount) {
  const Entry &entry = session.model->tables.entry;
  if (!session.states)
    return runEntry(session, outputs, outputCount);
  const perpend_state_functions &functions = *session.model->module->states;
  const EntryStates &list = entry.states;
  auto status = static_cast<perpend_status>(functions.begin(session.states, list.entries, list.count,
                                                            session.inputPointers + entry.inputs.count,
                                                            session.outputPointers + entry.outputs.count));
  if (status != PERPEND_OK)
    return status;
  status = runEntry(session, outputs, outputCount);
  functions.end(session.states, list.entries, list.count, status == PERPEND_OK,
                session.outputDims + entry.outputs.count);
  return status;
}

perpend_status run(perpend_session &session, const perpend_tensor *inputs, int32_t inputCount, perpend_tensor *outputs,
                   int32_t outputCount) {
  perpend_status status = checkFile(*session.model);
  if (status == PERPEND_OK)
    status = bindInputs(session, inputs, inputCount, true);
  if (status == PERPEND_OK && (!session.isPlanned || session.owner->arena.capacityBytes < session.arenaBytes))
    status = prepareArena(session);
  for (int32_t i = 0; status == PERPEND_OK && i < inputCount; ++i)
    session.inputPointers[i] = inputs[i].data;
  if (status == PERPEND_OK)
    status = checkOutputs(session, outputs, outputCount);
  if (status != PERPEND_OK)
    return status;
  status = takeInputs(session, inputs, inputCount); // first, because placing outputs may free their memory
  if (status == PERPEND_OK)
    status = placeOutputs(session, outputs, outputCount);
  if (status == PERPEND_OK)
    repeatInputs(session);
  session.frame.base.arena = static_cast<uint8_t *>(session.owner->arena.data);
  if (status == PERPEND_OK)
    status = runWithStates(session, outputs, outputCount);
  if (status == PERPEND_OK)
    session.isComplete = true;
  else
    clearOutputs(session, outputs, outputCount);
  return status;
}

void destroy(perpend_session *session);

void releaseSession(perpend_session *session) {
  if (session->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(session);
}

// What is mapped of the model may be lost by now: it is not read, and texts and lists, which only its code can free,
// stay.
void destroy(perpend_session *session) {
  for (uint64_t i = 0; session->growing && i < session->growingCount; ++i)
    free(session->growing[i].data);
  for (uint32_t i = 0; session->repeated && i < session->model->tables.entry.inputs.count; ++i)
    free(session->repeated[i].data);
  free(session->arena.data);
  if ((session->handles || session->states) && checkFile(*session->model) == PERPEND_OK) {
    if (session->handles)
      session->model->module->handles->destroy(session->handles);
    if (session->states && session->owner == session)
      session->model->module->states->destroy(session->states);
  }
  perpend_model *model = session->model;
  perpend_session *owner = session->owner;
  const bool isOwner = owner == session;
  session->~perpend_session();
  free(session);
  release(model);
  if (!isOwner)
    releaseSession(owner);
}

perpend_status create(perpend_model *model, int32_t threads, perpend_session *owner, perpend_session **session) {
  if (perpend_status status = checkFile(*model); status != PERPEND_OK)
    return status;
  void *memory = malloc(sizeof(perpend_session));
  if (!memory)
    return failAllocation(sizeof(perpend_session));
  auto *created = new (memory) perpend_session();
  created->model = model;
  created->threads = threads;
  created->owner = owner ? owner : created;
  if (owner)
    owner->holders.fetch_add(1, std::memory_order_relaxed);
  retain(model);
  if (const perpend_handle_functions *functions = model->module->handles)
    created->handles = functions->create(model->module, note);
  if (const perpend_state_functions *functions = model->module->states)
    created->states = owner ? owner->states : functions->create(model->module, model->weights, note);
  if (!allocateTables(*created) || (model->module->handles && !created->handles) ||
      (model->tables.states.count && !created->states)) {
    destroy(created);
    return fail(PERPEND_OUT_OF_MEMORY, "session: could not allocate its tables");
  }
  created->symbols[model->tables.entry.symbols.count] = created->threads;
  fillFrame(*created);
  *session = created;
  return PERPEND_OK;
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
  return create(model, threads ? threads : usableCores(), nullptr, session);
}

perpend_status perpend_session_create_shared(perpend_model *model, perpend_session *other, perpend_session **session) {
  if (!model || !other || !session)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_session_create_shared: expected a model, a session and a place for the new one, got NULL");
  *session = nullptr;
  if ((model->base ? model->base : model) != (other->model->base ? other->model->base : other->model))
    return fail(PERPEND_INVALID_ARGUMENT,
                "session: expected an entry of the other session's model '%.60s', got one of "
                "'%.60s'; hint: perpend_model_entry gives the entries of a model",
                other->model->tables.name, model->tables.name);
  return create(model, other->threads, other->owner, session);
}

perpend_status perpend_session_lend(perpend_session *session, perpend_session_loan *loan) {
  if (session->owner->isBusy.exchange(true, std::memory_order_acquire))
    return failBusy();
  *loan = {session->model, session->threads, session->states, session->model->module->states};
  return PERPEND_OK;
}

void perpend_session_give_back(perpend_session *session) {
  session->owner->isBusy.store(false, std::memory_order_release);
}

void perpend_session_free(perpend_session *session) {
  if (session && session->owner != session)
    destroy(session);
  else if (session)
    releaseSession(session);
}

perpend_status perpend_session_output_shape(perpend_session *session, const perpend_tensor *inputs, int32_t inputCount,
                                            int32_t outputIndex, int64_t *shape) {
  if (!session || !shape)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_session_output_shape: expected a session and a shape, got NULL");
  const TensorList &outputs = session->model->tables.entry.outputs;
  if (outputIndex < 0 || static_cast<uint32_t>(outputIndex) >= outputs.count)
    return fail(PERPEND_INVALID_ARGUMENT, "output index: expected 0 to %u, got %d", outputs.count - 1, outputIndex);
  Use use(*session);
  if (!use.isAlone)
    return failBusy();
  perpend_status status = checkFile(*session->model);
  if (status == PERPEND_OK)
    status = bindInputs(*session, inputs, inputCount, false);
  if (status == PERPEND_OK && session->isFromData[outputIndex])
    return fail(PERPEND_SHAPE_UNKNOWN,
                "output '%.60s': its shape depends on the values of the inputs and is known after a run only; hint: "
                "leave its data NULL and read shape after perpend_session_run",
                outputs.tensors[outputIndex].name);
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
    memset(session->kernelTimes, 0, session->model->tables.kernels.count * sizeof(KernelTime));
  return PERPEND_OK;
}

perpend_status perpend_session_kernel_profile(const perpend_session *session, int32_t kernelIndex, int64_t *timeNs,
                                              int64_t *calls) {
  if (!session || !timeNs || !calls)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_session_kernel_profile: expected a session and results, got NULL");
  uint32_t count = session->model->tables.kernels.count;
  if (kernelIndex < 0 || static_cast<uint32_t>(kernelIndex) >= count)
    return fail(PERPEND_INVALID_ARGUMENT, "kernel index: expected fewer than %u, got %d", count, kernelIndex);
  Use use(*session);
  if (!use.isAlone)
    return failBusy();
  *timeNs = session->kernelTimes[kernelIndex].timeNs;
  *calls = session->kernelTimes[kernelIndex].calls;
  return PERPEND_OK;
}
