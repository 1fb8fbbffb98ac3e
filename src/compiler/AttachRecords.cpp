//===- AttachRecords.cpp - attaches tuning records to kernels -------------===//
//
// After `fuse` each kernel gets the trace of its record. Only after `schedule` is
// it known which traces the primitives refused.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"

#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"
#include "support/ReadableText.h"
#include "tile/Attributes.h"
#include "tile/kernel/Variants.h"
#include "tile/schedule/Primitives.h"
#include "tune/Ranges.h"

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
            (record.compiler == PERPEND_VERSION ? " with other primitives" : "") + "; its trace still applies";
  return {isOurs ? RecordUse::Used : RecordUse::UsedOfOther, "", text};
}

/// For example "n <= 11: gain …; else: the compiler's own".
static RecordUse useOf(ArrayRef<tune::RangeOfRecord> ranges) {
  RecordUse use{RecordUse::NoGain, "", ""};
  for (const tune::RangeOfRecord &range : ranges) {
    RecordUse part = range.record ? useOf(*range.record) : RecordUse{RecordUse::NoGain, "", "the compiler's own trace"};
    use.reason += use.reason.empty() ? "" : "; ";
    if (ranges.size() > 1)
      use.reason += (range.range ? range.range->str() : "else") + ": ";
    use.reason += part.reason;
    if (part.kind != RecordUse::NoGain && use.kind != RecordUse::UsedOfOther)
      use.kind = part.kind;
  }
  if (use.kind == RecordUse::NoGain)
    use.reason = "no record is a gain over all measured extents";
  return use;
}

static void setTrace(func::FuncOp function, const tune::Record &record) {
  SmallVector<StringRef> lines;
  StringRef(record.trace).split(lines, '\n');
  function->setAttr(tile::traceAttribute, Builder(function.getContext()).getStrArrayAttr(lines));
  function->setAttr(tile::recordAttribute, UnitAttr::get(function.getContext()));
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

/// Attaches traces to the kernel; where ranges of a symbol have different traces, to variants of it.
FailureOr<RecordUse> Compilation::attachRecordsOf(func::FuncOp kernel, StringRef structure) {
  llvm::Expected<std::vector<tune::Record>> records = database->findAll(structure, target.name);
  if (!records)
    return fail(records.takeError());
  if (records->empty()) {
    llvm::Expected<RecordUse> none = whyNone(*database, structure, target.name);
    return none ? FailureOr<RecordUse>(std::move(*none)) : FailureOr<RecordUse>(fail(none.takeError()));
  }
  std::vector<std::string> symbols;
  for (StringRef symbol : graph::symbolsOfKernel(kernel))
    symbols.push_back(symbol.str());
  std::vector<tune::RangeOfRecord> ranges = tune::chooseRanges(*records, symbols);
  for (const tune::RangeOfRecord &range : ranges) // bounded ranges first: they copy the kernel while it has no trace
    if (func::FuncOp function = range.range ? tile::addVariant(kernel, *range.range) : kernel; range.record)
      setTrace(function, *range.record);
  return useOf(ranges);
}

/// For kernels without a given schedule.
LogicalResult Compilation::attachRecords() {
  for (func::FuncOp kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    auto structure = kernel->getAttrOfType<StringAttr>(graph::structureAttribute);
    if (!kernel->hasAttr(graph::kernelAttribute) || !structure || tile::hasTrace(kernel) ||
        kernel->hasAttr(tile::variantsAttribute) || tile::isVariant(kernel))
      continue;
    FailureOr<RecordUse> use = attachRecordsOf(kernel, structure.getValue());
    if (failed(use))
      return failure();
    use->kernel = kernel.getSymName().str();
    if (report)
      report->recordUses.push_back(std::move(*use));
  }
  return success();
}

void Compilation::noteRefusedRecords() {
  auto note = [&](func::FuncOp kernel, func::FuncOp function) {
    auto reason = function->getAttrOfType<StringAttr>(tile::refusedRecordAttribute);
    if (!reason)
      return;
    if (report)
      for (RecordUse &use : report->recordUses)
        if (use.kernel == kernel.getSymName()) {
          std::string why = (tile::isVariant(function) ? tile::rangeOf(function).str() + ": " : "") +
                            "refused: " + reason.getValue().str();
          use.reason = use.kind == RecordUse::Refused ? use.reason + "; " + why : why;
          use.kind = RecordUse::Refused;
        }
    function->removeAttr(tile::refusedRecordAttribute);
  };
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(graph::kernelAttribute) || tile::isVariant(kernel))
      continue;
    for (func::FuncOp variant : tile::variantsOf(kernel))
      note(kernel, variant);
    note(kernel, kernel);
  }
}
} // namespace perpend
