// Memory of outputs: known extents are checked before a run, the others after it.
#include "Errors.h"
#include "Session.h"
#include "Types.h"
#include <cstring>

namespace perpend::runtime {
namespace {

perpend_status checkTypeAndRank(const perpend_tensor_info &info, const perpend_tensor &output) {
  if (output.type != info.type)
    return fail(PERPEND_TYPE_MISMATCH, "output '%.60s': type: expected %s, got %s; hint: or leave data NULL", info.name,
                perpend_type_name(info.type), perpend_type_name(output.type));
  if (output.rank != info.rank || (!output.shape && info.rank))
    return fail(PERPEND_INVALID_ARGUMENT, "output '%.60s': rank: expected %d, got %d%s; hint: or leave data NULL",
                info.name, info.rank, output.rank, output.shape ? "" : " and no shape");
  return PERPEND_OK;
}

perpend_status checkShape(const perpend_tensor_info &info, const int64_t *dims, const perpend_tensor &output,
                          const char *hint) {
  for (int32_t i = 0; i < info.rank; ++i)
    if (output.shape[i] != dims[i])
      return fail(PERPEND_SHAPE_MISMATCH, "output '%.60s', dimension %d: expected %lld, got %lld; hint: %s", info.name,
                  i, static_cast<long long>(dims[i]), static_cast<long long>(output.shape[i]), hint);
  return PERPEND_OK;
}

// Checks an output in the caller's memory.
perpend_status checkOutput(perpend_session &session, int32_t i, const perpend_tensor &output) {
  const perpend_tensor_info &info = session.model->tables.entry.outputs.tensors[i];
  perpend_status status = checkTypeAndRank(info, output);
  if (status != PERPEND_OK)
    return status;
  if (!session.isFromData[i])
    return checkShape(info, session.outputDims[i], output, "ask perpend_session_output_shape, or leave data NULL");
  if (!tensorBytes(output.shape, info.rank, info.type, session.outputBytes[i]))
    return fail(PERPEND_SHAPE_MISMATCH, "output '%.60s': expected extents of at least 0, got negative or huge ones",
                info.name);
  return PERPEND_OK;
}

bool overlap(const void *a, int64_t aBytes, const void *b, int64_t bBytes) {
  auto aBegin = reinterpret_cast<uintptr_t>(a), bBegin = reinterpret_cast<uintptr_t>(b);
  return a && b && aBytes && bBytes && aBegin < bBegin + static_cast<uintptr_t>(bBytes) &&
         bBegin < aBegin + static_cast<uintptr_t>(aBytes);
}

perpend_status failOverlap(const perpend_tensor_info &output, const perpend_tensor_info &other) {
  return fail(PERPEND_INVALID_ARGUMENT,
              "output '%.60s': expected memory of its own, got an overlap with '%.60s'; hint: "
              "copy the data or use other memory for the output",
              output.name, other.name);
}

// Applies to tensors as the caller passed them: inputs before conversion, outputs only in the caller's memory.
perpend_status checkInputOverlap(const perpend_session &session) {
  const Entry &entry = session.model->tables.entry;
  for (uint32_t o = 0; o < entry.outputs.count; ++o)
    for (uint32_t i = 0; i < entry.inputs.count; ++i)
      if (overlap(session.outputPointers[o], session.outputBytes[o], session.inputPointers[i], session.inputBytes[i]))
        return failOverlap(entry.outputs.tensors[o], entry.inputs.tensors[i]);
  return PERPEND_OK;
}

perpend_status checkOutputOverlap(const perpend_session &session) {
  const TensorList &outputs = session.model->tables.entry.outputs;
  for (uint32_t o = 0; o < outputs.count; ++o)
    for (uint32_t p = 0; p < o; ++p)
      if (overlap(session.outputPointers[o], session.outputBytes[o], session.outputPointers[p], session.outputBytes[p]))
        return failOverlap(outputs.tensors[o], outputs.tensors[p]);
  return PERPEND_OK;
}

// Refuses inputs in the session's own memory of output `o`, which this run may free, move or overwrite.
perpend_status checkInputsElsewhere(const perpend_session &session, int32_t o) {
  const Entry &entry = session.model->tables.entry;
  const perpend_buffer &own = session.growing[o];
  for (uint32_t i = 0; i < entry.inputs.count; ++i)
    if (overlap(own.data, own.capacityBytes, session.inputPointers[i], session.inputBytes[i]))
      return failOverlap(entry.outputs.tensors[o], entry.inputs.tensors[i]);
  return PERPEND_OK;
}

// Returns an output of strings or lists in the form of perpend.h, in memory of the session or the caller.
perpend_status giveOutput(perpend_session &session, int32_t i, perpend_tensor &output) {
  const perpend_tensor_info &info = session.model->tables.entry.outputs.tensors[i];
  perpend_tensor given{session.growing[i].data, session.outputDims[i], info.rank, info.type};
  int32_t status = session.model->module->handles->give(session.handles, &given);
  if (status != PERPEND_OK)
    return static_cast<perpend_status>(status);
  if (!session.isCallers[i]) {
    output = given;
    return PERPEND_OK;
  }
  int64_t bytes = 0;
  perpend_status fits = checkShape(info, session.outputDims[i], output, "leave data NULL");
  if (fits == PERPEND_OK && tensorBytes(given.shape, given.rank, given.type, bytes))
    memcpy(output.data, given.data, static_cast<size_t>(bytes));
  return fits;
}

} // namespace

perpend_status checkOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count) {
  const TensorList &declared = session.model->tables.entry.outputs;
  if (count < 0 || static_cast<uint32_t>(count) != declared.count || (count && !outputs))
    return fail(PERPEND_INVALID_ARGUMENT, "model '%.60s': number of outputs: expected %u, got %d%s",
                session.model->tables.name, declared.count, count, count && !outputs ? " and NULL" : "");
  for (int32_t i = 0; i < count; ++i) {
    void *data = outputs[i].data;
    const bool hasHandles = isHandle(declared.tensors[i].type);
    const perpend_handle_functions *handles = session.model->module->handles;
    bool isOfEarlierRun =
        data == session.growing[i].data || (hasHandles && handles && handles->owns(session.handles, data));
    session.isCallers[i] = data && !isOfEarlierRun;
    session.outputPointers[i] = session.isCallers[i] && !hasHandles ? data : nullptr;
    perpend_status status = PERPEND_OK;
    if (!session.isCallers[i] || session.isFromData[i])
      status = checkInputsElsewhere(session, i);
    if (status == PERPEND_OK && session.isCallers[i])
      status = checkOutput(session, i, outputs[i]);
    if (status != PERPEND_OK)
      return status;
  }
  return checkInputOverlap(session);
}

