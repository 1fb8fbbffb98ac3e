// A bounded pull reader for the parameters of library calls. It builds no tree; strings go to a Region. Errors are
// sticky: after the first one every call returns an empty value, so callers check failed() once at the end.
#ifndef PERPEND_RUNTIME_LIBRARY_JSON_H
#define PERPEND_RUNTIME_LIBRARY_JSON_H
#include "Region.h"

namespace perpend::library {

class JsonReader {
public:
  JsonReader(const char *text, size_t textBytes, runtime::Region &region)
      : cursor(text), end(text + textBytes), region(region) {}

  // Objects and arrays: `enter('{')`, then `while (more('}'))` one key() and value, or value, per turn.
  void enter(char open);
  bool more(char close);
  const char *key();

  const char *string();
  int64_t integer();
  bool atString();
  void skip();             // any value
  const char *position() { // position of the next value
    peek();
    return cursor;
  }

  void fail() { failedAt = failedAt ? failedAt : cursor; }
  bool failed() const { return failedAt; }

private:
  static constexpr int maxDepth = 16;

  void skipSpace();
  char peek();
  bool take(char expected);
  char *writeString(char *out);
  char *writeEscape(char *out);
  uint32_t hexDigits();
  void skipLiteral();

  const char *cursor, *end;
  runtime::Region &region;
  const char *failedAt = nullptr;
  int depth = 0;
  bool first[maxDepth + 1] = {};
};

} // namespace perpend::library
#endif
