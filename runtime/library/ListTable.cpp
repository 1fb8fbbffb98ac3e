// Lists are arrays of pointers to elements, which are copied once, when they are first added to a list.
#include "library/ListTable.h"
#include "Types.h"
#include <algorithm>
#include <new>

namespace perpend::library {

int64_t elementBytes(const perpend_tensor &element) {
  int64_t bytes = perpend_type_size_bytes(runtime::runType(element.type));
  bool isEmpty = false, overflows = false;
  if (element.rank < 0 || element.rank > PERPEND_MAX_RANK)
    return -1;
  for (int32_t i = 0; i < element.rank; ++i) {
    if (element.shape[i] < 0)
      return -1;
    isEmpty |= element.shape[i] == 0;
    overflows |= __builtin_mul_overflow(bytes, element.shape[i], &bytes);
  }
  return isEmpty ? 0 : overflows ? -1 : bytes;
}

int64_t ListTable::countOf(int64_t list) const {
  return list >= 1 && list <= lists.count() ? lists[list - 1].count : 0;
}

const perpend_tensor *ListTable::elementOf(int64_t list, int64_t position) const {
  return position >= 0 && position < countOf(list) ? lists[list - 1].elements->first[position] : nullptr;
}

const perpend_tensor *ListTable::copy(const perpend_tensor &element) {
  int64_t bytes = elementBytes(element), shapeBytes = element.rank * static_cast<int64_t>(sizeof(int64_t));
  if (bytes < 0 || bytes > INT64_MAX / 2)
    return nullptr;
  int64_t headerBytes = (static_cast<int64_t>(sizeof element) + shapeBytes + 63) / 64 * 64;
  auto *place = static_cast<char *>(memory.allocate(headerBytes + bytes, 64));
  if (!place)
    return nullptr;
  auto *shape = reinterpret_cast<int64_t *>(place + sizeof element);
  if (shapeBytes)
    memcpy(shape, element.shape, static_cast<size_t>(shapeBytes));
  if (bytes)
    memcpy(place + headerBytes, element.data, static_cast<size_t>(bytes));
  return new (place) perpend_tensor{place + headerBytes, shape, element.rank, element.type};
}

bool ListTable::grow(Elements &elements) {
  if (elements.count < elements.capacity)
    return true;
  int64_t capacity = elements.capacity ? elements.capacity * 2 : 4;
  auto **larger = memory.allocateArray<const perpend_tensor *>(capacity);
  if (!larger)
    return false;
  std::copy_n(elements.first, elements.count, larger);
  elements = {larger, elements.count, capacity};
  return true;
}

int64_t ListTable::add(Elements *elements, int64_t count) { return lists.add({elements, count}) ? lists.count() : -1; }

int64_t ListTable::splice(int64_t list, int64_t first, int64_t last, const perpend_tensor *extra) {
  int64_t count = countOf(list);
  Elements *old = count ? lists[list - 1].elements : nullptr;
  if (extra && old && first == count && old->count == count) { // nothing has been appended to this list
    if (!grow(*old))
      return -1;
    old->first[old->count++] = extra;
    return add(old, count + 1);
  }
  int64_t kept = count - (last - first), capacity = kept + (extra ? 1 : 0);
  auto *elements = memory.allocateArray<Elements>(1);
  auto **pointers = memory.allocateArray<const perpend_tensor *>(capacity);
  if (!elements || !pointers)
    return -1;
  auto *end = old ? std::copy_n(old->first, first, pointers) : pointers;
  if (extra)
    *end++ = extra;
  if (old)
    std::copy(old->first + last, old->first + count, end);
  *elements = {pointers, capacity, capacity};
  return add(elements, capacity);
}

int64_t ListTable::insert(int64_t list, int64_t position, const perpend_tensor &element) {
  int64_t count = countOf(list), at = position < 0 ? 0 : position > count ? count : position;
  const perpend_tensor *copied = copy(element);
  return copied ? splice(list, at, at, copied) : -1;
}

int64_t ListTable::erase(int64_t list, int64_t position) {
  if (position < 0 || position >= countOf(list))
    return list;
  return splice(list, position, position + 1, nullptr);
}

void ListTable::nextRun(bool keepsLatest) {
  lists.shrink(0);
  memory.nextRun(keepsLatest);
}

} // namespace perpend::library
