// A sequence as bytes: a head, the tokens, then the states as perpend_session_save writes them. All is little-endian.
#include "Checksum.h"
#include "Errors.h"
#include "Model.h"
#include "llm/Sequence.h"
#include <cstring>

using perpend::runtime::crc32c;
using perpend::runtime::fail;
using perpend::runtime::failAllocation;

namespace perpend::llm {
namespace {

constexpr char magic[8] = {'P', 'P', 'T', 'E', 'X', 'T', 'S', '\n'};
constexpr uint32_t version = 2;

struct Head {
  char magic[8];
  uint32_t version, checksum; // CRC-32C of the head behind it and of the tokens; states have their own
  uint64_t bytes;             // of all
  uint32_t model, reserved;   // CRC-32C of the descriptor
  int64_t tokenCount, cachedCount;
};
constexpr size_t checkedFrom = offsetof(Head, bytes);

const perpend_model &firstOf(const perpend_llm &llm) { return llm.single ? *llm.single : *llm.chunk; }

uint32_t modelOf(const perpend_llm &llm) {
  const char *text = perpend_model_descriptor(&firstOf(llm));
  return crc32c(text, strlen(text));
}

int64_t padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }
int64_t tokenBytes(int64_t count) { return padded(count * static_cast<int64_t>(sizeof(int32_t))); }

perpend_status failBytes(const char *what) {
  return fail(PERPEND_CORRUPT, "sequence: %s; hint: pass all bytes that perpend_llm_sequence_save wrote, as they are",
              what);
}

perpend_status readHead(const perpend_llm_sequence &sequence, const char *data, int64_t sizeBytes, Head &head) {
  constexpr auto headBytes = static_cast<int64_t>(sizeof head);
  if (sizeBytes < headBytes)
    return failBytes("the bytes end within their head");
  memcpy(&head, data, sizeof head);
  if (memcmp(head.magic, magic, sizeof magic))
    return failBytes("these bytes are no saved sequence");
  if (head.version != version)
    return fail(PERPEND_INCOMPATIBLE,
                "sequence: version: expected %u, got %u; hint: another version of Perpend saved it", version,
                head.version);
  const int64_t left = sizeBytes - headBytes;
  if (head.bytes != static_cast<uint64_t>(sizeBytes) || head.tokenCount < 0 || head.tokenCount > left / 4 ||
      tokenBytes(head.tokenCount) > left || head.cachedCount < 0 || head.cachedCount > head.tokenCount)
    return failBytes("some bytes are missing, or there are more");
  if (head.checksum !=
      crc32c(data + checkedFrom, sizeof head - checkedFrom + static_cast<size_t>(tokenBytes(head.tokenCount))))
    return failBytes("the checksum is wrong");
  if (head.model != modelOf(sequence.llm))
    return fail(PERPEND_INCOMPATIBLE, "sequence: expected one of this model, got one of another, or of the same "
                                      "checkpoint compiled otherwise; hint: begin a new one");
  return PERPEND_OK;
}

/// Whether states that grow have this length, where the bytes are states of this model (runtime/state/File.cpp):
/// perpend_session_load, which overwrites them, takes any length.
bool haveLength(const perpend_model &model, const char *data, int64_t sizeBytes, int64_t length) {
  constexpr int64_t headBytes = 32, partBytes = 16;
  int64_t at = headBytes;
  const perpend_tables *tables = model.module->tables;
  const auto *facts = reinterpret_cast<const perpend_state_record *>(reinterpret_cast<const char *>(tables) +
                                                                     tables->stateFacts.position);
  for (int32_t i = 0; i < perpend_model_state_count(&model); ++i) {
    const perpend_tensor_info &info = *perpend_model_state(&model, i);
    at += partBytes + padded(static_cast<int64_t>(strlen(info.name)));
    int64_t bytes = perpend_type_size_bytes(info.type);
    for (int32_t axis = 0; axis < info.rank; ++axis, at += static_cast<int64_t>(sizeof(int64_t))) {
      int64_t extent = 0;
      if (at > sizeBytes - static_cast<int64_t>(sizeof extent))
        return false;
      memcpy(&extent, data + at, sizeof extent);
      if (extent < 0 || extent > info.dims[axis] ||
          (static_cast<uint32_t>(axis) == facts[i].growing && extent != length))
        return false;
      bytes *= extent;
    }
    int64_t first = 0; // row that is there
    if (at > sizeBytes - static_cast<int64_t>(sizeof first))
      return false;
    memcpy(&first, data + at, sizeof first);
    if (first < 0 || first > length)
      return false; // File.cpp checks it further
    at += static_cast<int64_t>(sizeof first) + padded(first ? bytes / length * (length - first) : bytes);
  }
  return true;
}

/// Where a run that failed has left states without values, they are computed again when logits are needed.
perpend_status sizeOfStates(perpend_llm_sequence &sequence, int64_t &sizeBytes) {
  perpend_status status = cutStates(sequence);
  if (!status)
    status = perpend_session_save(stateSession(sequence), nullptr, 0, &sizeBytes);
  if (status != PERPEND_STATE_LOST)
    return status;
  forgetStates(sequence);
  status = cutStates(sequence);
  return status ? status : perpend_session_save(stateSession(sequence), nullptr, 0, &sizeBytes);
}

} // namespace
} // namespace perpend::llm

