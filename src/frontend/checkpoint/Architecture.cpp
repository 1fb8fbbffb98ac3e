//===- Architecture.cpp - the list of architectures -----------------------===//

#include "frontend/checkpoint/Architecture.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::checkpoint {

const Architecture *findArchitecture(StringRef name, bool isGguf) {
  using namespace architectures;
  static const Architecture table[] = {
#define ARCHITECTURE(CONFIG, GGUF, NAMES, DESCRIBE) {CONFIG, GGUF, NAMES, DESCRIBE},
#include "frontend/checkpoint/Architectures.def"
  };
  const auto *found = llvm::find_if(table, [&](const Architecture &each) {
    return !name.empty() && (isGguf ? each.ggufName : each.configName) == name;
  });
  return found == std::end(table) ? nullptr : found;
}

std::string architectureNames(bool isGguf) {
  llvm::SmallVector<StringRef> names;
#define ARCHITECTURE(CONFIG, GGUF, NAMES, DESCRIBE) names.push_back(isGguf ? GGUF : CONFIG);
#include "frontend/checkpoint/Architectures.def"
  llvm::erase_if(names, [](StringRef name) { return name.empty(); });
  return llvm::join(names, ", ");
}
} // namespace perpend::checkpoint
