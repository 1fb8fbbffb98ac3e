// A growable array without exceptions: where memory runs out, it drops what is added and sets `Memory::failed`, which
// the caller reads once at the end.
#ifndef PERPEND_RUNTIME_TOKENIZER_ARRAY_H
#define PERPEND_RUNTIME_TOKENIZER_ARRAY_H
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace perpend::tokenizer {

struct Memory {
  bool failed = false;
};

// Allocates room for `count` elements of `bytes` bytes, or frees; not inlined, since there are many kinds of arrays.
bool resizeBlock(void *&block, size_t &capacity, size_t count, size_t bytes);

// T is trivial.
template <typename T> class Array {
public:
  explicit Array(Memory &owner) : memory(owner) {}
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { free(block); }

  T *data() { return static_cast<T *>(block); }
  const T *data() const { return static_cast<const T *>(block); }
  size_t size() const { return count; }
  T &operator[](size_t i) { return data()[i]; }
  const T &operator[](size_t i) const { return data()[i]; }
  T &back() { return data()[count - 1]; }

  bool reserve(size_t wanted) {
    if (wanted <= capacity || resizeBlock(block, capacity, wanted, sizeof(T)))
      return true;
    memory.failed = true;
    return false;
  }
  void push(const T &value) {
    if (count < capacity || reserve(count + 1))
      data()[count++] = value;
  }
  void append(const T *values, size_t added) {
    if (added && added < SIZE_MAX - count && reserve(count + added)) {
      memcpy(data() + count, values, added * sizeof(T));
      count += added;
    }
  }
  void resize(size_t size) { // upwards: zeroed
    if (size > count && reserve(size))
      memset(data() + count, 0, (size - count) * sizeof(T));
    if (size <= capacity)
      count = size;
  }
  void clear() { count = 0; }
  void swap(Array &other) { // of the same owner
    const auto mine = block;
    const size_t size = count, room = capacity;
    block = other.block, count = other.count, capacity = other.capacity;
    other.block = mine, other.count = size, other.capacity = room;
  }
  // The caller frees the memory.
  T *take() {
    T *taken = data();
    block = nullptr;
    count = capacity = 0;
    return taken;
  }

private:
  Memory &memory;
  void *block = nullptr;
  size_t count = 0, capacity = 0;
};

} // namespace perpend::tokenizer
#endif