perpend_status placeOutputs(perpend_session &session, const perpend_tensor *outputs, int32_t count) {
  const TensorList &declared = session.model->tables.entry.outputs;
  for (int32_t i = 0; i < count; ++i) {
    perpend_buffer &own = session.growing[i];
    perpend_type type = declared.tensors[i].type;
    const bool isDirect = session.isCallers[i] && runType(type) == type;
    perpend_status status = PERPEND_OK;
    if (!isDirect && !session.isFromData[i])
      status = reserve(own, session.outputBytes[i]);
    if (status != PERPEND_OK)
      return status;
    session.outputPointers[i] = isDirect ? outputs[i].data : session.isFromData[i] ? nullptr : own.data;
  }
  return checkOutputOverlap(session);
}

perpend_status returnOutputs(perpend_session &session, perpend_tensor *outputs, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const perpend_tensor_info &info = session.model->tables.entry.outputs.tensors[i];
    const perpend_buffer &own = session.growing[i];
    int64_t bytes = 0;
    if (session.isFromData[i] &&
        (!tensorBytes(session.outputDims[i], info.rank, runType(info.type), bytes) || bytes > own.capacityBytes))
      return fail(PERPEND_INVALID_DATA,
                  "output '%.60s': its extents do not fit its elements; hint: they follow from the "
                  "values of the inputs",
                  info.name);
    perpend_status status = PERPEND_OK;
    if (runType(info.type) != info.type) {
      status = giveOutput(session, i, outputs[i]);
    } else if (!session.isCallers[i]) {
      outputs[i] = {own.data, session.outputDims[i], info.rank, info.type};
    } else if (session.isFromData[i]) {
      status = checkShape(info, session.outputDims[i], outputs[i], "leave data NULL");
      if (status == PERPEND_OK)
        memcpy(outputs[i].data, own.data, static_cast<size_t>(bytes));
    }
    if (status != PERPEND_OK)
      return status;
  }
  return PERPEND_OK;
}

void clearOutputs(perpend_session &session, perpend_tensor *outputs, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (!session.isCallers[i])
      outputs[i].data = nullptr;
  }
}

} // namespace perpend::runtime
