// Writes the tables of a hand-written module, independently of the compiler. Needs no C++ library, because modules in
// shared objects and programs have none.
#ifndef PERPEND_TEST_FAKE_TABLES_H
#define PERPEND_TEST_FAKE_TABLES_H
#include "perpend_module.h"
#include <initializer_list>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// All of the tables: few, unless there are assets.
#ifndef FAKE_TABLES_BYTES
#define FAKE_TABLES_BYTES 4096
#endif

namespace fake {

class Tables {
public:
  uint32_t text(const char *text) { return put(text, strlen(text) + 1, 1); }
  perpend_records texts(std::initializer_list<const char *> texts) {
    uint32_t positions[16], count = 0;
    for (const char *one : texts)
      positions[count++] = text(one);
    return records(positions, count);
  }
  // A number in `shape` is an extent, everything else is symbolic.
  perpend_tensor_record tensor(const char *name, perpend_type type, std::initializer_list<const char *> shape) {
    int64_t dims[PERPEND_MAX_RANK], *next = dims;
    for (const char *extent : shape)
      *next++ = *extent >= '0' && *extent <= '9' ? atoll(extent) : -1;
    perpend_tensor_record record{};
    record.name = text(name);
    record.type = static_cast<uint32_t>(type);
    record.rank = static_cast<int32_t>(shape.size());
    record.dims = records(dims, static_cast<uint32_t>(shape.size())).position;
    record.dimTexts = texts(shape).position;
    return record;
  }
  template <typename T> perpend_records records(const T *values, uint32_t count) {
    return {put(values, count * sizeof(T), alignof(T)), count};
  }
  template <typename T> perpend_records records(std::initializer_list<T> values) {
    return records(values.begin(), static_cast<uint32_t>(values.size()));
  }

  perpend_asset_record asset(const char *name, const void *value, size_t count) {
    return {text(name), put(value, count, PERPEND_ASSET_ALIGNMENT), count};
  }

  // Writes what the members below say, and refers to it. The module must not outlive the tables.
  void finish(perpend_module &module) {
    const perpend_entry_record entries[] = {entry, second};
    head.entries = records(entries, second.name ? 2 : 1);
    head.segments = records(&segment, segment.bytes ? 1 : 0);
    memcpy(bytes, &head, sizeof head);
    put("", 1, 1);
    module.magic = PERPEND_MODULE_MAGIC;
    module.abi = PERPEND_MODULE_ABI;
    module.tables = reinterpret_cast<const perpend_tables *>(bytes);
    module.tablesBytes = used;
  }

  perpend_tables head{};
  perpend_entry_record entry{}, second{}; // there is a second one if it has a name
  perpend_segment_record segment{};

private:
  uint32_t put(const void *value, size_t count, size_t alignment) {
    used = used ? used : sizeof head;
    used = static_cast<uint32_t>((used + alignment - 1) / alignment * alignment);
    if (count > sizeof bytes - used)
      abort();
    memcpy(bytes + used, value, count);
    used += static_cast<uint32_t>(count);
    return used - static_cast<uint32_t>(count);
  }

  alignas(8) char bytes[FAKE_TABLES_BYTES] = {};
  uint32_t used = 0; // all is zero at first, so that programs have no room for it in their files
};

// With a name, nothing else.
inline void describe(Tables &tables, const char *name) {
  tables.head.name = tables.text(name);
  tables.head.target = tables.text("x86-64");
  tables.head.descriptor = tables.text("{}");
  tables.entry.name = tables.text("main");
  tables.entry.arenaBytes = -1;
}

} // namespace fake
#endif
