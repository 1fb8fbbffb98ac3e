// Inputs with an extent of 1 instead of the model's, which are repeated before a run.
#include "Session.h"
#include "Types.h"
#include <cstring>

namespace perpend::runtime {
namespace {

struct Copy {
  const int64_t *from; // extents of the input, 1 where `to` differs
  const int64_t *to;
  int32_t blockDim; // from this dimension on both agree
  size_t blockBytes;
  const char *source;
  char *target;
};

void copyFrom(Copy &copy, int32_t dim) {
  if (dim == copy.blockDim) {
    memcpy(copy.target, copy.source, copy.blockBytes);
    copy.source += copy.blockBytes;
    copy.target += copy.blockBytes;
    return;
  }
  for (int64_t i = 0; i < copy.from[dim]; ++i) {
    char *start = copy.target;
    copyFrom(copy, dim + 1);
    const auto bytes = static_cast<size_t>(copy.target - start);
    for (int64_t repetition = copy.from[dim]; repetition < copy.to[dim]; ++repetition, copy.target += bytes)
      memcpy(copy.target, start, bytes);
  }
}

// Examines the entries of `repeats` from `first` on that belong to the same input: whether it must be repeated, and to
// which extents.
bool extentsOf(const perpend_session &session, uint32_t first, int64_t *to) {
  const RepeatList &repeats = session.model->tables.entry.repeats;
  const uint32_t input = repeats.entries[first].input;
  const int64_t *from = session.inputDims[input];
  memcpy(to, from, static_cast<size_t>(session.model->tables.entry.inputs.tensors[input].rank) * sizeof *to);
  bool isRepeated = false;
  for (uint32_t i = first; i < repeats.count && repeats.entries[i].input == input; ++i) {
    const uint32_t dim = repeats.entries[i].dim;
    if (from[dim] == 1)
      to[dim] = session.symbols[repeats.entries[i].symbol];
    isRepeated |= to[dim] != from[dim];
  }
  return isRepeated;
}

template <typename Action> perpend_status forEachRepeated(perpend_session &session, Action action) {
  const RepeatList &repeats = session.model->tables.entry.repeats;
  perpend_status status = PERPEND_OK;
  for (uint32_t i = 0; i < repeats.count && status == PERPEND_OK; ++i) {
    int64_t to[PERPEND_MAX_RANK];
    const uint32_t input = repeats.entries[i].input;
    if ((i == 0 || repeats.entries[i - 1].input != input) && extentsOf(session, i, to))
      status = action(input, to);
  }
  return status;
}

} // namespace

perpend_status reserveRepeats(perpend_session &session) {
  const TensorList &inputs = session.model->tables.entry.inputs;
  return forEachRepeated(session, [&](uint32_t input, const int64_t *to) {
    int64_t bytes = 0;
    if (!tensorBytes(to, inputs.tensors[input].rank, runType(inputs.tensors[input].type), bytes))
      return failInputSize(inputs.tensors[input]);
    return reserve(session.repeated[input], bytes);
  });
}

void repeatInputs(perpend_session &session) {
  const TensorList &inputs = session.model->tables.entry.inputs;
  forEachRepeated(session, [&](uint32_t input, const int64_t *to) {
    const perpend_tensor_info &info = inputs.tensors[input];
    const int64_t *from = session.inputDims[input];
    Copy copy{from,
              to,
              info.rank,
              static_cast<size_t>(perpend_type_size_bytes(runType(info.type))),
              static_cast<const char *>(session.inputPointers[input]),
              static_cast<char *>(session.repeated[input].data)};
    bool isEmpty = false;
    for (int32_t dim = 0; dim < info.rank; ++dim)
      isEmpty |= to[dim] == 0;
    for (; !isEmpty && from[copy.blockDim - 1] == to[copy.blockDim - 1]; --copy.blockDim)
      copy.blockBytes *= static_cast<size_t>(to[copy.blockDim - 1]);
    if (!isEmpty)
      copyFrom(copy, 0);
    session.inputPointers[input] = session.repeated[input].data;
    return PERPEND_OK;
  });
}

} // namespace perpend::runtime
