// Binding: from the shapes of the inputs to symbols, sizes and offsets. Skipped entirely if the shapes are those of the
// previous run.
#include "Errors.h"
#include "Planner.h"
#include "Session.h"
#include "Types.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perpend::runtime {
namespace {

// Writes "[n, 3, 224]", cut at capacity.
void describeShape(const perpend_tensor_info &info, char *text, size_t capacity) {
  size_t used = static_cast<size_t>(snprintf(text, capacity, "["));
  for (int32_t i = 0; i < info.rank; ++i) {
    size_t length = strlen(info.dimTexts[i]);
    if (used + length + 4 > capacity)
      break;
    used += static_cast<size_t>(snprintf(text + used, capacity - used, "%s%s", i ? ", " : "", info.dimTexts[i]));
  }
  snprintf(text + used, capacity - used, "]");
}

bool isRepeating(const Entry &entry, const perpend_tensor_info &info, int32_t dim) {
  const RepeatList &repeats = entry.repeats;
  return std::any_of(repeats.entries, repeats.entries + repeats.count, [&](const perpend_repeat_record &repeat) {
    return &entry.inputs.tensors[repeat.input] == &info && repeat.dim == static_cast<uint32_t>(dim);
  });
}

// Whether `text` is "4*h", "4*h + 1" or "4*h - 1" and no value of the symbol yields `got`.
bool isNoMultiple(const char *text, int64_t got, int64_t &factor, int64_t &offset) {
  char *end = nullptr;
  factor = strtoll(text, &end, 10);
  if (factor < 2 || *end != '*')
    return false;
  end += 1 + strcspn(end + 1, " *(");
  offset = 0;
  if (*end) {
    bool isSum = !strncmp(end, " + ", 3);
    if (!isSum && strncmp(end, " - ", 3))
      return false;
    offset = strtoll(end + 3, &end, 10) * (isSum ? 1 : -1);
  }
  return !*end && (got - offset) % factor;
}

perpend_status failMultiple(const perpend_tensor_info &info, int32_t dim, int64_t got, int64_t factor, int64_t offset) {
  char shape[160], rest[32] = "";
  describeShape(info, shape, sizeof shape);
  if (offset)
    snprintf(rest, sizeof rest, " %s %lld", offset > 0 ? "plus" : "minus",
             static_cast<long long>(offset > 0 ? offset : -offset));
  return fail(PERPEND_SHAPE_MISMATCH,
              "input '%.60s', dimension %d: expected %s, a multiple of %lld%s, got %lld; hint: its shape is %s",
              info.name, dim, info.dimTexts[dim], static_cast<long long>(factor), rest, static_cast<long long>(got),
              shape);
}

perpend_status failDimension(const Entry &entry, const perpend_tensor_info &info, int32_t dim, int64_t expected,
                             int64_t got) {
  char shape[160];
  describeShape(info, shape, sizeof shape);
  const bool isLeast = expected < 0 && expected >= -(INT64_MAX / 2), isMost = expected < 0 && !isLeast;
  int64_t factor, offset;
  if (!isLeast && !isMost && isNoMultiple(info.dimTexts[dim], got, factor, offset))
    return failMultiple(info, dim, got, factor, offset);
  const int64_t number = isLeast ? -expected : isMost ? expected - INT64_MIN : expected;
  // The compiler has already reported which dimensions repeat.
  const bool isExact = !isLeast && !isMost, repeats = isExact && number != 1 && isRepeating(entry, info, dim);
  const bool isUnit = got == 1 && isExact && info.dims[dim] < 0;
  return fail(PERPEND_SHAPE_MISMATCH,
              "input '%.60s', dimension %d: expected %s%lld%s, got %lld; hint: its shape is %s%s", info.name, dim,
              isLeast  ? "at least "
              : isMost ? "at most "
                       : "",
              static_cast<long long>(number), repeats ? " or 1" : "", static_cast<long long>(got), shape,
              isUnit ? "; to repeat it, compile the model with this dimension as 1 (--dim)" : "");
}

perpend_status checkInput(const Entry &entry, const perpend_tensor_info &info, const perpend_tensor &input,
                          bool needsData) {
  if (input.type != info.type)
    return fail(PERPEND_TYPE_MISMATCH,
                "input '%.60s': type: expected %s, got %s; hint: convert the data before the run", info.name,
                perpend_type_name(info.type), perpend_type_name(input.type));
  if (input.rank != info.rank || (!input.shape && info.rank)) {
    char shape[160];
    describeShape(info, shape, sizeof shape);
    return fail(PERPEND_INVALID_ARGUMENT, "input '%.60s': rank: expected %d, got %d%s; hint: its shape is %s",
                info.name, info.rank, input.rank, input.shape ? "" : " and no shape", shape);
  }
  bool isEmpty = false;
  for (int32_t i = 0; i < info.rank; ++i) {
    if (input.shape[i] < 0)
      return fail(PERPEND_SHAPE_MISMATCH, "input '%.60s', dimension %d: expected at least 0, got %lld", info.name, i,
                  static_cast<long long>(input.shape[i]));
    if (info.dims[i] >= 0 && input.shape[i] != info.dims[i])
      return failDimension(entry, info, i, info.dims[i], input.shape[i]);
    isEmpty |= input.shape[i] == 0;
  }
  if (needsData && !input.data && !isEmpty)
    return fail(PERPEND_INVALID_ARGUMENT, "input '%.60s': expected data, got NULL; hint: set perpend_tensor.data",
                info.name);
  return PERPEND_OK;
}

// Copies the shapes, of states too; returns whether they equal those of the current binding.
bool recordShapes(perpend_session &session, const perpend_tensor *inputs, int32_t count) {
  bool isSame = session.isBound;
  for (int32_t i = 0; i < count; ++i) {
    int64_t *dims = session.inputDims[i];
    for (int32_t d = 0; d < inputs[i].rank; ++d) {
      isSame &= dims[d] == inputs[i].shape[d];
      dims[d] = inputs[i].shape[d];
    }
  }
  const EntryStates &states = session.model->tables.entry.states;
  if (session.states)
    isSame &= session.model->module->states->bind(session.states, states.entries, states.count,
                                                  session.inputDims + count) != 0;
  return isSame;
}

perpend_status failSize(const char *kind, const perpend_tensor_info &info) {
  return fail(PERPEND_OUT_OF_MEMORY, "%s '%.60s': its size does not fit 64 bits; hint: use smaller input dimensions",
              kind, info.name);
}

// isLeftOut may be NULL.
perpend_status sizeTensors(const TensorList &list, const char *kind, int64_t *const *dims, int64_t *bytes,
                           const bool *isLeftOut) {
  for (uint32_t i = 0; i < list.count; ++i)
    if (!(isLeftOut && isLeftOut[i]) && !tensorBytes(dims[i], list.tensors[i].rank, list.tensors[i].type, bytes[i]))
      return failSize(kind, list.tensors[i]);
  return PERPEND_OK;
}

// Fails with perpend_bind_error.requirement and its numbers; the text is cut where the next number may not fit.
perpend_status failRequirement(const char *text, const int64_t *symbols, int64_t got) {
  char filled[512];
  size_t used = 0;
  while (*text && used + sizeof "-9223372036854775808" <= sizeof filled) {
    if (*text != '{' || *++text == '{') {
      filled[used++] = *text++;
      continue;
    }
    char *end = nullptr;
    const int64_t number = strtoll(text, &end, 10);
    const int64_t value = end == text ? got : symbols[number];
    used += static_cast<size_t>(snprintf(filled + used, sizeof filled - used, "%lld", static_cast<long long>(value)));
    text = end + 1; // after '}'
  }
  filled[used] = 0;
  return fail(PERPEND_SHAPE_MISMATCH, "%s", filled);
}

perpend_status bindSymbols(perpend_session &session) {
  const Entry &entry = session.model->tables.entry;
  perpend_bind_error error{0, 0, -1, 0, nullptr};
  if (session.model->code.bind(session.inputDims, session.symbols, &error)) {
    bool isInRange = error.input >= 0 && static_cast<uint32_t>(error.input) < entry.inputs.count && error.dim >= 0 &&
                     error.dim < entry.inputs.tensors[error.input].rank;
    if (!isInRange)
      return failRequirement(error.requirement ? error.requirement : "inputs: their shapes do not fit together",
                             session.symbols, error.got);
    return failDimension(entry, entry.inputs.tensors[error.input], error.dim, error.expected, error.got);
  }
  session.model->code.sizes(session.symbols, session.bufferBytes, session.outputDims[0]);
  for (uint32_t i = 0; i < entry.outputs.count; ++i) {
    const int64_t *dims = session.outputDims[i], *end = dims + entry.outputs.tensors[i].rank;
    session.isFromData[i] = std::find(dims, end, PERPEND_EXTENT_FROM_DATA) != end;
  }
  return sizeTensors(entry.outputs, "output", session.outputDims, session.outputBytes, session.isFromData);
}

// Whether no buffer is larger than the one that the current offsets were computed for.
bool fitsPlan(const perpend_session &session) {
  const uint32_t count = session.model->tables.entry.bufferCount;
  bool fits = session.hasPlan;
  for (uint32_t i = 0; i < count; ++i)
    fits &= session.bufferBytes[i] >= 0 && session.bufferBytes[i] <= session.plannedBytes[i];
  return fits;
}

// Of the session's owner; a session that shares it may have lost it for lack of memory.
perpend_status reserveArena(perpend_session &session, int64_t bytes) {
  session.arenaBytes = bytes;
  return reserve(session.owner->arena, bytes);
}

// Computes offsets for buffers of plannedBytes, and makes the arena large enough.
perpend_status layOut(perpend_session &session) {
  const Entry &entry = session.model->tables.entry;
  const int64_t arenaBytes = planOffsets(session.plannedBytes, entry.lifetimes, static_cast<int32_t>(entry.bufferCount),
                                         session.offsets, static_cast<Strategy>(entry.strategy));
  if (arenaBytes < 0)
    return fail(PERPEND_OUT_OF_MEMORY,
                "model '%.60s': its intermediate values do not fit 64 bits of memory; hint: use "
                "smaller input dimensions",
                session.model->tables.name);
  return reserveArena(session, arenaBytes);
}

// Plans for the bound sizes. Buffers that have outgrown an earlier plan get half as much again, so that a session whose
// extents grow step by step plans a logarithmic number of times.
perpend_status planBuffers(perpend_session &session) {
  const uint32_t count = session.model->tables.entry.bufferCount;
  bool hasRoom = false;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t bytes = session.bufferBytes[i];
    if (session.hasPlan && bytes >= 0 && bytes <= session.plannedBytes[i])
      continue;
    const bool isRoomy = session.hasPlan && bytes <= INT64_MAX / 4;
    session.plannedBytes[i] = isRoomy ? bytes + bytes / 2 : bytes;
    hasRoom |= isRoomy;
  }
  perpend_status status = layOut(session);
  if (status != PERPEND_OK && hasRoom) {
    std::copy_n(session.bufferBytes, count, session.plannedBytes);
    status = layOut(session);
  }
  session.hasPlan = status == PERPEND_OK;
  return status;
}

} // namespace

