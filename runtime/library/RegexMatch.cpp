// Simulates the automaton: tracks all states that the text read so far can lead to.
#include "library/Case.h"
#include "library/Regex.h"
#include "library/Utf8.h"

namespace perpend::library {
namespace {

bool isWordCharacter(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

// The characters around a position of the text; there is none before the first or after the last.
struct Surroundings {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t before, after;

  bool satisfies(RegexAssertion assertion) const {
    auto isWord = [](uint32_t c) { return c != none && isWordCharacter(c); };
    bool isBoundary = isWord(before) != isWord(after);
    switch (assertion) {
    case RegexAssertion::TextBegin:
      return before == none;
    case RegexAssertion::TextEnd:
      return after == none;
    case RegexAssertion::LineBegin:
      return before == none || before == '\n';
    case RegexAssertion::LineEnd:
      return after == none || after == '\n';
    case RegexAssertion::WordBoundary:
      return isBoundary;
    case RegexAssertion::NoWordBoundary:
      return !isBoundary;
    }
    return false;
  }
};

// A set of program positions with constant-time clearing; each has the position of the text where its match starts.
struct States {
  int32_t *list, *place;
  int64_t *begins;
  int32_t count = 0;

  bool has(int32_t state) const { return place[state] < count && list[place[state]] == state; }
  int64_t beginOf(int32_t state) const { return begins[place[state]]; }
  bool add(int32_t state, int64_t begin) {
    if (has(state))
      return false;
    place[state] = count;
    begins[count] = begin;
    list[count++] = state;
    return true;
  }
};

class Matcher {
public:
  Matcher(const Array<RegexInstruction> &program, const Array<RegexRange> &ranges, int64_t *memory)
      : program(program), ranges(ranges), size(static_cast<int32_t>(program.count())) {
    auto *numbers = reinterpret_cast<int32_t *>(memory + 2 * size);
    current = {numbers, numbers + size, memory};
    next = {numbers + 2 * size, numbers + 3 * size, memory + size};
    stack = numbers + 4 * size;
  }

  // Allocates what the constructor takes.
  static int64_t *allocate(int64_t size) {
    return static_cast<int64_t *>(calloc(static_cast<size_t>(5 * size + 1), sizeof(int64_t)));
  }

  bool run(perpend_string text) {
    place(text, 0);
    enter(current, 0, {before, after}, 0);
    while (after != Surroundings::none && current.count)
      step(text, INT64_MAX);
    return after == Surroundings::none && current.has(size - 1);
  }

  // States are ordered by the start of their match, so that of two paths into a state the earlier one wins.
  bool find(perpend_string text, int64_t position, RegexMatch &match) {
    bool isFound = false;
    place(text, position);
    while (true) {
      if (!isFound)
        enter(current, 0, {before, after}, here);
      if (current.has(size - 1) && (!isFound || current.beginOf(size - 1) <= match.begin)) {
        match = {current.beginOf(size - 1), here};
        isFound = true;
      }
      if (after == Surroundings::none || !current.count)
        return isFound;
      step(text, isFound ? match.begin : INT64_MAX);
    }
  }

private:
  // Only ASCII characters matter for the surroundings of a position.
  void place(perpend_string text, int64_t position) {
    here = behind = position;
    before = position ? static_cast<unsigned char>(text.data[position - 1]) : Surroundings::none;
    after = read(text, behind);
    current.count = 0;
  }

  // Reads a character; drops matches that started behind `lastBegin`.
  void step(perpend_string text, int64_t lastBegin) {
    uint32_t character = after;
    before = after;
    here = behind;
    after = read(text, behind);
    next.count = 0;
    for (int32_t i = 0; i < current.count && current.begins[i] <= lastBegin; ++i)
      if (accepts(program[current.list[i]], character))
        enter(next, current.list[i] + 1, {before, after}, current.begins[i]);
    States swapped = current;
    current = next;
    next = swapped;
  }

  static uint32_t read(perpend_string text, int64_t &position) {
    return position < text.sizeBytes ? decode(text.data, text.sizeBytes, position) : Surroundings::none;
  }

  bool contains(const RegexInstruction &instruction, uint32_t c) const {
    for (int32_t i = 0; i < instruction.second; ++i)
      if (c >= ranges[instruction.first + i].first && c <= ranges[instruction.first + i].last)
        return true;
    return false;
  }

  bool accepts(const RegexInstruction &instruction, uint32_t c) const {
    if (instruction.code != RegexCode::Characters || c >= invalidByte)
      return false;
    bool isIn = contains(instruction, c) ||
                (instruction.ignoresCase && (contains(instruction, toLower(c)) || contains(instruction, toUpper(c))));
    return isIn != instruction.isNegated;
  }

  // Adds a state and all states that it leads to without reading. Each is pushed at most twice.
  void enter(States &states, int32_t state, Surroundings around, int64_t begin) {
    int32_t depth = 0;
    stack[depth++] = state;
    while (depth) {
      int32_t at = stack[--depth];
      if (!states.add(at, begin))
        continue;
      const RegexInstruction &instruction = program[at];
      if (instruction.code == RegexCode::Jump || instruction.code == RegexCode::Split)
        stack[depth++] = at + instruction.first;
      if (instruction.code == RegexCode::Split)
        stack[depth++] = at + instruction.second;
      if (instruction.code == RegexCode::Assert && around.satisfies(instruction.assertion))
        stack[depth++] = at + 1;
    }
  }

  const Array<RegexInstruction> &program;
  const Array<RegexRange> &ranges;
  int32_t size;
  States current, next;
  int32_t *stack; // capacity 2 * size + 1
  // The next character of the text has been read already.
  int64_t here = 0, behind = 0;
  uint32_t before = Surroundings::none, after = Surroundings::none;
};

} // namespace

Regex::Outcome Regex::matchWhole(perpend_string text) const {
  int64_t *memory = Matcher::allocate(program.count());
  if (!memory)
    return Outcome::NoMemory;
  bool matches = Matcher(program, ranges, memory).run(text);
  free(memory);
  return matches ? Outcome::Matches : Outcome::Differs;
}

Regex::Outcome Regex::find(perpend_string text, int64_t position, RegexMatch &match) const {
  int64_t *memory = Matcher::allocate(program.count());
  if (!memory)
    return Outcome::NoMemory;
  bool isFound = Matcher(program, ranges, memory).find(text, position, match);
  free(memory);
  return isFound ? Outcome::Matches : Outcome::Differs;
}

} // namespace perpend::library
