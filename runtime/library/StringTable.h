// Strings and their identities: equal strings have equal numbers; 0 is the empty string.
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

  // Adds one of the first strings, which get the identities from 0 on; its memory must outlive the table. False: out of
  // memory.
  bool addConstant(const perpend_string &constant);

  // The identity of a string; a new string is copied. -1: out of memory.
  int64_t identityOf(const char *text, int64_t sizeBytes);
  // An unknown identity gives the empty string.
  perpend_string textOf(int64_t identity) const;

  // Forgets all strings except the first `kept`; keepsLatest: see RunMemory.
  void nextRun(int64_t kept, bool keepsLatest);
  int64_t count() const { return texts.count(); }

private:
  static uint64_t hashOf(const char *text, int64_t sizeBytes);
  // The slot of a string: the one with its identity, or a free one.
  int64_t *find(const char *text, int64_t sizeBytes);
  bool grow();
  const char *keep(const char *text, int64_t sizeBytes);

  Array<perpend_string> texts;
  int64_t *places = nullptr; // slots: identity + 1, or 0 if free; a power of two of them, half used at most
  int64_t placeCount = 0;
  RunMemory memory; // for copied strings
};

} // namespace perpend::library
#endif
