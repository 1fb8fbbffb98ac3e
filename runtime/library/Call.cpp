// Library calls: presents what generated code knows of a call to the function.
#include "Types.h"
#include "include/perpend_operator.h"
#include "library/CallSignature.h"
#include "library/Handles.h"
#include "library/Parameters.h"
#include <algorithm>
#include <cstdio>
#include <type_traits>

namespace perpend::library {
namespace {

struct Call {
  perpend_call base; // first member: functions pass it back
  perpend_frame *frame;
  const char *subject;
  const CallCounts *counts; // followed by entries
  void *const *buffers;
  int64_t **extents;    // of each input and output
  void **results;       // NULL before they are allocated
  perpend_status noted; // status of the message that was set, or PERPEND_OK
  perpend_operator function;

  static Call &of(perpend_call *call) { return *reinterpret_cast<Call *>(call); }
  const CallTensor &entry(int32_t tensor) const { return reinterpret_cast<const CallTensor *>(counts + 1)[tensor]; }
};

perpend_status note(Call &call, perpend_status status, const char *text) {
  call.noted = status;
  return refuse(*call.frame->handles, status, "%.200s: %.250s", call.subject, text);
}

void *allocate(perpend_call *base, int32_t output, const int64_t *shape, int32_t rank) {
  Call &call = Call::of(base);
  if (output < 0 || output >= base->outputCount || call.results[output]) {
    note(call, PERPEND_INVALID_DATA, "the function allocates a result twice, or one that it does not have");
    return nullptr;
  }
  int32_t tensor = base->inputCount + output;
  const CallTensor &entry = call.entry(tensor);
  bool fits = rank == entry.rank;
  for (int32_t i = 0; fits && i < rank; ++i)
    fits = shape[i] >= 0 && (call.extents[tensor][i] < 0 || call.extents[tensor][i] == shape[i]);
  if (!fits) {
    note(call, PERPEND_INVALID_DATA, "the function's result has another shape than the model says");
    return nullptr;
  }
  for (int32_t i = 0; i < rank; ++i)
    call.extents[tensor][i] = shape[i];
  if (entry.memory == Fixed)
    return call.results[output] = call.buffers[tensor];
  int64_t bytes;
  auto type = static_cast<perpend_type>(entry.type);
  if (!runtime::tensorBytes(shape, rank, runtime::runType(type), bytes))
    bytes = INT64_MAX;
  auto *buffer = static_cast<perpend_buffer *>(call.buffers[tensor]);
  if (int32_t status = call.frame->reserve(buffer, bytes, 0)) {
    call.noted = static_cast<perpend_status>(status);
    return nullptr;
  }
  return call.results[output] = buffer->data;
}

perpend_status fail(perpend_call *base, const char *format, va_list arguments) {
  char text[300];
  vsnprintf(text, sizeof text, format, arguments);
  return note(Call::of(base), PERPEND_INVALID_DATA, text);
}

const int64_t *expectedShape(perpend_call *base, int32_t output) {
  return Call::of(base).extents[base->inputCount + output];
}

struct SharedWork {
  perpend_call_body body;
  void *context;
};

// A kernel whose only buffer is the work.
void runShare(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  auto *work = static_cast<SharedWork *>(buffers[0]);
  work->body(work->context, begin, end);
}

void parallel(perpend_call *base, perpend_call_body body, void *context, int64_t extent, int64_t grain) {
  constexpr int32_t noKernel = -1; // not counted in profiles
  SharedWork work{body, context};
  void *buffers[] = {&work};
  perpend_frame *frame = Call::of(base).frame;
  frame->parallel(frame, noKernel, runShare, buffers, extent, grain);
}

perpend_handles &handlesOf(perpend_call *base) { return *Call::of(base).frame->handles; }

const perpend_call_services services = {
    allocate,
    fail,
    [](perpend_call *call, int64_t identity) { return handlesOf(call).texts.textOf(identity); },
    [](perpend_call *call, const char *data, int64_t sizeBytes) {
      return handlesOf(call).texts.identityOf(data, sizeBytes);
    },
    [](perpend_call *call, int64_t list) { return handlesOf(call).lists.countOf(list); },
    [](perpend_call *call, int64_t list, int64_t position) { return handlesOf(call).lists.elementOf(list, position); },
    [](perpend_call *call, int64_t list, int64_t position, const perpend_tensor *element) {
      return handlesOf(call).lists.insert(list, position, *element);
    },
    [](perpend_call *call, int64_t list, int64_t position) { return handlesOf(call).lists.erase(list, position); },
    integerParameter,
    numberParameter,
    wordParameter,
    expectedShape,
    [](perpend_call *call, int64_t bytes) { return handlesOf(call).calls.allocate(bytes, 64); },
    parallel,
    [](perpend_call *call, const void *key, int64_t keyBytes, int64_t bytes, int32_t *isNew) {
      return handlesOf(call).kept.find(Call::of(call).function, key, keyBytes, bytes, isNew);
    }};

// The tables of one call, in one allocation.
struct Tables {
  perpend_tensor *inputs;
  perpend_type *types;
  int64_t **extents;
  void **results;
};

bool fill(Call &call, MemoryPool &memory, Tables &tables, int64_t *extents) {
  int32_t inputCount = call.counts->inputs, outputCount = call.counts->outputs, count = inputCount + outputCount;
  memory.rewind(); // calls do not nest
  tables = {memory.allocateArray<perpend_tensor>(inputCount), memory.allocateArray<perpend_type>(outputCount),
            memory.allocateArray<int64_t *>(count), memory.allocateArray<void *>(outputCount)};
  if (!tables.inputs || !tables.types || !tables.extents || !tables.results)
    return false;
  for (int32_t i = 0; i < count; ++i) {
    const CallTensor &entry = call.entry(i);
    tables.extents[i] = extents;
    extents += entry.rank;
    if (i < inputCount)
      tables.inputs[i] = {call.buffers[i], tables.extents[i], entry.rank, static_cast<perpend_type>(entry.type)};
    else
      tables.types[i - inputCount] = static_cast<perpend_type>(entry.type);
  }
  std::fill_n(tables.results, outputCount, nullptr);
  return true;
}

} // namespace
} // namespace perpend::library

using namespace perpend::library;

extern "C" int32_t perpend_call_library_v1(perpend_frame *frame, perpend_operator function, const char *parameters,
                                           const char *subject, const int32_t *signature, void *const *buffers,
                                           int64_t *extents) {
  Tables tables;
  auto *counts = reinterpret_cast<const CallCounts *>(signature);
  Call call{{}, frame, subject, counts, buffers, nullptr, nullptr, PERPEND_OK, function};
  if (!fill(call, frame->handles->calls, tables, extents))
    return note(call, PERPEND_OUT_OF_MEMORY, "no memory");
  call.base = {&services, tables.inputs, tables.types, counts->inputs, counts->outputs, parameters};
  call.extents = tables.extents;
  call.results = tables.results;
  static_assert(std::is_same_v<decltype(perpend_call_library_v1), CallLibrary>);
  perpend_status status = function(&call.base);
  if (status != PERPEND_OK)
    return call.noted != PERPEND_OK ? call.noted : note(call, status, "the function failed without a message");
  for (int32_t i = 0; i < counts->outputs; ++i)
    if (!call.results[i])
      return note(call, PERPEND_INVALID_DATA, "the function did not allocate all its results");
  return PERPEND_OK;
}