using namespace perpend::llm;

perpend_status perpend_llm_sequence_save(perpend_llm_sequence *sequence, void *data, int64_t capacityBytes,
                                         int64_t *sizeBytes) {
  if (!sequence || !sizeBytes)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_save: expected a sequence and a place for the size, got NULL");
  int64_t stateBytes = 0;
  if (perpend_status status = sizeOfStates(*sequence, stateBytes))
    return status;
  const auto count = static_cast<int64_t>(sequence->tokens.size());
  const int64_t before = static_cast<int64_t>(sizeof(Head)) + tokenBytes(count), bytes = before + stateBytes;
  *sizeBytes = bytes;
  if (!data)
    return PERPEND_OK;
  if (capacityBytes < bytes)
    return fail(PERPEND_INVALID_ARGUMENT, "sequence: expected room for %lld bytes, got %lld",
                static_cast<long long>(bytes), static_cast<long long>(capacityBytes));
  auto *to = static_cast<char *>(data);
  memset(to, 0, static_cast<size_t>(before));
  Head head{{}, version, 0, static_cast<uint64_t>(bytes), modelOf(sequence->llm), 0, count, sequence->cachedCount};
  memcpy(head.magic, magic, sizeof magic);
  if (count)
    memcpy(to + sizeof head, sequence->tokens.data(), static_cast<size_t>(count) * sizeof(int32_t));
  memcpy(to, &head, sizeof head);
  head.checksum = crc32c(to + checkedFrom, static_cast<size_t>(before) - checkedFrom);
  memcpy(to, &head, sizeof head);
  return perpend_session_save(stateSession(*sequence), to + before, stateBytes, &stateBytes);
}

perpend_status perpend_llm_sequence_load(perpend_llm_sequence *sequence, const void *data, int64_t sizeBytes) {
  if (!sequence || !data)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_load: expected a sequence and bytes, got NULL");
  const auto *from = static_cast<const char *>(data);
  Head head;
  if (perpend_status status = readHead(*sequence, from, sizeBytes, head))
    return status;
  const auto count = static_cast<size_t>(head.tokenCount);
  Memory memory;
  Array<int32_t> tokens(memory);
  tokens.resize(count);
  if (memory.failed || !sequence->tokens.reserve(count)) {
    sequence->memory.failed = false;
    return failAllocation(head.tokenCount * static_cast<int64_t>(sizeof(int32_t)));
  }
  if (count)
    memcpy(tokens.data(), from + sizeof head, count * sizeof(int32_t));
  // Bytes with the right checksums and model that are wrong all the same were made otherwise.
  if (checkTokens(*sequence, 0, tokens.data(), head.tokenCount))
    return failBytes("it has tokens that the model does not know, or more than it has room for");
  const auto before = static_cast<int64_t>(sizeof head) + tokenBytes(head.tokenCount);
  const char *states = from + before;
  if (head.cachedCount && !haveLength(firstOf(sequence->llm), states, sizeBytes - before, head.cachedCount))
    return failBytes("its states are not those of its tokens");
  if (perpend_status status = perpend_session_load(stateSession(*sequence), states, sizeBytes - before))
    return status == PERPEND_INCOMPATIBLE ? status : PERPEND_CORRUPT; // the message says more
  // What follows needs no memory.
  forgetStates(*sequence);
  perpend_status status = perpend_llm_sequence_set(sequence, nullptr, 0);
  if (!status)
    status = perpend_llm_sequence_set(sequence, tokens.data(), head.tokenCount);
  if (!status && head.cachedCount)
    sequence->cachedCount = sequence->stateLength = head.cachedCount;
  return status;
}
