//===- Stream.cpp - the instructions of one core, in order ----------------===//
#include "target/quoin/compile/Stream.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

void Stream::control(Instruction instruction) {
  instruction.location = location;
  instructions.push_back(std::move(instruction));
}

void Stream::fence() {
  Instruction fence;
  fence.opcode = Opcode::fence;
  control(fence);
}

void Stream::add(Instruction instruction) {
  if (unit != instruction.unit())
    fence();
  unit = instruction.unit();
  instruction.location = location;
  instructions.push_back(std::move(instruction));
}

void Stream::meet(uint32_t mask) {
  fence();
  Instruction barrier;
  barrier.opcode = Opcode::bar;
  barrier.mask = mask;
  control(barrier);
  unit.reset();
}

unsigned Stream::openLoop(uint64_t count) {
  Instruction loop;
  loop.opcode = Opcode::loop;
  loop.axis = depth();
  loop.src(0).byte = count;
  open.push_back(instructions.size());
  control(loop);
  unit.reset();
  return loop.axis;
}

void Stream::closeLoop() {
  Instruction end;
  end.opcode = Opcode::endl;
  end.axis = depth() - 1;
  end.dst().byte = open.back();
  instructions[open.back()].dst().byte = instructions.size();
  control(end);
  open.pop_back();
  unit.reset();
}

std::optional<Operand> Stream::operand(Space space, uint64_t byte, llvm::ArrayRef<Advance> advances) {
  Operand operand{space, 0, ownCore, byte};
  std::vector<Advance> wanted;
  for (const Advance &advance : advances)
    if (advance.bytes)
      wanted.push_back(advance);
  if (wanted.empty())
    return operand;
  auto isSame = [&](const std::vector<Advance> &known) {
    return llvm::equal(known, wanted,
                       [](const Advance &a, const Advance &b) { return a.loop == b.loop && a.bytes == b.bytes; });
  };
  auto known = llvm::find_if(generators, isSame);
  if (known != generators.end())
    return operand.generator = static_cast<uint8_t>(known - generators.begin() + 1), operand;
  if (generators.size() == numGenerators || llvm::any_of(wanted, [](const Advance &each) { return each.bytes < 0; }))
    return std::nullopt;
  generators.push_back(wanted);
  operand.generator = static_cast<uint8_t>(generators.size());
  for (unsigned loop = 0; loop < numLoops; ++loop) { // terms of an earlier use become 0
    auto advance = llvm::find_if(wanted, [&](const Advance &each) { return each.loop == loop; });
    Instruction term;
    term.opcode = Opcode::setag;
    term.axis = operand.generator;
    term.extent[0] = loop;
    term.src(0).byte = advance == wanted.end() ? 0 : static_cast<uint64_t>(advance->bytes);
    control(term);
  }
  return operand;
}

void Stream::abandon(size_t count) {
  instructions.resize(count);
  while (!open.empty() && open.back() >= count)
    open.pop_back();
  unit.reset();
}

} // namespace perpend::quoin
