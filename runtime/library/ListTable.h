// The lists of a run. Lists are immutable; a list made by appending to the newest one shares its memory.
#ifndef PERPEND_RUNTIME_LIBRARY_LISTTABLE_H
#define PERPEND_RUNTIME_LIBRARY_LISTTABLE_H
#include "include/perpend.h"
#include "library/Array.h"
#include "library/RunMemory.h"

namespace perpend::library {

class ListTable {
public:
  ListTable() = default;
  ListTable(const ListTable &) = delete;
  ListTable &operator=(const ListTable &) = delete;

  // List 0, and any list that does not exist, is empty.
  int64_t countOf(int64_t list) const;
  // Null if position is not in [0, count).
  const perpend_tensor *elementOf(int64_t list, int64_t position) const;

  // Create lists: with a copy of `element` at position (clamped to [0, count]), and without the element at position.
  // Strings and lists are identities and handles of int64_t. -1: out of memory, or no size (elementBytes).
  int64_t insert(int64_t list, int64_t position, const perpend_tensor &element);
  int64_t erase(int64_t list, int64_t position);

  // Forgets all lists; keepsLatest: see RunMemory.
  void nextRun(bool keepsLatest);

private:
  struct Elements {
    const perpend_tensor **first;
    int64_t count, capacity;
  };
  struct List {
    Elements *elements;
    int64_t count; // its length; further elements belong to lists made from it
  };
  const perpend_tensor *copy(const perpend_tensor &element);
  // Makes room for one more; false if out of memory.
  bool grow(Elements &elements);
  int64_t add(Elements *elements, int64_t count);
  // The elements of a list except those in [first, last), with `extra` (if any) in their place.
  int64_t splice(int64_t list, int64_t first, int64_t last, const perpend_tensor *extra);

  Array<List> lists; // handle - 1
  RunMemory memory;  //  for elements and pointers to them
};

// Bytes of an element's data, with an int64_t per string or list. -1: its extents give no size: a negative one, more
// than 63 bits, or too many of them.
int64_t elementBytes(const perpend_tensor &element);

} // namespace perpend::library
#endif
