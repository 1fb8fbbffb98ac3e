//===- Records.cpp - what tuning has found, for kernels that are compiled -===//
//
// Behind `fuse` each kernel gets the trace of its record; behind `schedule` it is
// known which of them the primitives have refused.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"

#include "graph/Attributes.h"
#include "support/ReadableText.h"
#include "tile/Attributes.h"
#include "tile/schedule/Primitives.h"

#include "perpend.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace perpend {

LogicalResult Compilation::openDatabase() {
  llvm::Expected<tune::Database> opened = tune::Database::open(options.database, /*mayCreate=*/false);
  if (!opened)
    return fail(opened.takeError());
  database.emplace(std::move(*opened));
  return first == "schedule" ? attachRecords() : success();
}

static RecordUse useOf(const tune::Record &record) {
  bool isOurs = record.isOf(PERPEND_VERSION, tile::versionOf(tile::primitives()));
  std::string text = llvm::formatv("gain {0:f2}x", record.gain()).str();
  text += (record.key.symbols.empty() ? "" : " with " + record.key.symbols) + ", " +
          support::counted(static_cast<size_t>(record.key.threads), "thread");
  if (!isOurs)
    text += "; found by perpend " + record.compiler +
            (record.compiler == PERPEND_VERSION ? " with other primitives" : "") + ", its trace is still one";
  return {isOurs ? RecordUse::Used : RecordUse::UsedOfOther, "", text};
}

static llvm::Expected<RecordUse> whyNone(const tune::Database &database, StringRef structure, StringRef target) {
  llvm::Expected<std::vector<std::string>> targets = database.otherTargets(structure, target);
  if (!targets)
    return targets.takeError();
  if (targets->empty())
    return RecordUse{RecordUse::None, "", "no record"};
  return RecordUse{RecordUse::OfOtherTarget, "",
                   ("its records are for " + llvm::join(*targets, " and ") + ", expected one for " + target).str()};
}

/// For kernels that no schedule is given for.
LogicalResult Compilation::attachRecords() {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto structure = kernel->getAttrOfType<StringAttr>(graph::structureAttribute);
    if (!kernel->hasAttr(graph::kernelAttribute) || !structure || tile::hasTrace(kernel))
      continue;
    llvm::Expected<std::optional<tune::Record>> record = database->findAny(structure.getValue(), target.name);
    if (!record)
      return fail(record.takeError());
    llvm::Expected<RecordUse> use = *record ? useOf(**record) : whyNone(*database, structure.getValue(), target.name);
    if (!use)
      return fail(use.takeError());
    use->kernel = kernel.getSymName().str();
    if (report)
      report->recordUses.push_back(std::move(*use));
    if (!*record)
      continue;
    SmallVector<StringRef> lines;
    StringRef((*record)->trace).split(lines, '\n');
    kernel->setAttr(tile::traceAttribute, Builder(module.getContext()).getStrArrayAttr(lines));
    kernel->setAttr(tile::recordAttribute, UnitAttr::get(module.getContext()));
  }
  return success();
}

void Compilation::noteRefusedRecords() {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto reason = kernel->getAttrOfType<StringAttr>(tile::refusedRecordAttribute);
    if (!reason)
      continue;
    if (report)
      for (RecordUse &use : report->recordUses)
        if (use.kernel == kernel.getSymName()) {
          use.reason = "refused: " + reason.getValue().str();
          use.kind = RecordUse::Refused;
        }
    kernel->removeAttr(tile::refusedRecordAttribute);
  }
}
} // namespace perpend
