//===- Tuning.cpp - the kernels of a model as tasks for a tuner -----------===//

#include "Tuning.h"

#include "KernelModel.h"
#include "graph/Attributes.h"
#include "graph/Graph.h"
#include "graph/KernelSymbols.h"
#include "tile/Attributes.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace perpend {

func::FuncOp TuningTask::kernelIn(ModuleOp module) const { return module.lookupSymbol<func::FuncOp>(facts.name); }

std::string TuningTask::symbolsText() const {
  std::string text;
  for (const auto &[name, value] : symbols)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return text;
}

/// Of one call, by the machine's peaks.
static double roofOf(const tile::KernelWork &work, const llvm::StringMap<int64_t> &symbols,
                     const target::TargetInfo &target) {
  constexpr double floatBytes = 4;
  std::optional<int64_t> operations = work.operationBytes.evaluate(symbols), bytes = work.bytes.evaluate(symbols);
  if (!operations || !bytes)
    return 0;
  auto moved = static_cast<double>(*bytes);
  return std::max(static_cast<double>(*operations) / floatBytes / target.flopsPerSecond(),
                  moved / target.bytesPerSecondOf(moved));
}

static LogicalResult buildBlocks(ModuleOp module, func::FuncOp kernel) {
  kernel->setAttr(tile::traceAttribute, ArrayAttr::get(kernel.getContext(), {}));
  PassManager passes(module.getContext());
  passes.addPass(tile::createTileBuildBlocks());
  return passes.run(module);
}

static FailureOr<tune::Trace> traceOfRule(const TuningTask &task, CompileOptions options) {
  OwningOpRef<ModuleOp> copy = task.model.get().clone();
  options.startFrom = options.stopAfter = "schedule";
  if (failed(compile(*copy, options, ArtifactKind::SharedLibrary, "")))
    return failure();
  std::string text;
  if (auto lines = task.kernelIn(*copy)->getAttrOfType<ArrayAttr>(tile::traceAttribute))
    for (auto line : lines.getAsRange<StringAttr>())
      text += (line.getValue() + "\n").str();
  std::optional<tune::Trace> trace = tune::readTrace(text);
  if (!trace)
    return (*copy).emitError("perpend bug: the trace of '") << task.facts.name << "' is not one";
  return *trace;
}

FailureOr<std::vector<TuningTask>> tuningTasksOf(ModuleOp module, CompileOptions options,
                                                 const target::TargetInfo &target,
                                                 const llvm::StringMap<int64_t> &symbols, int64_t assumed) {
  options.stopAfter = "fuse";
  if (failed(compile(module, options, ArtifactKind::SharedLibrary, "")))
    return failure();
  std::vector<TuningTask> tasks;
  for (KernelFacts &facts : kernelFactsOf(module)) {
    TuningTask task;
    task.facts = std::move(facts);
    func::FuncOp kernel = task.kernelIn(module);
    if (auto structure = kernel->getAttrOfType<StringAttr>(graph::structureAttribute))
      task.structure = structure.getValue().str();
    llvm::StringMap<int64_t> values, known(symbols);
    module.walk([&](graph::CallKernelOp call) {
      if (call.getKernel() != task.facts.name || !values.empty())
        return;
      for (auto &[name, expression] : graph::symbolsAt(call, kernel)) {
        std::set<std::string> used;
        expression.symbols(used);
        for (const std::string &symbol : used)
          known.try_emplace(symbol, assumed);
        values[name] = expression.evaluate(known).value_or(assumed);
      }
    });
    for (StringRef symbol : graph::symbolsOfKernel(kernel))
      task.symbols.emplace_back(symbol.str(), values.lookup(symbol));
    task.model = kernelModelOf(kernel);
    task.blocks = task.model.get().clone();
    if (failed(buildBlocks(*task.blocks, task.kernelIn(*task.blocks))))
      return failure();
    FailureOr<tune::Trace> trace = traceOfRule(task, options);
    if (failed(trace))
      return failure();
    task.trace = std::move(*trace);
    tasks.push_back(std::move(task));
  }
  for (TuningTask &task : tasks)
    if (auto work = tile::KernelWork::of(task.kernelIn(*task.blocks))) {
      llvm::StringMap<int64_t> values;
      for (const auto &[name, value] : task.symbols)
        values[name] = value;
      task.roofSeconds = roofOf(*work, values, target);
    }
  return tasks;
}

LogicalResult compileTask(const TuningTask &task, const tune::Trace &trace, CompileOptions options, StringRef output) {
  OwningOpRef<ModuleOp> copy = task.model.get().clone();
  SmallVector<Attribute> lines;
  Builder builder(copy->getContext());
  for (const std::string &line : tune::linesOf(trace))
    lines.push_back(builder.getStringAttr(line));
  task.kernelIn(*copy)->setAttr(tile::traceAttribute, builder.getArrayAttr(lines));
  options.startFrom = "schedule";
  options.stopAfter.clear();
  return compile(*copy, options, ArtifactKind::SharedLibrary, output);
}
} // namespace perpend
