// A bounded pull reader for the descriptor. It builds no tree; strings go to a Region. Errors are sticky: after the
// first one every call returns an empty value, so callers check failed() once at the end.
#ifndef PERPEND_RUNTIME_JSON_H
#define PERPEND_RUNTIME_JSON_H
#include "Region.h"

namespace perpend::runtime {

class JsonReader {
public:
  JsonReader(const char *text, size_t textBytes, Region &region)
      : begin(text), cursor(text), end(text + textBytes), region(region) {}

  // Objects and arrays: `enter('{')`, then `while (more('}'))` one key() and value, or value, per turn.
  void enter(char open);
  bool more(char close);
  const char *key();

  const char *string();
  int64_t integer();
  bool atString();
  void skip();             // any value
  void finish();           // only white space may follow
  const char *position() { // position of the next value
    peek();
    return cursor;
  }

  void fail() { failedAt = failedAt ? failedAt : cursor; }
  bool failed() const { return failedAt; }
  size_t errorOffset() const { return static_cast<size_t>(failedAt - begin); }

private:
  static constexpr int maxDepth = 16;

  void skipSpace();
  char peek();
  bool take(char expected);
  char *writeString(char *out);
  char *writeEscape(char *out);
  uint32_t hexDigits();
  void skipLiteral();

  const char *begin, *cursor, *end;
  Region &region;
  const char *failedAt = nullptr;
  int depth = 0;
  bool first[maxDepth + 1] = {};
};

} // namespace perpend::runtime
#endif
