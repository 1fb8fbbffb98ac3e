//===- NodeNames.cpp - names of the model's nodes -------------------------===//

#include "graph/NodeNames.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace perpend::graph {

static void collect(Location location, llvm::SmallSetVector<StringRef, 4> &names) {
  if (auto name = dyn_cast<NameLoc>(location))
    names.insert(name.getName());
  else if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      collect(part, names);
  else if (auto call = dyn_cast<CallSiteLoc>(location))
    collect(call.getCallee(), names);
}

llvm::SmallVector<StringRef> nodeNames(Location location) {
  llvm::SmallSetVector<StringRef, 4> names;
  collect(location, names);
  return llvm::SmallVector<StringRef>(names.begin(), names.end());
}

StringRef nodeName(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : "";
}
} // namespace perpend::graph
