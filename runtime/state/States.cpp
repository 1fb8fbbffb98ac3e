// Memory of states, and what a run does to them.
#include "state/States.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <utility>

namespace perpend::state {

//===-- Memory ----------------------------------------------------------------------------------------------------===//

#if defined(__linux__)
// Smaller memories come from malloc: a mapping takes whole pages.
constexpr size_t mappedBytes = size_t{1} << 17;

static char *mapZeros(size_t size) {
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<char *>(mapped);
}
static void unmap(char *bytes, size_t size) { munmap(bytes, size); }
static bool forget(char *bytes, size_t size) { return !madvise(bytes, size, MADV_DONTNEED); }
#else
constexpr size_t mappedBytes = SIZE_MAX; // nothing is mapped

static char *mapZeros(size_t) { return nullptr; }
static void unmap(char *, size_t) {}
static bool forget(char *, size_t) { return false; }
#endif

static size_t roomFor(size_t bytes) { return (bytes ? bytes + 63 : 64) / 64 * 64; }

bool Memory::allocate(size_t count) {
  if (count > SIZE_MAX / 2)
    return false;
  size = roomFor(count);
  if (size < mappedBytes) {
    bytes = static_cast<char *>(aligned_alloc(PERPEND_ALIGNMENT, size));
    if (bytes)
      memset(bytes, 0, size);
    return bytes != nullptr;
  }
  bytes = mapZeros(size);
  return bytes != nullptr;
}

Memory::~Memory() {
  if (!bytes)
    return;
  if (size < mappedBytes)
    free(bytes);
  else
    unmap(bytes, size);
}

void Memory::clear() {
  if (!bytes)
    return;
  if (size < mappedBytes || !forget(bytes, size))
    memset(bytes, 0, size);
}

size_t Memory::release(size_t from, size_t to) {
  constexpr size_t unit = size_t{1} << 16; // a multiple of a page's size, and worth a call of the system
  to = to / unit * unit;
  if (size < mappedBytes || from >= to)
    return from;
  const size_t begin = from / unit * unit;
  return forget(bytes + begin, to - begin) ? to : from;
}

void Memory::exchange(Memory &other) {
  std::swap(bytes, other.bytes);
  std::swap(size, other.size);
}

//===-- States ----------------------------------------------------------------------------------------------------===//

int64_t elementBytes(perpend_type type) { return perpend_type_size_bytes(type); }

size_t State::bytesOf(const int64_t *extents) const {
  size_t product = static_cast<size_t>(elementBytes(type()));
  for (int32_t i = 0; i < rank; ++i)
    product *= static_cast<size_t>(extents[i]); // at most that of the capacity, which fits
  return product;
}

size_t State::bytes() const { return bytesOf(dims); }

size_t State::rowBytes() const {
  size_t product = static_cast<size_t>(elementBytes(type()));
  for (int32_t i = static_cast<int32_t>(facts->growing) + 1; i < rank; ++i)
    product *= static_cast<size_t>(dims[i]);
  return product;
}

int32_t refuse(const perpend_states &states, perpend_status status, const char *format, ...) {
  char text[500];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return states.fail(status, text);
}

namespace {

void destroy(perpend_states *states) {
  for (uint32_t i = 0; states->states && i < states->count; ++i)
    states->states[i].~State();
  free(states->states);
  free(states->dims);
  free(states);
}

// The first value: that of the weights, or zeros; of a growing state without one, nothing.
void setFirst(const perpend_states &states, State &state) {
  const perpend_state_record &facts = *state.facts;
  if (!state.grows())
    state.now.clear();
  memcpy(state.dims, state.capacity, static_cast<size_t>(state.rank) * sizeof(int64_t));
  if (facts.initialBytes)
    memcpy(state.now.data(), states.weights + facts.initialOffset, static_cast<size_t>(facts.initialBytes));
  if (!state.grows())
    return;
  const size_t row = state.rowBytes();
  state.dims[facts.growing] = row ? static_cast<int64_t>(facts.initialBytes / row) : 0;
  state.forgotten = 0;
}

// Gives the memory of rows back that no run reads any more. Some are kept all the same, so that the state may be cut
// back a little.
void forgetRows(State &state) {
  constexpr int64_t spareRows = 256;
  const int64_t first = state.facts->keptRows ? state.firstReadRow(state.length()) - spareRows : 0;
  if (first > 0 && !state.borrowed)
    state.forgotten = state.now.release(state.forgotten, static_cast<size_t>(first) * state.rowBytes());
}

int32_t reset(perpend_states *states) {
  for (uint32_t i = 0; i < states->count; ++i)
    setFirst(*states, states->states[i]);
  states->isLost = false;
  return PERPEND_OK;
}

// Whether the facts fit the state and the weights. The runtime has checked all else in the tables.
bool isValid(const perpend_states &states, const State &state) {
  const perpend_state_record &facts = *state.facts;
  const uint64_t weightsBytes = states.module->weightsBytes;
  size_t bytes = static_cast<size_t>(perpend_type_size_bytes(state.type()));
  bool fits = state.type() < PERPEND_STRING && facts.growing <= static_cast<uint32_t>(state.rank);
  for (int32_t i = 0; i < state.rank; ++i) {
    fits &= state.capacity[i] >= 0 && state.capacity[i] <= PTRDIFF_MAX &&
            !__builtin_mul_overflow(bytes, static_cast<size_t>(state.capacity[i]), &bytes);
    fits &= !(state.grows() && static_cast<uint32_t>(i) < facts.growing) || state.capacity[i] == 1;
  }
  return fits && facts.initialBytes <= bytes && facts.initialBytes <= weightsBytes &&
         facts.initialOffset <= weightsBytes - facts.initialBytes;
}

bool build(perpend_states &states) {
  const auto *base = reinterpret_cast<const char *>(states.module->tables);
  const perpend_records list = states.module->tables->states;
  const auto *records = reinterpret_cast<const perpend_tensor_record *>(base + list.position);
  const auto *facts = reinterpret_cast<const perpend_state_record *>(base + states.module->tables->stateFacts.position);
  size_t ranks = 0;
  for (uint32_t i = 0; i < list.count; ++i)
    ranks += static_cast<size_t>(records[i].rank);
  states.states = static_cast<State *>(calloc(list.count, sizeof(State)));
  states.dims = static_cast<int64_t *>(calloc(ranks + 1, sizeof(int64_t)));
  if (!states.states || !states.dims || states.module->tables->stateFacts.count != list.count)
    return false;
  int64_t *dims = states.dims;
  for (uint32_t i = 0; i < list.count; ++i) {
    State &state = *new (&states.states[i]) State();
    ++states.count;
    state.record = &records[i];
    state.facts = &facts[i];
    state.name = base + records[i].name;
    state.rank = records[i].rank;
    state.capacity = reinterpret_cast<const int64_t *>(base + records[i].dims);
    state.dims = dims;
    dims += state.rank;
    if (!isValid(states, state))
      return false;
    state.mostBytes = state.bytesOf(state.capacity);
    if (!state.now.allocate(state.mostBytes))
      return false;
  }
  return reset(&states) == PERPEND_OK;
}

perpend_states *create(const perpend_module *module, const uint8_t *weights,
                       int32_t (*fail)(int32_t status, const char *text)) {
  void *memory = calloc(1, sizeof(perpend_states));
  if (!memory)
    return nullptr;
  auto *states = new (memory) perpend_states();
  states->module = module;
  states->weights = weights;
  states->fail = fail;
  if (build(*states))
    return states;
  destroy(states);
  return nullptr;
}

int32_t bind(const perpend_states *states, const perpend_entry_state_record *list, uint32_t count,
             int64_t *const *dims) {
  bool isSame = true;
  for (uint32_t i = 0; i < count; ++i) {
    const State &state = states->states[list[i].state];
    const size_t bytes = static_cast<size_t>(state.rank) * sizeof(int64_t);
    isSame &= !memcmp(dims[i], state.dims, bytes);
    memcpy(dims[i], state.dims, bytes);
  }
  return isSame;
}

int32_t begin(perpend_states *states, const perpend_entry_state_record *list, uint32_t count, const void **inputs,
              void **outputs) {
  if (states->isLost)
    return refuse(*states, PERPEND_STATE_LOST,
                  "states: a run that failed had begun to overwrite them; hint: perpend_session_reset or "
                  "perpend_session_load gives them values again");
  for (uint32_t i = 0; i < count; ++i) {
    State &state = states->states[list[i].state];
    const bool isComputed = list[i].update == PERPEND_UPDATE_COMPUTED;
    if (isComputed && !state.next.data() && !state.next.allocate(state.mostBytes))
      return refuse(*states, PERPEND_OUT_OF_MEMORY, "state '%.60s': could not allocate %zu bytes for its next value",
                    state.name, state.mostBytes);
    char *now = state.borrowed ? state.borrowed : state.now.data();
    inputs[i] = now;
    outputs[i] = isComputed ? state.next.data() : now;
  }
  for (uint32_t i = 0; i < count; ++i)
    states->isLost |= list[i].update == PERPEND_UPDATE_WRITTEN; // unless the run succeeds
  return PERPEND_OK;
}

void end(perpend_states *states, const perpend_entry_state_record *list, uint32_t count, int32_t succeeded,
         const int64_t *const *dims) {
  if (!succeeded)
    return;
  states->isLost = false;
  for (uint32_t i = 0; i < count; ++i) {
    State &state = states->states[list[i].state];
    if (state.grows())
      state.dims[state.facts->growing] = dims[i][state.facts->growing];
    if (list[i].update == PERPEND_UPDATE_COMPUTED && state.borrowed)
      memcpy(state.borrowed, state.next.data(), state.bytes());
    else if (list[i].update == PERPEND_UPDATE_COMPUTED)
      state.now.exchange(state.next);
    else if (state.grows())
      forgetRows(state);
  }
}

int32_t borrow(perpend_states *states, int32_t index, void *data, const int64_t *dims) {
  if (index < 0 || static_cast<uint32_t>(index) >= states->count)
    return refuse(*states, PERPEND_INVALID_ARGUMENT, "state index: expected fewer than %u, got %d", states->count,
                  index);
  State &state = states->states[index];
  bool fits = true;
  for (int32_t i = 0; data && i < state.rank; ++i)
    fits &= state.facts->growing == static_cast<uint32_t>(i) ? dims[i] >= 0 && dims[i] <= state.capacity[i]
                                                             : dims[i] == state.capacity[i];
  if (!fits)
    return refuse(*states, PERPEND_INVALID_ARGUMENT, "state '%.60s': the caller's memory has other extents",
                  state.name);
  if (state.grows()) {
    int64_t &length = state.dims[state.facts->growing];
    state.ownLength = state.borrowed ? state.ownLength : length;
    length = data ? dims[state.facts->growing] : state.ownLength;
  }
  states->isLost &= !state.borrowed; // what was overwritten is the caller's
  state.borrowed = static_cast<char *>(data);
  return PERPEND_OK;
}

int32_t copy(perpend_states *states, const perpend_states *from) {
  for (uint32_t i = 0; i < states->count; ++i) {
    State &state = states->states[i];
    const State &other = from->states[i];
    memcpy(state.dims, other.dims, static_cast<size_t>(state.rank) * sizeof(int64_t));
    state.forgotten = other.firstByte();
    memcpy(state.now.data() + state.forgotten, other.now.data() + state.forgotten, state.bytes() - state.forgotten);
  }
  states->isLost = from->isLost;
  return PERPEND_OK;
}

int32_t truncate(perpend_states *states, int64_t length) {
  bool grow = false;
  for (uint32_t i = 0; i < states->count; ++i) {
    const State &state = states->states[i];
    if (!state.grows())
      continue;
    grow = true;
    const int64_t has = state.dims[state.facts->growing];
    if (length < 0 || length > has)
      return refuse(*states, PERPEND_INVALID_ARGUMENT, "state '%.60s': length: expected 0 to %lld, got %lld",
                    state.name, static_cast<long long>(has), static_cast<long long>(length));
    if (length && length < has && state.firstReadRow(length) < state.firstRow())
      return refuse(
          *states, PERPEND_STATE_LOST,
          "state '%.60s': length: expected 0 or at least %lld, got %lld, of which the rows that runs read are "
          "forgotten; hint: perpend_session_reset, and compute them again",
          state.name, static_cast<long long>(state.firstRow() + state.facts->keptRows), static_cast<long long>(length));
  }
  if (!grow)
    return refuse(*states, PERPEND_INVALID_ARGUMENT,
                  "perpend_session_truncate: expected a state that grows, got none; hint: perpend_session_reset");
  for (uint32_t i = 0; i < states->count; ++i)
    if (State &state = states->states[i]; state.grows()) {
      state.dims[state.facts->growing] = length;
      state.forgotten = length ? state.forgotten : 0;
    }
  return PERPEND_OK;
}

int32_t view(perpend_states *states, int32_t index, perpend_tensor *tensor) {
  if (index < 0 || static_cast<uint32_t>(index) >= states->count)
    return refuse(*states, PERPEND_INVALID_ARGUMENT, "state index: expected fewer than %u, got %d", states->count,
                  index);
  const State &state = states->states[index];
  *tensor = {state.now.data(), state.dims, state.rank, state.type()};
  return PERPEND_OK;
}

} // namespace
} // namespace perpend::state

using namespace perpend::state;

extern "C" __attribute__((visibility("hidden"))) const perpend_state_functions perpend_state_functions_v1 = {
    create, destroy, bind, begin, end, reset, copy, truncate, save, load, view, borrow};
