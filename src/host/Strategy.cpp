//===- Strategy.cpp - how places in the arena are chosen ------------------===//

#include "host/Strategy.h"

#include "llvm/ADT/StringExtras.h"

#include <iterator>

using namespace mlir;

namespace perpend::host {

// In the order of runtime::Strategy.
static constexpr llvm::StringLiteral names[] = {defaultStrategy, "greedy-by-size", "greedy-by-breadth", "greedy-by-use",
                                                "apart"};
static_assert(std::size(names) == runtime::strategyCount);

std::optional<runtime::Strategy> strategyOf(StringRef name) {
  const auto *found = llvm::find(names, name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<runtime::Strategy>(found - std::begin(names));
}

runtime::Strategy strategyOf(EntryOp entry) {
  auto name = entry->getAttrOfType<StringAttr>(strategyAttribute);
  return strategyOf(name ? name.getValue() : StringRef(defaultStrategy)).value_or(runtime::Strategy::Best);
}

std::string strategyNames() { return llvm::join(ArrayRef(names), ", "); }
} // namespace perpend::host
