//===- PatternEmitter.cpp - instructions for regular expressions ----------===//

#include "tokenizer/Pattern.h"
#include "tokenizer/Refusal.h"

namespace perpend::tokenizer {

uint32_t PatternNode::leastLength() const {
  uint32_t sum = 0;
  switch (kind) {
  case Set:
    return 1;
  case Alternatives:
    sum = unlimited;
    for (const auto &part : parts)
      sum = std::min(sum, part->leastLength());
    return sum;
  case Repeat:
    return std::min<uint64_t>(uint64_t{least} * parts[0]->leastLength(), unlimited);
  case Look:
  case Position:
    return 0;
  default:
    for (const auto &part : parts)
      sum = std::min<uint64_t>(uint64_t{sum} + part->leastLength(), unlimited);
    return sum;
  }
}

namespace {

class Emitter {
public:
  Emitter(const std::function<uint32_t(const CodeSet &)> &numberOfClass, std::vector<Instruction> &out)
      : classOf(numberOfClass), code(out) {}

  void emit(const PatternNode &node);
  void add(Op op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
    if (code.size() < maxInstructions)
      code.push_back({op, a, b, c});
    else
      isTooLong = true;
  }

  bool isTooLong = false, isUnevenBehind = false;

private:
  uint32_t here() const { return static_cast<uint32_t>(code.size()); }
  void emitSet(const CodeSet &set);
  void emitAlternatives(const PatternNode &node);
  void emitRepeat(const PatternNode &node);
  void emitLoop(const PatternNode &node);
  void emitLook(const PatternNode &node);
  void emitOneLook(const PatternNode &part, bool isNegated, uint32_t back);
  void emitWord(const PatternNode &node);
  /// A fork whose preferred way is the next instruction, or, if lazy, the target that patch sets.
  uint32_t fork() {
    add(Op::Fork);
    return here() - 1;
  }
  void patch(uint32_t fork, uint32_t body, uint32_t exit, bool isLazy) {
    if (isTooLong)
      return;
    code[fork].a = isLazy ? exit : body;
    code[fork].b = isLazy ? body : exit;
  }

