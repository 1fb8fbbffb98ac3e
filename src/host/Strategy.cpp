//===- Strategy.cpp - how places in the arena are chosen ------------------===//

#include "host/Strategy.h"

#include <iterator>

using namespace mlir;

namespace perpend::host {

#define PERPEND_NAME(enumerator, name, order, help) name,
static constexpr llvm::StringLiteral names[] = {PERPEND_STRATEGIES(PERPEND_NAME)};
#undef PERPEND_NAME

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

ArrayRef<llvm::StringLiteral> strategyNames() { return names; }
} // namespace perpend::host
