// sequence.split(x, sizes [k]): parts of x along an axis, as a list. Parameters: axis, part (when there are no sizes:
// the extent of all parts but perhaps the last), keepsAxis (0: each part has extent 1, which disappears). Source: ONNX
// SplitToSequence-24.
#include "library/Arguments.h"
#include "library/ListTable.h"

using namespace perpend::library;

namespace {

struct Split {
  perpend_call *call;
  const perpend_tensor &x;
  int64_t axis, outer = 1, innerBytes;
  bool keepsAxis;
  int64_t start = 0, list = 0;
  char *memory = nullptr;

  // Appends the part of that extent; false without memory.
  bool add(int64_t extent) {
    int64_t shape[PERPEND_MAX_RANK];
    int32_t rank = 0;
    for (int32_t i = 0; i < x.rank; ++i)
      if (i != axis || keepsAxis)
        shape[rank++] = i == axis ? extent : x.shape[i];
    int64_t rowBytes = x.shape[axis] * innerBytes, partBytes = extent * innerBytes;
    for (int64_t i = 0; i < outer && partBytes; ++i)
      memcpy(memory + i * partBytes, static_cast<const char *>(x.data) + i * rowBytes + start * innerBytes,
             static_cast<size_t>(partBytes));
    perpend_tensor part{memory, shape, rank, x.type};
    list = perpend_call_list_insert(call, list, INT64_MAX, &part);
    start += extent;
    return list >= 0;
  }
};

// Sizes that are not negative and add up to the extent.
bool addUp(const int64_t *sizes, int64_t count, int64_t extent) {
  for (int64_t i = 0; i < count; ++i) {
    if (sizes[i] < 0 || sizes[i] > extent)
      return false;
    extent -= sizes[i];
  }
  return extent == 0;
}

// Appends all parts: of these sizes, or of one size with a smaller last part.
bool addParts(Split &split, const int64_t *sizes, int64_t count, bool isUniform, int64_t extent) {
  split.memory = static_cast<char *>(malloc(static_cast<size_t>(elementBytes(split.x) + 1)));
  bool fits = split.memory != nullptr;
  for (int64_t i = 0; fits && i < count; ++i)
    fits = split.add(sizes[i]);
  while (fits && isUniform && split.start < extent)
    fits = split.add(*sizes < extent - split.start ? *sizes : extent - split.start);
  free(split.memory);
  return fits;
}

} // namespace

extern "C" perpend_status perpend_sequence_split(perpend_call *call) {
  const perpend_tensor &x = call->inputs[0];
  Split split{call, x, perpend_call_integer(call, "axis", 0), 1, 0, perpend_call_integer(call, "keepsAxis", 1) != 0};
  perpend_tensor rest{nullptr, x.shape + split.axis + 1, x.rank - static_cast<int32_t>(split.axis) - 1, x.type};
  split.innerBytes = elementBytes(rest);
  for (int64_t i = 0; i < split.axis; ++i)
    split.outer *= x.shape[i];
  int64_t extent = x.shape[split.axis], part = perpend_call_integer(call, "part", 1);
  bool hasSizes = call->inputCount > 1;
  const int64_t *sizes = hasSizes ? wordsOf(call->inputs[1]) : &part;
  bool isUniform = !hasSizes || call->inputs[1].rank == 0; // a single size is that of every part
  int64_t count = isUniform ? 0 : elementCount(call->inputs[1]);
  if (isUniform ? *sizes < 1 : !addUp(sizes, count, extent))
    return perpend_call_fail(call, "the sizes of the parts do not add up to the extent %lld",
                             static_cast<long long>(extent));
  auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, nullptr, 0));
  if (!result || !addParts(split, sizes, count, isUniform, extent))
    return PERPEND_OUT_OF_MEMORY;
  *result = split.list;
  return PERPEND_OK;
}
