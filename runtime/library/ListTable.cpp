// Lists as arrays of pointers to elements, which are copied once, when they enter their first list.
#include "library/ListTable.h"
#include <new>

namespace perpend::library {

int64_t elementBytes(const perpend_tensor &element) {
  int64_t bytes = element.type >= PERPEND_STRING && element.type <= PERPEND_OPTIONAL
                      ? static_cast<int64_t>(sizeof(int64_t))
                      : perpend_type_size_bytes(element.type);
  for (int32_t i = 0; i < element.rank; ++i)
    bytes *= element.shape[i];
  return bytes;
}

int64_t ListTable::countOf(int64_t list) const {
  return list >= 1 && list <= lists.count() ? lists[list - 1].count : 0;
}

const perpend_tensor *ListTable::elementOf(int64_t list, int64_t position) const {
  return position >= 0 && position < countOf(list) ? (*lists[list - 1].elements)[position] : nullptr;
}

void *ListTable::allocate(int64_t bytes) {
  static_assert(sizeof(Block) <= 64);
  auto total = (static_cast<size_t>(bytes) + 127) / 64 * 64;
  auto *block = static_cast<Block *>(aligned_alloc(64, total));
  if (!block)
    return nullptr;
  block->next = blocks;
  blocks = block;
  return reinterpret_cast<char *>(block) + 64;
}

const perpend_tensor *ListTable::copy(const perpend_tensor &element) {
  int64_t bytes = elementBytes(element), shapeBytes = element.rank * static_cast<int64_t>(sizeof(int64_t));
  int64_t headerBytes = (static_cast<int64_t>(sizeof element) + shapeBytes + 63) / 64 * 64;
  auto *memory = static_cast<char *>(allocate(headerBytes + bytes));
  if (!memory)
    return nullptr;
  auto *shape = reinterpret_cast<int64_t *>(memory + sizeof element);
  if (shapeBytes)
    memcpy(shape, element.shape, static_cast<size_t>(shapeBytes));
  if (bytes)
    memcpy(memory + headerBytes, element.data, static_cast<size_t>(bytes));
  return new (memory) perpend_tensor{memory + headerBytes, shape, element.rank, element.type};
}

int64_t ListTable::add(Elements *elements, int64_t count) { return lists.add({elements, count}) ? lists.count() : -1; }

int64_t ListTable::splice(int64_t list, int64_t first, int64_t last, const perpend_tensor *extra) {
  int64_t count = countOf(list);
  Elements *old = count ? lists[list - 1].elements : nullptr;
  if (extra && old && first == count && old->count() == count) // nothing was appended to this list yet
    return old->add(extra) ? add(old, count + 1) : -1;
  auto *memory = static_cast<Elements *>(malloc(sizeof(Elements)));
  if (!memory)
    return -1;
  auto *elements = new (memory) Elements;
  bool fits = owned.add(elements);
  if (!fits) {
    free(memory);
    return -1;
  }
  if (old)
    fits = elements->add(old->data(), first);
  if (extra)
    fits = fits && elements->add(extra);
  if (old)
    fits = fits && elements->add(old->data() + last, count - last);
  return fits ? add(elements, elements->count()) : -1;
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

void ListTable::forget() {
  for (int64_t i = 0; i < owned.count(); ++i) {
    owned[i]->~Elements();
    free(owned[i]);
  }
  owned.shrink(0);
  lists.shrink(0);
  while (blocks) {
    Block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
}

} // namespace perpend::library
