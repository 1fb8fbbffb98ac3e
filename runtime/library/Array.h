// A growing array of a trivial type. Elements move when it grows.
#ifndef PERPEND_RUNTIME_LIBRARY_ARRAY_H
#define PERPEND_RUNTIME_LIBRARY_ARRAY_H
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace perpend::library {

template <typename T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { free(elements); }

  int64_t count() const { return used; }
  T *data() { return elements; }
  const T *data() const { return elements; }
  T &operator[](int64_t i) { return elements[i]; }
  const T &operator[](int64_t i) const { return elements[i]; }
  void shrink(int64_t count) { used = count; }
  void swap(Array &other) {
    T *theirs = other.elements;
    int64_t theirCount = other.used, theirCapacity = other.capacity;
    other.elements = elements, other.used = used, other.capacity = capacity;
    elements = theirs, used = theirCount, capacity = theirCapacity;
  }

  // Appends; false if out of memory (nothing is appended then).
  bool add(const T &element) { return add(&element, 1); }
  bool add(const T *added, int64_t count) {
    if (!reserve(used + count))
      return false;
    if (count)
      memcpy(elements + used, added, static_cast<size_t>(count) * sizeof(T));
    used += count;
    return true;
  }
  bool reserve(int64_t count) {
    if (count <= capacity)
      return true;
    int64_t wanted = capacity * 2 > count ? capacity * 2 : count + 8;
    if (sizeof(size_t) < sizeof wanted && wanted > static_cast<int64_t>(PTRDIFF_MAX / sizeof(T)))
      return false;
    void *memory = realloc(static_cast<void *>(elements), static_cast<size_t>(wanted) * sizeof(T));
    if (!memory)
      return false;
    elements = static_cast<T *>(memory);
    capacity = wanted;
    return true;
  }

private:
  T *elements = nullptr;
  int64_t used = 0, capacity = 0;
};

} // namespace perpend::library
#endif
