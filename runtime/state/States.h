// The states of a session: values that runs read and update. Implements perpend_state_functions (perpend_module.h).
#ifndef PERPEND_RUNTIME_STATE_STATES_H
#define PERPEND_RUNTIME_STATE_STATES_H
#include "include/perpend_module.h"
#include <cstddef>

namespace perpend::state {

// Bytes for a value of the largest size. Large memories are address space until they are written.
class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory();

  // False: there is no memory. All bytes are 0.
  bool allocate(size_t bytes);
  // All bytes are 0 again; mapped ones are given back.
  void clear();
  // Gives memory of [from, to) back, in multiples of 64 KiB; its bytes are 0. Returns where the rest begins: `from` if
  // there was nothing to give back.
  size_t release(size_t from, size_t to);
  void exchange(Memory &other);
  char *data() const { return bytes; }

private:
  char *bytes = nullptr;
  size_t size = 0;
};

struct State {
  const perpend_tensor_record *record = nullptr;
  const perpend_state_record *facts = nullptr;
  const char *name = nullptr;
  const int64_t *capacity = nullptr; // the largest extents
  int64_t *dims = nullptr;           // the extents now
  int32_t rank = 0;
  size_t mostBytes = 0;
  Memory now, next;         // next: only of a state that runs compute as a whole
  char *borrowed = nullptr; // the caller's memory, in place of `now`
  int64_t ownLength = 0;    // meanwhile, the length of the value in `now`, if it grows
  size_t forgotten = 0;     // so many bytes at the start are given back, as no run reads them any more

  bool grows() const { return facts->growing < static_cast<uint32_t>(rank); }
  int64_t length() const { return dims[facts->growing]; }
  size_t rowBytes() const;
  // The first row of which nothing is forgotten, and where it lies.
  int64_t firstRow() const { return forgotten ? static_cast<int64_t>((forgotten - 1) / rowBytes() + 1) : 0; }
  size_t firstByte() const { return forgotten ? static_cast<size_t>(firstRow()) * rowBytes() : 0; }
  // The first row that runs read when the state has this length.
  int64_t firstReadRow(int64_t length) const {
    return facts->keptRows && length > facts->keptRows ? length - facts->keptRows : 0;
  }
  size_t bytes() const;
  size_t bytesOf(const int64_t *extents) const;
  perpend_type type() const { return static_cast<perpend_type>(record->type); }
};

// Bytes of one element of a type that a state may have.
int64_t elementBytes(perpend_type type);

} // namespace perpend::state

struct perpend_states {
  const perpend_module *module = nullptr;
  const uint8_t *weights = nullptr;
  int32_t (*fail)(int32_t status, const char *text) = nullptr;
  perpend::state::State *states = nullptr;
  int64_t *dims = nullptr; // of all states
  uint32_t count = 0;
  bool isLost = false; // a run that failed had begun to overwrite one
};

namespace perpend::state {
__attribute__((format(printf, 3, 4))) int32_t refuse(const perpend_states &states, perpend_status status,
                                                     const char *format, ...);

// File.cpp: the states as bytes.
int32_t save(const perpend_states *states, void *data, int64_t capacityBytes, int64_t *sizeBytes);
int32_t load(perpend_states *states, const void *data, int64_t sizeBytes);
} // namespace perpend::state
#endif
