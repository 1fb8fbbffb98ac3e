#include "Pattern.h"
#include "Characters.h"

namespace perpend::tokenizer {

constexpr int maxDepth = 64; // of looks in looks

void Matcher::begin(uint32_t startOfProgram, const char *newText, size_t newBytes) {
  program = startOfProgram;
  text = newText;
  bytes = newBytes;
  from = 0;
  lastEnd = SIZE_MAX;
  steps = 0;
  limit = 1000000 + 256 * static_cast<uint64_t>(newBytes);
}

bool Matcher::next(Range &match) {
  while (from <= bytes && !tooLong) {
    size_t end = 0;
    const size_t start = from;
    const bool found = run(program, start, end, 0);
    if (found && !(end == start && lastEnd == end)) {
      from = lastEnd = end;
      match = {start, end};
      return true;
    }
    if (from == bytes)
      break;
    decodeAt(text, bytes, from);
  }
  return false;
}

bool Matcher::take(uint32_t characterClass, size_t &position) const {
  if (position >= bytes)
    return false;
  size_t after = position;
  const bool isTaken = table.isIn(characterClass, decodeAt(text, bytes, after));
  position = isTaken ? after : position;
  return isTaken;
}

// Takes as many characters as it may; the choice to give some back goes to the stack.
bool Matcher::repeat(const Instruction &instruction, uint32_t pc, size_t &position) {
  size_t least = position, start = position;
  uint32_t taken = 0;
  for (; taken < instruction.c && take(instruction.a, position); ++taken)
    least = taken + 1 == instruction.b ? position : least;
  steps += position - start;
  if (taken < instruction.b)
    return false;
  if (instruction.op == Op::Greedy && position > least)
    stack.push({pc + 1, 1, position, least});
  return true;
}

bool Matcher::isEdge(const Instruction &instruction, size_t position) const {
  size_t before = position ? startBefore(text, position) : 0, after = position;
  const bool left = position && take(instruction.a, before), right = take(instruction.a, after);
  return (left != right) != static_cast<bool>(instruction.b);
}

bool Matcher::isAt(const Instruction &instruction, size_t position) const {
  switch (instruction.op) {
  case Op::TextStart:
    return position == 0;
  case Op::TextEnd:
    return position == bytes;
  case Op::LineStart: // as in Ruby: not behind a line break that ends the text
    return position == 0 || (position < bytes && text[position - 1] == '\n');
  case Op::LineEnd:
    return position == bytes || text[position] == '\n';
  case Op::LastLineEnd:
    return position == bytes || (position + 1 == bytes && text[position] == '\n');
  default:
    return isEdge(instruction, position);
  }
}

bool Matcher::look(const Instruction &instruction, uint32_t pc, size_t position, int depth) {
  size_t end = 0, start = position;
  bool isFound = true;
  for (uint32_t back = 1; back < instruction.c && isFound; ++back) {
    isFound = start > 0;
    start = isFound ? startBefore(text, start) : 0;
  }
  isFound = isFound && run(pc + 1, start, end, depth + 1);
  return isFound != static_cast<bool>(instruction.b);
}

bool Matcher::takeChoice(size_t base, uint32_t &pc, size_t &position) {
  if (stack.size() == base)
    return false;
  Choice &choice = stack.back();
  pc = choice.pc;
  if (choice.isSpan) {
    choice.position = startBefore(text, choice.position);
    position = choice.position;
    if (choice.position > choice.least)
      return true;
  } else {
    position = choice.position;
  }
  stack.resize(stack.size() - 1);
  return true;
}

bool Matcher::run(uint32_t pc, size_t position, size_t &end, int depth) {
  const size_t base = stack.size();
  if (depth > maxDepth)
    tooLong = true;
  while (!tooLong) {
    const Instruction &instruction = table.instructions[pc];
    bool isGood = true;
    tooLong = ++steps > limit;
    switch (instruction.op) {
    case Op::Character: {
      size_t after = position;
      isGood = position < bytes && validCode(decodeAt(text, bytes, after)) == instruction.a;
      position = after;
      ++pc;
      break;
    }
    case Op::Class:
      isGood = take(instruction.a, position);
      ++pc;
      break;
    case Op::Greedy:
    case Op::Possessive:
      isGood = repeat(instruction, pc, position);
      ++pc;
      break;
    case Op::Fork:
      stack.push({instruction.b, 0, position, 0});
      pc = instruction.a;
      break;
    case Op::Jump:
      pc = instruction.a;
      break;
    case Op::Look:
      isGood = look(instruction, pc, position, depth);
      pc = instruction.a;
      break;
    case Op::Atomic:
      isGood = run(pc + 1, position, position, depth + 1);
      pc = instruction.a;
      break;
    case Op::Accept:
      stack.resize(base);
      end = position;
      return true;
    default:
      isGood = isAt(instruction, position);
      ++pc;
    }
    if (!isGood && !takeChoice(base, pc, position))
      return false;
  }
  stack.resize(base);
  return false;
}

} // namespace perpend::tokenizer