perpend_status failInputSize(const perpend_tensor_info &info) { return failSize("input", info); }

perpend_status bindInputs(perpend_session &session, const perpend_tensor *inputs, int32_t count, bool needsData) {
  const TensorList &declared = session.model->tables.entry.inputs;
  if (count < 0 || static_cast<uint32_t>(count) != declared.count || (count && !inputs))
    return fail(PERPEND_INVALID_ARGUMENT,
                "model '%.60s': number of inputs: expected %u, got %d%s; hint: pass all inputs in "
                "the order of perpend_model_input",
                session.model->tables.name, declared.count, count, count && !inputs ? " and NULL" : "");
  for (int32_t i = 0; i < count; ++i) {
    perpend_status status = checkInput(session.model->tables.entry, declared.tensors[i], inputs[i], needsData);
    if (status != PERPEND_OK)
      return status;
  }
  if (recordShapes(session, inputs, count))
    return PERPEND_OK;
  session.isBound = session.isPlanned = false;
  perpend_status status = sizeTensors(declared, "input", session.inputDims, session.inputBytes, nullptr);
  if (status == PERPEND_OK)
    status = bindSymbols(session);
  session.isBound = status == PERPEND_OK;
  return status;
}

perpend_status prepareArena(perpend_session &session) {
  const Entry &entry = session.model->tables.entry;
  perpend_status status = PERPEND_OK;
  if (entry.arenaBytes >= 0)
    status = reserveArena(session, entry.arenaBytes);
  else if (!fitsPlan(session))
    status = planBuffers(session);
  else
    status = reserveArena(session, session.arenaBytes);
  if (status == PERPEND_OK)
    status = reserveRepeats(session);
  session.isPlanned = status == PERPEND_OK;
  return status;
}

} // namespace perpend::runtime
