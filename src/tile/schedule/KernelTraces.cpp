//===- KernelTraces.cpp - traces attached to kernels ----------------------===//

#include "tile/schedule/KernelTraces.h"

#include "tile/Attributes.h"
#include "tile/ir/KernelIndices.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "tile/kernel/Variants.h"

#include "llvm/ADT/StringExtras.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Most elements of a local buffer.
static constexpr int64_t mostElements = int64_t{1} << 38;

bool perpend::tile::hasTrace(func::FuncOp kernel) { return kernel->hasAttr(traceAttribute); }

/// The trace, one instruction per line; nullopt if the attribute is malformed.
static std::optional<std::string> traceText(func::FuncOp kernel) {
  auto lines = kernel->getAttrOfType<ArrayAttr>(traceAttribute);
  if (!lines || !llvm::all_of(lines, llvm::IsaPred<StringAttr>))
    return std::nullopt;
  std::string text;
  for (Attribute line : lines)
    text += (cast<StringAttr>(line).getValue() + "\n").str();
  return text;
}

void perpend::tile::setTrace(func::FuncOp kernel, const KernelSchedule &schedule) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> lines;
  for (const TraceInstruction &instruction : schedule.trace())
    lines.push_back(builder.getStringAttr(instruction.str()));
  kernel->setAttr(traceAttribute, builder.getArrayAttr(lines));
  kernel->setAttr(scheduledAttribute, builder.getUnitAttr());
  kernel->removeAttr(traceOriginAttribute);
}

namespace perpend::tile {
/// What is wrong in a trace is the mistake of who wrote it. Some messages end with a hint of their own.
static Diagnostic &operator<<(Diagnostic &diagnostic, const TextError &error) {
  auto [message, advice] = StringRef(error.message).split("\nhint: ");
  return diagnostic << message
                    << graph::Hint(advice.empty() ? "docs/schedule-primitives.md says what primitives take and do"
                                                  : advice);
}
} // namespace perpend::tile

/// Whether every expression of an operation, and every address in 1-D memory, can be computed in 64 bits.
static bool hasCode(Operation *op, KernelIndices &indices) {
  auto isPoison = [](const SymbolicInt &expression) { return expression.isPoison(); };
  if (auto alloc = dyn_cast<AllocOp>(op)) {
    SymbolicInt count = graph::elementCount(alloc.getBuffer().getType().extents());
    return !count.isPoison() && count.constant().value_or(0) <= mostElements;
  }
  if (auto loop = dyn_cast<ForOp>(op))
    return !indices.extentOf(loop).isPoison();
  if (auto block = dyn_cast<BlockOp>(op))
    return llvm::none_of(indices.bindingsOf(block), isPoison) &&
           llvm::none_of(indices.resolve(block.getConditions(), block.getVariables()), isPoison);
  if (!isa<LoadOp, StoreOp>(op))
    return true;
  Access access{op};
  Shape shape = cast<BufferType>(access.buffer().getType()).extents();
  SymbolicInt sum;
  for (auto [index, stride] : llvm::zip(indices.indicesOf(access), graph::rowMajorStrides(shape)))
    sum += index * stride;
  return !simplify(sum, indices.rangesAround(op)).isPoison();
}

