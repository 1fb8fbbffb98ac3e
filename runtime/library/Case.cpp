// Case mapping by a table of ranges in which every character, or every other one, is shifted by the same distance.
#include "library/Case.h"
#include <cstddef>

namespace perpend::library {
namespace {

struct Range {
  uint32_t first, last;
  int32_t step, distance;
};
constexpr Range upperRanges[] = {
#define TO_UPPER(FIRST, LAST, STEP, DISTANCE) {FIRST, LAST, STEP, DISTANCE},
#define TO_LOWER(FIRST, LAST, STEP, DISTANCE)
#include "library/CaseRanges.def"
};
constexpr Range lowerRanges[] = {
#define TO_UPPER(FIRST, LAST, STEP, DISTANCE)
#define TO_LOWER(FIRST, LAST, STEP, DISTANCE) {FIRST, LAST, STEP, DISTANCE},
#include "library/CaseRanges.def"
};

template <size_t count> uint32_t map(const Range (&ranges)[count], uint32_t code) {
  size_t low = 0, high = count; // the first range that does not end before the character
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ranges[middle].last < code)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == count || code < ranges[low].first || (code - ranges[low].first) % static_cast<uint32_t>(ranges[low].step))
    return code;
  return code + static_cast<uint32_t>(ranges[low].distance);
}

} // namespace

uint32_t toUpper(uint32_t code) { return map(upperRanges, code); }
uint32_t toLower(uint32_t code) { return map(lowerRanges, code); }

} // namespace perpend::library
