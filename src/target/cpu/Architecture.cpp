//===- Architecture.cpp - the list of architectures -----------------------===//
#include "target/cpu/Architecture.h"
#include "target/cpu/aarch64/AArch64.h"
#include "target/cpu/cortexm/CortexM.h"
#include "target/cpu/riscv/RiscV.h"
#include "target/cpu/wasm32/Wasm32.h"
#include "target/cpu/x86/X86.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace perpend::target {

ArrayRef<const Architecture *> architectures() {
  static const Architecture *const list[] = {&x86(), &aarch64(), &apple(), &riscv(), &wasm32(), &cortexm()};
  return list;
}

static const Architecture *findArchitecture(function_ref<bool(const Architecture &)> isWanted) {
  const auto *found = find_if(architectures(), [&](const Architecture *each) { return isWanted(*each); });
  return found == architectures().end() ? nullptr : *found;
}

static const Architecture *ofTriple(StringRef text) {
  const Triple triple(text);
  return findArchitecture([&](const Architecture &each) {
    return each.type == triple.getArch() && Triple(each.triple).getObjectFormat() == triple.getObjectFormat();
  });
}

const Architecture *architectureOf(const CodeGenerator &code) { return ofTriple(code.triple); }

const Architecture *architectureOfElf(uint16_t elfMachine) {
  return findArchitecture([&](const Architecture &each) { return each.linksElf() && each.elfMachine == elfMachine; });
}

const Board *boardOf(const CodeGenerator &code) {
  const Architecture *architecture = architectureOf(code);
  const ArrayRef<Board> boards = architecture ? architecture->boards : ArrayRef<Board>();
  const auto *found = find_if(boards, [&](const Board &each) { return each.cpu == code.cpu; });
  return found == boards.end() ? nullptr : found;
}

const Architecture *hostArchitecture() { return ofTriple(sys::getProcessTriple()); }

std::string architectureNames() {
  return join(map_range(architectures(), [](const Architecture *each) { return each->name; }), ", ");
}

} // namespace perpend::target
