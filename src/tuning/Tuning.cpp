//===- Tuning.cpp - the kernels of a model as tuning tasks ----------------===//

#include "tuning/Tuning.h"

#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/Graph.h"
#include "graph/KernelSymbols.h"
#include "tile/Attributes.h"
#include "tile/passes/Passes.h"
#include "tuning/KernelModel.h"

#include "mlir/Pass/PassManager.h"

#include <utility>

using namespace mlir;

namespace perpend {

func::FuncOp TuningTask::kernelIn(ModuleOp module) const { return module.lookupSymbol<func::FuncOp>(facts.name); }

std::string TaskExtents::str() const {
  std::string text;
  for (const auto &[name, value] : symbols)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return text;
}

/// Lower bound of the time of one call, from the machine's peak rates.
static double roofOf(int64_t operationBytes, int64_t bytes, const target::Machine &target) {
  constexpr double floatBytes = 4;
  auto moved = static_cast<double>(bytes);
  return std::max(static_cast<double>(operationBytes) / floatBytes / target.flopsPerSecond(),
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
    return graph::emitInternalError((*copy).getLoc()) << "the trace of '" << task.facts.name << "' is not one";
  return *trace;
}

static TaskExtents extentsOf(func::FuncOp kernel, graph::CallKernelOp call, const ExtentSet &set, int64_t assumed) {
  llvm::StringMap<int64_t> values, known(set.symbols);
  if (call)
    for (auto &[name, expression] : graph::symbolsAt(call, kernel)) {
      std::set<std::string> used;
      expression.symbols(used);
      for (const std::string &symbol : used)
        known.try_emplace(symbol, assumed);
      values[name] = expression.evaluate(known).value_or(assumed);
    }
  TaskExtents extents;
  for (StringRef symbol : graph::symbolsOfKernel(kernel))
    extents.symbols.emplace_back(symbol.str(), values.lookup(symbol));
  return extents;
}

static void findWork(TuningTask &task, const target::Machine &target) {
  std::optional<tile::KernelWork> work = tile::KernelWork::of(task.kernelIn(*task.blocks));
  for (TaskExtents &extents : task.extents) {
    llvm::StringMap<int64_t> values;
    for (const auto &[name, value] : extents.symbols)
      values[name] = value;
    extents.calls = task.facts.calls;
    if (!work)
      continue;
    std::optional<int64_t> operations = work->operationBytes.evaluate(values), bytes = work->bytes.evaluate(values);
    extents.bytes = bytes.value_or(0);
    extents.roofSeconds = operations && bytes ? roofOf(*operations, *bytes, target) : 0;
  }
}

static void findOtherBytes(std::vector<TuningTask> &tasks) {
  for (size_t set = 0; !tasks.empty() && set < tasks.front().extents.size(); ++set) {
    int64_t all = 0;
    for (const TuningTask &task : tasks)
      all += task.extents[set].calls * task.extents[set].bytes;
    for (TuningTask &task : tasks)
      if (TaskExtents &extents = task.extents[set]; extents.calls > 0)
        extents.otherBytes = all / extents.calls - extents.bytes;
  }
}

FailureOr<std::vector<TuningTask>> tuningTasksOf(ModuleOp module, CompileOptions options, const target::Machine &target,
                                                 ArrayRef<ExtentSet> sets, int64_t assumed) {
  options.stopAfter = "fuse";
  if (failed(compile(module, options, ArtifactKind::SharedLibrary, "")))
    return failure();
  llvm::StringMap<graph::CallKernelOp> calls; // the first call of each kernel
  module.walk([&](graph::CallKernelOp call) { calls.try_emplace(call.getKernel(), call); });
  std::vector<TuningTask> tasks;
  for (KernelFacts &facts : kernelFactsOf(module)) {
    TuningTask task;
    task.facts = std::move(facts);
    func::FuncOp kernel = task.kernelIn(module);
    if (auto structure = kernel->getAttrOfType<StringAttr>(graph::structureAttribute))
      task.structure = structure.getValue().str();
    for (const ExtentSet &set : sets)
      task.extents.push_back(extentsOf(kernel, calls.lookup(task.facts.name), set, assumed));
    task.model = kernelModelOf(kernel);
    task.blocks = task.model.get().clone();
    if (failed(buildBlocks(*task.blocks, task.kernelIn(*task.blocks))))
      return failure();
    FailureOr<tune::Trace> trace = traceOfRule(task, options);
    if (failed(trace))
      return failure();
    task.trace = std::move(*trace);
    findWork(task, target);
    tasks.push_back(std::move(task));
  }
  findOtherBytes(tasks);
  return tasks;
}

//===----------------------------------------------------------------------===//
// Several sets, several models
//===----------------------------------------------------------------------===//

static std::vector<double> weightsOf(ArrayRef<TuningTask> tasks, ArrayRef<ExtentSet> sets) {
  double weights = 0, longest = 0;
  std::vector<double> roofs(sets.size(), 0);
  for (const TuningTask &task : tasks)
    for (auto [extents, roof] : llvm::zip(task.extents, roofs))
      roof += static_cast<double>(extents.calls) * extents.roofSeconds;
  for (auto [set, roof] : llvm::zip(sets, roofs))
    weights += set.weight, longest = std::max(longest, roof);
  std::vector<double> results;
  for (auto [set, roof] : llvm::zip(sets, roofs))
    results.push_back(set.weight / weights * (roof > 0 ? longest / roof : 1));
  return results;
}

/// Renames the symbols to those of the task. If the task has the same extents already, adds up their weights.
static void addExtents(TuningTask &task, TaskExtents added, bool isOfOtherModel) {
  if (!task.extents.empty())
    for (auto [symbol, first] : llvm::zip(added.symbols, task.extents.front().symbols))
      symbol.first = first.first;
  auto known = llvm::find_if(task.extents, [&](const TaskExtents &one) { return one.symbols == added.symbols; });
  if (known == task.extents.end()) {
    task.extents.push_back(std::move(added));
    return;
  }
  known->calledWeight += added.calledWeight;
  known->otherBytes = std::max(known->otherBytes, added.otherBytes);
  if (isOfOtherModel) {
    known->calls += added.calls;
    known->setWeight = std::max(known->setWeight, added.setWeight);
  } else {
    known->setWeight += added.setWeight;
  }
}

std::vector<TuningTask> mergeTasks(std::vector<TuningTask> tasks, ArrayRef<ExtentSet> sets) {
  std::vector<double> weights = weightsOf(tasks, sets);
  std::vector<TuningTask> merged;
  for (TuningTask &task : tasks) {
    std::vector<TaskExtents> ofSets = std::exchange(task.extents, {});
    for (auto [extents, weight, set] : llvm::zip(ofSets, weights, sets)) {
      extents.calledWeight = weight * static_cast<double>(extents.calls);
      extents.setWeight = set.weight;
      addExtents(task, std::move(extents), /*isOfOtherModel=*/false);
    }
    auto same = llvm::find_if(
        merged, [&](const TuningTask &known) { return !task.structure.empty() && known.structure == task.structure; });
    if (same == merged.end())
      merged.push_back(std::move(task));
    else
      for (TaskExtents &extents : task.extents)
        addExtents(*same, std::move(extents), /*isOfOtherModel=*/true);
  }
  return merged;
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
