//===- Architecture.cpp - the list of architectures -----------------------===//
#include "target/cpu/Architecture.h"
#include "target/cpu/x86/X86.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace perpend::target {

ArrayRef<const Architecture *> architectures() {
  static const Architecture *const list[] = {&x86()};
  return list;
}

const Architecture *architectureOf(const CodeGenerator &code) {
  const Triple::ArchType type = Triple(code.triple).getArch();
  const auto *found = find_if(architectures(), [&](const Architecture *each) { return each->type == type; });
  return found == architectures().end() ? nullptr : *found;
}

std::string architectureNames() {
  return join(map_range(architectures(), [](const Architecture *each) { return Triple::getArchTypeName(each->type); }),
              ", ");
}

} // namespace perpend::target
