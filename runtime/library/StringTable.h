// Texts and their identities: equal texts have equal numbers, and 0 is the empty text.
#ifndef PERPEND_RUNTIME_LIBRARY_STRINGTABLE_H
#define PERPEND_RUNTIME_LIBRARY_STRINGTABLE_H
#include "include/perpend.h"
#include "library/Array.h"
#include "library/RunMemory.h"

namespace perpend::library {

class StringTable {
public:
  StringTable() = default;
  StringTable(const StringTable &) = delete;
  StringTable &operator=(const StringTable &) = delete;
  ~StringTable();

  // The first texts, in the order of their identities from 0 on; their memory must outlive the table. False: no memory.
  bool addConstants(const perpend_string *constants, int64_t count);

  // The identity of a text, which is copied when it is new. -1: no memory.
  int64_t identityOf(const char *text, int64_t sizeBytes);
  // A text that an identity does not have is the empty one.
  perpend_string textOf(int64_t identity) const;

  // Forgets all texts but the first `kept`; keepsLatest: see RunMemory.
  void nextRun(int64_t kept, bool keepsLatest);
  int64_t count() const { return texts.count(); }

private:
  static uint64_t hashOf(const char *text, int64_t sizeBytes);
  // The place of a text: of its identity, or free.
  int64_t *find(const char *text, int64_t sizeBytes);
  bool grow();
  const char *keep(const char *text, int64_t sizeBytes);

  Array<perpend_string> texts;
  int64_t *places = nullptr; // identity + 1, 0: free; a power of two of them, at most half in use
  int64_t placeCount = 0;
  RunMemory memory; // of copied texts
};

} // namespace perpend::library
#endif