  const std::function<uint32_t(const CodeSet &)> &classOf;
  std::vector<Instruction> &code;
};

std::optional<uint32_t> lengthOf(const PatternNode &node) {
  uint32_t sum = 0;
  switch (node.kind) {
  case PatternNode::Set:
    return 1;
  case PatternNode::Alternatives:
    for (const auto &part : node.parts)
      if (lengthOf(*part) != lengthOf(*node.parts[0]))
        return std::nullopt;
    return lengthOf(*node.parts[0]);
  case PatternNode::Repeat: {
    const std::optional<uint32_t> length = lengthOf(*node.parts[0]);
    if (!length || node.least != node.most || *length > 1000)
      return std::nullopt;
    return node.least * *length;
  }
  case PatternNode::Look:
  case PatternNode::Position:
    return 0;
  default:
    for (const auto &part : node.parts) {
      const std::optional<uint32_t> length = lengthOf(*part);
      if (!length || *length > maxInstructions)
        return std::nullopt;
      sum += *length;
    }
    return sum;
  }
}

void Emitter::emitSet(const CodeSet &set) {
  if (set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].second)
    return add(Op::Character, set.ranges()[0].first);
  add(Op::Class, classOf(set));
}

void Emitter::emitAlternatives(const PatternNode &node) {
  std::vector<uint32_t> jumps;
  for (size_t i = 0; i < node.parts.size() && !isTooLong; ++i) {
    const bool isLast = i + 1 == node.parts.size();
    const uint32_t choice = isLast ? 0 : fork();
    emit(*node.parts[i]);
    if (isLast)
      break;
    jumps.push_back(here());
    add(Op::Jump);
    patch(choice, choice + 1, here(), false);
  }
  for (uint32_t jump : jumps)
    if (!isTooLong)
      code[jump].a = here();
}

void Emitter::emitLoop(const PatternNode &node) {
  const PatternNode &body = *node.parts[0];
  const bool isLazy = node.mode == PatternNode::Lazy;
  for (uint32_t i = 0; i < node.least && !isTooLong; ++i)
    emit(body);
  if (node.most == unlimited) {
    const uint32_t loop = fork();
    emit(body);
    add(Op::Jump, loop);
    return patch(loop, loop + 1, here(), isLazy);
  }
  std::vector<uint32_t> forks;
  for (uint32_t i = node.least; i < node.most && !isTooLong; ++i) {
    forks.push_back(fork());
    emit(body);
  }
  for (uint32_t choice : forks)
    patch(choice, choice + 1, here(), isLazy);
}

void Emitter::emitRepeat(const PatternNode &node) {
  const PatternNode &body = *node.parts[0];
  if (body.kind == PatternNode::Set && node.mode != PatternNode::Lazy)
    return add(node.mode == PatternNode::Greedy ? Op::Greedy : Op::Possessive, classOf(body.set), node.least,
               node.most);
  if (node.mode != PatternNode::Possessive)
    return emitLoop(node);
  const uint32_t atomic = here();
  add(Op::Atomic);
  emitLoop(node);
  add(Op::Accept);
  if (!isTooLong)
    code[atomic].a = here();
}

void Emitter::emitOneLook(const PatternNode &part, bool isNegated, uint32_t back) {
  const uint32_t look = here();
  add(Op::Look, 0, isNegated, back + 1);
  emit(part);
  add(Op::Accept);
  if (!isTooLong)
    code[look].a = here();
}

void Emitter::emitLook(const PatternNode &node) {
  const PatternNode &inner = *node.parts[0];
  if (!node.isBehind)
    return emitOneLook(inner, node.isNegated, 0);
  if (const std::optional<uint32_t> length = lengthOf(inner))
    return emitOneLook(inner, node.isNegated, *length);
  // Alternatives of different lengths: one of them matches, or each of them does not.
  std::vector<uint32_t> jumps;
  for (size_t i = 0; i < inner.parts.size() && inner.kind == PatternNode::Alternatives; ++i) {
    const std::optional<uint32_t> length = lengthOf(*inner.parts[i]);
    isUnevenBehind |= !length;
    const bool hasFork = !node.isNegated && i + 1 < inner.parts.size();
    const uint32_t choice = hasFork ? fork() : 0;
    emitOneLook(*inner.parts[i], node.isNegated, length.value_or(0));
    if (!hasFork)
      continue;
    jumps.push_back(here());
    add(Op::Jump);
    patch(choice, choice + 1, here(), false);
  }
  isUnevenBehind |= inner.kind != PatternNode::Alternatives;
  for (uint32_t jump : jumps)
    if (!isTooLong)
      code[jump].a = here();
}

void Emitter::emitWord(const PatternNode &node) {
  add(Op::WordEdge, classOf(namedSet(NamedSet::PatternWord)), node.isNegated);
}

void Emitter::emit(const PatternNode &node) {
  if (isTooLong)
    return;
  switch (node.kind) {
  case PatternNode::Set:
    return emitSet(node.set);
  case PatternNode::Sequence:
    for (const auto &part : node.parts)
      emit(*part);
    return;
  case PatternNode::Alternatives:
    return emitAlternatives(node);
  case PatternNode::Repeat:
    return emitRepeat(node);
  case PatternNode::Look:
    return emitLook(node);
  case PatternNode::Position:
    return node.position == Op::WordEdge ? emitWord(node) : add(node.position);
  case PatternNode::Atomic: {
    const uint32_t atomic = here();
    add(Op::Atomic);
    emit(*node.parts[0]);
    add(Op::Accept);
    if (!isTooLong)
      code[atomic].a = here();
    return;
  }
  }
}

} // namespace

llvm::Error emitPattern(const PatternNode &pattern, const std::function<uint32_t(const CodeSet &)> &classOf,
                        std::vector<Instruction> &instructions) {
  Emitter emitter(classOf, instructions);
  emitter.emit(pattern);
  emitter.add(Op::Accept);
  if (emitter.isTooLong)
    return refuse("tokenizer: expected a pattern of at most 65536 instructions, got a longer one",
                  "repeat less, such as {1,3} in place of {1,1000}");
  if (emitter.isUnevenBehind)
    return refuse("tokenizer: expected alternatives of fixed lengths in (?<=...), got something else",
                  "spell the alternatives out");
  return llvm::Error::success();
}
} // namespace perpend::tokenizer
