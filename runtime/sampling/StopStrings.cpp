// The automaton of Knuth, Morris and Pratt for each stop string: how many of its bytes end the text so far. The largest
// of these numbers is what is held back.
#include "Errors.h"
#include "Select.h"
#include "include/perpend_sampling.h"
#include <algorithm>
#include <new>

using namespace perpend;
using namespace perpend::sampling;
using runtime::fail;

namespace {
struct StopString {
  int64_t begin, length; // in the bytes of all strings
  int64_t matched;       // its first bytes that end the text so far
};
} // namespace

struct perpend_stop {
  Array<char> bytes;      // of all stop strings
  Array<int64_t> borders; // for each of their bytes: the longest proper prefix that ends there as well
  Array<StopString> strings;
  Array<char> text; // released by the latest call, then held back
  int64_t released = 0;
  int32_t found = -1;
};

static void findBorders(const StopString &string, const char *bytes, int64_t *borders) {
  int64_t border = 0;
  borders[0] = 0;
  for (int64_t i = 1; i < string.length; ++i) {
    while (border && bytes[i] != bytes[border])
      border = borders[border - 1];
    border += bytes[i] == bytes[border];
    borders[i] = border;
  }
}

static perpend_status addString(perpend_stop &stop, const perpend_string &string) {
  if (!string.data || string.sizeBytes < 1)
    return fail(PERPEND_INVALID_ARGUMENT, "stop strings: expected text, got an empty string; hint: leave it out");
  const StopString added = {stop.bytes.count(), string.sizeBytes, 0};
  if (!stop.bytes.add(string.data, string.sizeBytes) || !resize(stop.borders, stop.bytes.count()) ||
      !stop.strings.add(added))
    return runtime::failAllocation(string.sizeBytes * 9);
  findBorders(added, stop.bytes.data() + added.begin, stop.borders.data() + added.begin);
  return PERPEND_OK;
}

perpend_status perpend_stop_create(const perpend_string *strings, int32_t count, perpend_stop **stop) {
  if (!stop || count < 0 || (count && !strings))
    return fail(PERPEND_INVALID_ARGUMENT, "stop strings: expected strings and a place for the object, got %s and %d",
                strings && stop ? "both" : "NULL", static_cast<int>(count));
  void *memory = malloc(sizeof(perpend_stop));
  if (!memory)
    return runtime::failAllocation(sizeof(perpend_stop));
  auto *created = new (memory) perpend_stop;
  for (int32_t i = 0; i < count; ++i)
    if (const perpend_status status = addString(*created, strings[i])) {
      perpend_stop_free(created);
      return status;
    }
  *stop = created;
  return PERPEND_OK;
}

void perpend_stop_free(perpend_stop *stop) {
  if (stop)
    stop->~perpend_stop();
  free(stop);
}

// Forgets what the latest call released.
static void forget(perpend_stop &stop) {
  Array<char> &text = stop.text;
  std::copy(text.data() + stop.released, text.data() + text.count(), text.data());
  text.shrink(text.count() - stop.released);
  stop.released = 0;
}

static void advance(const perpend_stop &stop, StopString &string, char byte) {
  const char *bytes = stop.bytes.data() + string.begin;
  const int64_t *borders = stop.borders.data() + string.begin;
  while (string.matched && bytes[string.matched] != byte)
    string.matched = borders[string.matched - 1];
  string.matched += bytes[string.matched] == byte;
}

// Returns how much of the text, which ends with this byte, is a stop string or may become one; sets found at its end.
static int64_t addByte(perpend_stop &stop, char byte) {
  int64_t held = 0, foundLength = 0;
  for (int64_t i = 0; i < stop.strings.count(); ++i) {
    StopString &string = stop.strings[i];
    advance(stop, string, byte);
    held = std::max(held, string.matched);
    if (string.matched == string.length && string.length > foundLength) {
      foundLength = string.length;
      stop.found = static_cast<int32_t>(i);
    }
  }
  return foundLength ? foundLength : held;
}

perpend_status perpend_stop_add(perpend_stop *stop, perpend_string piece, perpend_string *released, int32_t *found) {
  if (!stop || !released || !found || piece.sizeBytes < 0 || (piece.sizeBytes && !piece.data))
    return fail(PERPEND_INVALID_ARGUMENT,
                "stop strings: expected a piece of text and places for the results, got NULL");
  const int64_t before = stop->text.count() - stop->released;
  if (stop->found < 0 && !stop->text.reserve(stop->text.count() + piece.sizeBytes))
    return runtime::failAllocation(before + piece.sizeBytes);
  forget(*stop);
  int64_t held = stop->found < 0 ? before : 0;
  for (int64_t i = 0; stop->found < 0 && i < piece.sizeBytes; ++i) {
    stop->text.add(piece.data[i]); // there is room
    held = addByte(*stop, piece.data[i]);
  }
  stop->released = stop->text.count() - held;
  *released = {stop->text.data(), stop->released};
  if (stop->found >= 0)
    stop->text.shrink(stop->released); // the stop string
  *found = stop->found;
  return PERPEND_OK;
}

perpend_status perpend_stop_finish(perpend_stop *stop, perpend_string *released) {
  if (!stop || !released)
    return fail(PERPEND_INVALID_ARGUMENT, "stop strings: expected the object and a place for the text, got NULL");
  forget(*stop);
  stop->released = stop->text.count();
  *released = {stop->text.data(), stop->released};
  for (int64_t i = 0; i < stop->strings.count(); ++i)
    stop->strings[i].matched = 0;
  stop->found = -1;
  return PERPEND_OK;
}
