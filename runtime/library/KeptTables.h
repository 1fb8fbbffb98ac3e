// Tables that library functions compute once and that a session keeps from run to run.
#ifndef PERPEND_RUNTIME_LIBRARY_KEPTTABLES_H
#define PERPEND_RUNTIME_LIBRARY_KEPTTABLES_H
#include "include/perpend_operator.h"

namespace perpend::library {

class KeptTables {
public:
  KeptTables() = default;
  KeptTables(const KeptTables &) = delete;
  KeptTables &operator=(const KeptTables &) = delete;
  ~KeptTables();

  // The table of a function's key (at most 64 bytes), 64 bytes aligned. isNew: it is to be filled. Beyond 16 tables the
  // one that was not used for the longest time is freed. nullptr: out of memory.
  void *find(perpend_operator function, const void *key, int64_t keyBytes, int64_t bytes, int32_t *isNew);

private:
  static constexpr int64_t most = 16, mostKeyBytes = 64;
  struct Entry {
    perpend_operator function;
    int64_t keyBytes, bytes, lastUse;
    void *memory;
    char key[mostKeyBytes];
  };
  Entry entries[most] = {};
  int64_t uses = 0;
};

} // namespace perpend::library
#endif
