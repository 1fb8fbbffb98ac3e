#include "library/KeptTables.h"
#include <cstdlib>
#include <cstring>

namespace perpend::library {

KeptTables::~KeptTables() {
  for (Entry &entry : entries)
    free(entry.memory);
}

void *KeptTables::find(perpend_operator function, const void *key, int64_t keyBytes, int64_t bytes, int32_t *isNew) {
  *isNew = 0;
  if (keyBytes < 0 || keyBytes > mostKeyBytes || bytes < 0 || bytes > PTRDIFF_MAX / 4)
    return nullptr;
  Entry *oldest = entries;
  ++uses;
  for (Entry &entry : entries) {
    if (entry.memory && entry.function == function && entry.keyBytes == keyBytes && entry.bytes == bytes &&
        !memcmp(entry.key, key, static_cast<size_t>(keyBytes))) {
      entry.lastUse = uses;
      return entry.memory;
    }
    if (entry.lastUse < oldest->lastUse)
      oldest = &entry;
  }
  free(oldest->memory);
  *oldest = {function, keyBytes, bytes, uses, aligned_alloc(64, static_cast<size_t>(bytes + 64) / 64 * 64), {}};
  if (!oldest->memory) {
    *oldest = {};
    return nullptr;
  }
  memcpy(oldest->key, key, static_cast<size_t>(keyBytes));
  *isNew = 1;
  return oldest->memory;
}

} // namespace perpend::library
