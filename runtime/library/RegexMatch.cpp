// All states of the automaton that the text read so far can lead to, one character after another.
#include "library/Case.h"
#include "library/Regex.h"
#include "library/Utf8.h"

namespace perpend::library {
namespace {

bool isWordCharacter(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

// What lies around a position of the text; there is no character before the first and behind the last.
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

// A set of program positions that is emptied in no time.
struct States {
  int32_t *list, *place;
  int32_t count = 0;

  bool has(int32_t state) const { return place[state] < count && list[place[state]] == state; }
  bool add(int32_t state) {
    if (has(state))
      return false;
    place[state] = count;
    list[count++] = state;
    return true;
  }
};

class Matcher {
public:
  Matcher(const Array<RegexInstruction> &program, const Array<RegexRange> &ranges, int32_t *memory)
      : program(program), ranges(ranges), size(static_cast<int32_t>(program.count())), current{memory, memory + size},
        next{memory + 2 * size, memory + 3 * size}, stack(memory + 4 * size) {}

  bool run(perpend_string text) {
    int64_t position = 0;
    uint32_t before = Surroundings::none, after = read(text, position);
    enter(current, 0, {before, after});
    while (after != Surroundings::none && current.count) {
      uint32_t character = after;
      before = after;
      after = read(text, position);
      next.count = 0;
      for (int32_t i = 0; i < current.count; ++i)
        if (accepts(program[current.list[i]], character))
          enter(next, current.list[i] + 1, {before, after});
      States swapped = current;
      current = next;
      next = swapped;
    }
    return after == Surroundings::none && current.has(size - 1);
  }

private:
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

  // Adds a state and all that it leads to without reading. Each is pushed at most twice.
  void enter(States &states, int32_t state, Surroundings around) {
    int32_t depth = 0;
    stack[depth++] = state;
    while (depth) {
      int32_t at = stack[--depth];
      if (!states.add(at))
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
  int32_t *stack; // room for 2 * size + 1
};

} // namespace

Regex::Outcome Regex::matchWhole(perpend_string text) const {
  auto *memory = static_cast<int32_t *>(calloc(static_cast<size_t>(6 * program.count() + 1), sizeof(int32_t)));
  if (!memory)
    return Outcome::NoMemory;
  bool matches = Matcher(program, ranges, memory).run(text);
  free(memory);
  return matches ? Outcome::Matches : Outcome::Differs;
}

} // namespace perpend::library