/// Refuses kernels whose expressions overflow 64 bits, because of huge factors for example: no code can be emitted for
/// them.
static LogicalResult checkExpressions(func::FuncOp kernel) {
  OwningOpRef<func::FuncOp> compact = kernel.clone();
  compactBuffers(*compact);
  KernelIndices indices;
  WalkResult result = compact->walk([&](Operation *op) {
    if (hasCode(op, indices))
      return WalkResult::advance();
    kernel.emitError("kernel '") << kernel.getSymName()
                                 << "': behind its trace, an index or the size of a buffer is too large or too long an "
                                    "expression"
                                 << graph::ErrorKind::Unsupported << graph::Hint("smaller factors");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult perpend::tile::replayTrace(func::FuncOp kernel, KernelSchedule &schedule) {
  std::string title = "kernel '" + kernel.getSymName().str() + "': ";
  std::optional<std::string> text = traceText(kernel);
  if (!text)
    return kernel.emitError(title) << "expected a list of texts as " << traceAttribute << ", got "
                                   << kernel->getAttr(traceAttribute) << graph::Hint("an instruction is a text");
  TextError error;
  std::optional<std::vector<TraceLine>> trace = parseTrace(*text, error);
  if (trace && succeeded(replay(schedule, *trace, error)))
    return checkExpressions(kernel);
  TextPosition at = error.position;
  if (auto origin = kernel->getAttrOfType<FileLineColLoc>(traceOriginAttribute))
    return emitError(FileLineColLoc::get(origin.getFilename(), origin.getLine() + at.line - 1, at.column))
           << title << error;
  return kernel.emitError(title) << "instruction " << at.line << ", column " << at.column << " of " << traceAttribute
                                 << ": " << error;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

FailureOr<std::vector<ScheduleText>> perpend::tile::readSchedules(MLIRContext *context, StringRef file,
                                                                  StringRef target, bool mayBeSeveral) {
  auto at = [&](TextPosition position) { return FileLineColLoc::get(context, file, position.line, position.column); };
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer)
    return emitError(UnknownLoc::get(context))
           << "cannot read '" << file << "', the " << (mayBeSeveral ? "sketches" : "schedules") << ": "
           << buffer.getError().message() << "\nhint: " << (mayBeSeveral ? "--sketches" : "--schedules")
           << " FILE, which `perpend inspect MODEL --schedules` writes";
  TextError error;
  auto schedules = parseSchedules((*buffer)->getBuffer(), error, mayBeSeveral);
  if (!schedules)
    return emitError(at(error.position)) << error;
  for (const ScheduleText &schedule : *schedules)
    if (!schedule.target.empty() && schedule.target != target)
      return emitError(at(schedule.position))
             << "the schedule of @" << schedule.kernel << " is for the target '" << schedule.target
             << "', expected one for '" << target << "'\nhint: --target " << schedule.target
             << ", or without `for` it is for every target";
  return std::move(*schedules);
}

static StringRef structureOf(func::FuncOp kernel) {
  auto structure = kernel->getAttrOfType<StringAttr>(graph::structureAttribute);
  return structure ? structure.getValue() : "";
}

void perpend::tile::attachTraces(ModuleOp module, ArrayRef<ScheduleText> schedules, StringRef file) {
  Builder builder(module.getContext());
  for (const ScheduleText &schedule : schedules) // remove variants that the module's text had
    if (auto kernel = module.lookupSymbol<func::FuncOp>(schedule.kernel))
      eraseVariants(kernel);
  for (const ScheduleText &schedule : schedules) {
    auto position = FileLineColLoc::get(module.getContext(), file, schedule.position.line, schedule.position.column);
    auto kernel = module.lookupSymbol<func::FuncOp>(schedule.kernel);
    bool isKernel = kernel && kernel->hasAttr(graph::kernelAttribute) && !isVariant(kernel);
    auto range = support::SymbolRange::parse(schedule.range);
    if (isKernel && range && !llvm::is_contained(graph::symbolsOfKernel(kernel), range->symbol)) {
      emitWarning(position) << file << ":" << schedule.position.line << ": the schedule of @" << schedule.kernel
                            << " for " << range->str() << " is not used: the kernel has no symbol '" << range->symbol
                            << "'\nhint: its symbols are " << llvm::join(graph::symbolsOfKernel(kernel), ", ");
      continue;
    }
    if (!isKernel || (!schedule.structure.empty() && schedule.structure != structureOf(kernel))) {
      emitWarning(position)
          << file << ":" << schedule.position.line << ": the schedule of @" << schedule.kernel
          << " is not used: the model has "
          << (isKernel ? "a kernel of this name, with another structure" : "no kernel of this name")
          << "\nhint: perpend inspect --schedules lists those that it has; what is scheduled with plain "
             "operands is compiled so, too (--unpacked)";
      continue;
    }
    SmallVector<StringRef> lines;
    StringRef(schedule.trace).split(lines, '\n');
    if (lines.back().empty())
      lines.pop_back();
    func::FuncOp scheduled = range ? addVariant(kernel, *range) : kernel;
    scheduled->setAttr(traceAttribute, builder.getStrArrayAttr(lines));
    scheduled->setAttr(traceOriginAttribute, FileLineColLoc::get(builder.getStringAttr(file), schedule.firstLine, 1));
  }
}

/// Comments that tell which rule made the trace.
static std::string rulesText(func::FuncOp kernel) {
  std::string text;
  if (auto rules = kernel->getAttrOfType<ArrayAttr>(rulesAttribute))
    for (auto rule : rules.getAsRange<StringAttr>())
      text += ("// " + rule.getValue() + "\n").str();
  return text;
}

std::string perpend::tile::printSchedules(ModuleOp module, StringRef target) {
  std::string text;
  auto print = [&](func::FuncOp kernel, func::FuncOp function) {
    std::optional<std::string> trace = traceText(function);
    if (!trace)
      return;
    ScheduleText schedule{kernel.getSymName().str(),
                          structureOf(kernel).str(),
                          isVariant(function) ? rangeOf(function).str() : "",
                          target.str(),
                          {},
                          rulesText(function) + *trace,
                          0};
    text += (text.empty() ? "" : "\n") + schedule.str();
  };
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (isVariant(kernel))
      continue;
    for (func::FuncOp variant : variantsOf(kernel))
      print(kernel, variant);
    print(kernel, kernel);
  }
  return text;
}
