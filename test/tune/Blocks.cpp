//===- Blocks.cpp - kernels of plain blocks, and their spaces -------------===//

#include "Blocks.h"

#include "tile/Attributes.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace perpend::tune {

static void run(ModuleOp module, std::unique_ptr<Pass> pass) {
  PassManager passes(module.getContext());
  passes.addPass(std::move(pass));
  EXPECT_TRUE(succeeded(passes.run(module)));
}

Blocks::Blocks(const tile::Workload &workload)
    : target(llvm::cantFail(target::resolveTarget("x86-64-v3"))), module(workload.text()) {
  run(*module.module, tile::createTileBuildBlocks());
}

tile::Workload Blocks::named(StringRef name) {
  std::vector<tile::Workload> list = tile::workloads();
  return *llvm::find_if(list, [&](const tile::Workload &workload) { return workload.name == name; });
}

tile::Workload Blocks::product(const std::string &m, const std::string &k, const std::string &n) {
  tile::TensorText a{{m, k}}, b{{k, n}}, c{{m, n}};
  return {"product",
          {a, b},
          "  %r = graph.contract %a, %b batch [] x [] over [1] x [0] : (" + a.str() + ", " + b.str() + ") -> " +
              c.str() + "\n",
          c};
}

Trace Blocks::ruleTrace() {
  OwningOpRef<ModuleOp> copy = module.module->clone();
  run(*copy, tile::createTileScheduleBlocks({target}));
  std::string text;
  for (auto line :
       copy->lookupSymbol<func::FuncOp>("k")->getAttrOfType<ArrayAttr>(tile::traceAttribute).getAsRange<StringAttr>())
    text += line.getValue().str() + "\n";
  return readTrace(text).value();
}

bool Blocks::takes(const Trace &trace) {
  OwningOpRef<func::FuncOp> copy = kernel().clone();
  return succeeded(tile::KernelSchedule(*copy, target).replay(trace));
}

Trace tiledProduct() {
  return readTrace("%b = get_block \"contract\"\n%i, %j, %k = get_loops %b\n%i0, %i1 = split %i, [_, 4]\n"
                   "%j0, %j1 = split %j, [_, 8]\n%k0, %k1 = split %k, [_, 2]\nreorder %i0, %j0, %k0, %i1, %j1, %k1\n"
                   "parallel %i0\nannotate %i0, \"prefetch\", 1 : i64\n")
      .value();
}

double numberOf(const Space &space, const Point &point) {
  double number = 0;
  for (auto [decision, choice] : llvm::zip(space.decisions(), point))
    number = number * static_cast<double>(decision.choices.size()) + choice;
  return number;
}
} // namespace perpend::tune
