//===- KeepEntry.cpp - one entry of a module ------------------------------===//

#include "compiler/KeepEntry.h"

#include "graph/Entries.h"
#include "host/Host.h"

using namespace mlir;

namespace perpend {

LogicalResult keepEntry(ModuleOp module, StringRef name) {
  SmallVector<SymbolOpInterface> entries;
  for (func::FuncOp function : graph::entriesOf(module))
    entries.push_back(cast<SymbolOpInterface>(function.getOperation()));
  for (host::EntryOp program : host::entriesOf(module))
    entries.push_back(cast<SymbolOpInterface>(program.getOperation()));
  std::string names;
  SymbolOpInterface kept;
  for (SymbolOpInterface entry : entries) {
    names += (names.empty() ? "'" : ", '") + entry.getName().str() + "'";
    if (!kept && (name.empty() || entry.getName() == name))
      kept = entry;
  }
  if (!kept)
    return module.emitError("entry: expected one of ")
           << (names.empty() ? "none" : names) << ", got '" << name << "'\nhint: perpend inspect lists them";
  for (SymbolOpInterface entry : entries)
    if (entry != kept)
      entry->erase();
  kept.setName("main");
  return success();
}
} // namespace perpend
