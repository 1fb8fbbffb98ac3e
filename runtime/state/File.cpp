// States as bytes: a head, then for each state its name, type and extents, the number of its first row that is there,
// and its elements from that row on. Everything is little-endian, and every part takes a multiple of 8 bytes.
#include "Checksum.h"
#include "state/States.h"
#include <cstring>

namespace perpend::state {
namespace {

constexpr char magic[8] = {'P', 'P', 'S', 'T', 'A', 'T', 'E', '\n'};
constexpr uint32_t version = 2;

struct Head {
  char magic[8];
  uint32_t version, count;
  uint64_t bytes;              // of all
  uint32_t checksum, reserved; // CRC-32C of what follows the head
};

struct Part {
  uint32_t nameBytes, type, rank, reserved; // then name, extents and first row (int64_t), elements
};

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

uint64_t extentBytes(const State &state) { return static_cast<uint64_t>(state.rank) * sizeof(int64_t); }

uint64_t savedBytes(const State &state) {
  return sizeof(Part) + padded(strlen(state.name)) + extentBytes(state) + sizeof(int64_t) +
         padded(state.bytes() - state.firstByte());
}

class Writer {
public:
  explicit Writer(char *at) : at(at) {}
  void put(const void *bytes, uint64_t count) {
    memcpy(at, bytes, static_cast<size_t>(count));
    memset(at + count, 0, static_cast<size_t>(padded(count) - count));
    at += padded(count);
  }

private:
  char *at;
};

class Reader {
public:
  Reader(const char *at, uint64_t left) : at(at), left(left) {}
  // nullptr: there are not so many bytes.
  const char *take(uint64_t count) {
    if (count > left || padded(count) > left)
      return nullptr;
    const char *taken = at;
    at += padded(count);
    left -= padded(count);
    return taken;
  }
  bool isAtEnd() const { return left == 0; }

private:
  const char *at;
  uint64_t left;
};

int32_t failFile(const perpend_states &states, const char *what) {
  return refuse(states, PERPEND_CORRUPT,
                "states: %s; hint: pass all bytes that perpend_session_save wrote, as they are", what);
}

int32_t checkHead(const perpend_states &states, const char *data, uint64_t bytes) {
  Head head;
  if (bytes < sizeof head)
    return failFile(states, "they end within their head");
  memcpy(&head, data, sizeof head);
  if (memcmp(head.magic, magic, sizeof magic))
    return failFile(states, "these bytes are no saved states");
  if (head.version != version)
    return refuse(states, PERPEND_INCOMPATIBLE,
                  "states: version: expected %u, got %u; hint: another version of Perpend saved them", version,
                  head.version);
  if (head.bytes != bytes || head.reserved)
    return failFile(states, "some are missing, or there are more");
  if (head.checksum != runtime::crc32c(data + sizeof head, static_cast<size_t>(bytes - sizeof head)))
    return failFile(states, "their checksum is wrong");
  if (head.count != states.count)
    return refuse(states, PERPEND_INVALID_ARGUMENT,
                  "states: number: expected %u, got %u; hint: load states of this model", states.count, head.count);
  return PERPEND_OK;
}

// Compares one state with the model's; `extents` and `elements` point into the file, which has none of the first
// `skipped` bytes of the elements.
int32_t readPart(const perpend_states &states, const State &state, Reader &reader, const char *&extents,
                 size_t &skipped, const char *&elements) {
  Part part;
  const char *head = reader.take(sizeof part);
  if (!head)
    return failFile(states, "they end within a state");
  memcpy(&part, head, sizeof part);
  const char *name = reader.take(part.nameBytes);
  if (!name)
    return failFile(states, "they end within a name");
  if (part.nameBytes != strlen(state.name) || memcmp(name, state.name, part.nameBytes))
    return refuse(states, PERPEND_INVALID_ARGUMENT,
                  "states: expected '%.60s', got '%.*s'; hint: load states of this model", state.name,
                  static_cast<int>(part.nameBytes < 60 ? part.nameBytes : 60), name);
  if (part.type != state.record->type)
    return refuse(states, PERPEND_TYPE_MISMATCH, "state '%.60s': type: expected %s, got %s", state.name,
                  perpend_type_name(state.type()), perpend_type_name(static_cast<perpend_type>(part.type)));
  extents = part.rank == static_cast<uint32_t>(state.rank) ? reader.take(extentBytes(state)) : nullptr;
  if (!extents)
    return refuse(states, PERPEND_SHAPE_MISMATCH, "state '%.60s': rank: expected %d, got %u", state.name, state.rank,
                  part.rank);
  int64_t dims[PERPEND_MAX_RANK];
  memcpy(dims, extents, static_cast<size_t>(extentBytes(state)));
  for (uint32_t i = 0; i < part.rank; ++i) {
    const bool mayBeLess = i == state.facts->growing;
    if (dims[i] < 0 || dims[i] > state.capacity[i] || (!mayBeLess && dims[i] != state.capacity[i]))
      return refuse(states, PERPEND_SHAPE_MISMATCH, "state '%.60s', dimension %u: expected %s%lld, got %lld",
                    state.name, i, mayBeLess ? "at most " : "", static_cast<long long>(state.capacity[i]),
                    static_cast<long long>(dims[i]));
  }
  const char *row = reader.take(sizeof(int64_t));
  if (!row)
    return failFile(states, "they end within a state");
  int64_t first = 0;
  memcpy(&first, row, sizeof first);
  const int64_t read = state.grows() ? state.firstReadRow(dims[state.facts->growing]) : 0;
  if (first < 0 || first > read)
    return refuse(
        states, PERPEND_SHAPE_MISMATCH,
        "state '%.60s': expected rows from at most %lld on, got those from %lld on; hint: load states of this "
        "model",
        state.name, static_cast<long long>(read), static_cast<long long>(first));
  skipped = first ? static_cast<size_t>(first) * state.rowBytes() : 0;
  elements = reader.take(state.bytesOf(dims) - skipped);
  return elements ? int32_t{PERPEND_OK} : failFile(states, "they end within a state");
}

} // namespace

int32_t save(const perpend_states *states, void *data, int64_t capacityBytes, int64_t *sizeBytes) {
  if (states->isLost)
    return refuse(*states, PERPEND_STATE_LOST,
                  "states: a run that failed had begun to overwrite them; hint: "
                  "perpend_session_reset gives them values again");
  uint64_t bytes = sizeof(Head);
  for (uint32_t i = 0; i < states->count; ++i)
    bytes += savedBytes(states->states[i]);
  *sizeBytes = static_cast<int64_t>(bytes);
  if (!data)
    return PERPEND_OK;
  if (capacityBytes < *sizeBytes)
    return refuse(*states, PERPEND_INVALID_ARGUMENT, "states: expected room for %lld bytes, got %lld",
                  static_cast<long long>(*sizeBytes), static_cast<long long>(capacityBytes));
  Writer writer(static_cast<char *>(data) + sizeof(Head));
  for (uint32_t i = 0; i < states->count; ++i) {
    const State &state = states->states[i];
    const Part part{static_cast<uint32_t>(strlen(state.name)), state.record->type, static_cast<uint32_t>(state.rank),
                    0};
    writer.put(&part, sizeof part);
    writer.put(state.name, part.nameBytes);
    writer.put(state.dims, extentBytes(state));
    const int64_t first = state.firstRow();
    writer.put(&first, sizeof first);
    writer.put(state.now.data() + state.firstByte(), state.bytes() - state.firstByte());
  }
  Head head{{}, version, states->count, bytes, 0, 0};
  memcpy(head.magic, magic, sizeof magic);
  head.checksum = runtime::crc32c(static_cast<char *>(data) + sizeof head, static_cast<size_t>(bytes - sizeof head));
  memcpy(data, &head, sizeof head);
  return PERPEND_OK;
}

// All is compared before the first state changes.
int32_t load(perpend_states *states, const void *data, int64_t sizeBytes) {
  const auto *bytes = static_cast<const char *>(data);
  if (sizeBytes < 0)
    return failFile(*states, "their size is negative");
  if (int32_t status = checkHead(*states, bytes, static_cast<uint64_t>(sizeBytes)); status != PERPEND_OK)
    return status;
  for (int turn = 0; turn < 2; ++turn) {
    const bool writes = turn == 1;
    Reader reader(bytes + sizeof(Head), static_cast<uint64_t>(sizeBytes) - sizeof(Head));
    for (uint32_t i = 0; i < states->count; ++i) {
      State &state = states->states[i];
      const char *extents = nullptr, *elements = nullptr;
      size_t skipped = 0;
      if (int32_t status = readPart(*states, state, reader, extents, skipped, elements); status != PERPEND_OK)
        return status;
      if (!writes)
        continue;
      memcpy(state.dims, extents, static_cast<size_t>(extentBytes(state)));
      (void)state.now.release(0, skipped);
      state.forgotten = skipped;
      memcpy(state.now.data() + skipped, elements, state.bytes() - skipped);
    }
    if (!reader.isAtEnd())
      return failFile(*states, "there are bytes behind the last state");
  }
  states->isLost = false;
  return PERPEND_OK;
}

} // namespace perpend::state
