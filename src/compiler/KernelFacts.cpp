//===- KernelFacts.cpp - facts of a kernel for reports --------------------===//

#include "compiler/KernelFacts.h"

#include "graph/Attributes.h"
#include "graph/Graph.h"
#include "graph/KernelSymbols.h"
#include "graph/NodeNames.h"

#include "host/Host.h"
#include "tile/kernel/Variants.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace perpend {

static void addCall(Location loc, const llvm::StringMap<graph::SymbolicInt> &symbols, func::FuncOp kernel,
                    KernelFacts &facts) {
  for (StringRef node : graph::nodeNames(loc))
    if (!llvm::is_contained(facts.nodes, node))
      facts.nodes.push_back(node.str());
  bool isFirst = facts.calls++ == 0;
  std::optional<tile::KernelWork> own = tile::KernelWork::of(kernel);
  if (!own || (!isFirst && !facts.work))
    return facts.work.reset();
  tile::KernelWork here = own->substitute(symbols);
  tile::KernelWork before = facts.work.value_or(tile::KernelWork());
  facts.work = {before.operations + here.operations, before.operationBytes + here.operationBytes,
                before.bytes + here.bytes};
}

std::vector<KernelFacts> kernelFactsOf(ModuleOp module) {
  std::vector<KernelFacts> list;
  llvm::StringMap<size_t> numbers;
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(graph::kernelAttribute)) {
      numbers[kernel.getSymName()] = list.size();
      list.push_back({kernel.getSymName().str(), {}, 0, std::nullopt});
    }
  auto add = [&](Operation *call, StringRef name,
                 llvm::function_ref<llvm::StringMap<graph::SymbolicInt>(Operation *)> symbolsOf) {
    auto kernel = module.lookupSymbol<func::FuncOp>(name);
    if (!kernel)
      return;
    auto functions = tile::variantsOf(kernel); // a call site may run any of the variants
    functions.push_back(kernel);
    for (func::FuncOp function : functions)
      if (auto known = numbers.find(function.getSymName()); known != numbers.end())
        addCall(call->getLoc(), symbolsOf(function), function, list[known->second]);
  };
  module.walk([&](graph::CallKernelOp call) {
    add(call, call.getKernel(), [&](Operation *kernel) { return graph::symbolsAt(call, kernel); });
  });
  module.walk([&](host::LaunchOp launch) {
    add(launch, launch.getKernel(), [&](Operation *kernel) { return launch.symbolsOf(kernel); });
  });
  return list;
}
} // namespace perpend
