//===- PassEquivalenceTest.cpp - passes keep the values -------------------===//
//
// Small modules are interpreted before and after passes on random inputs, with
// the symbol n at 0, 1 and primes: each graph pass alone, and every step of the
// compiler's order on what the steps before have made. That each pass changes
// some module is tested as well, so that equality means something.
//
//===----------------------------------------------------------------------===//

#include "PassCases.h"

#include "../interp/Module.h"

#include "graph/Graph.h"
#include "graph/passes/Passes.h"
#include "host/passes/Passes.h"
#include "target/TargetInfo.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cmath>
#include <functional>

using namespace perpend;
using interp::Module;
using interp::Tensor;

namespace perpend::graph {
static void PrintTo(const PassCase &passCase, std::ostream *out) { *out << passCase.name; }
} // namespace perpend::graph

namespace {
struct Step {
  std::string name;
  std::function<void(mlir::OpPassManager &)> add;
};

template <typename Pass> std::function<void(mlir::OpPassManager &)> nested(Pass create) {
  return [create](mlir::OpPassManager &passes) { passes.addNestedPass<mlir::func::FuncOp>(create()); };
}

void addFuseUnfused(mlir::OpPassManager &passes) {
  graph::GraphFuseKernelsOptions options;
  options.isEnabled = false;
  passes.addPass(graph::createGraphFuseKernels(options));
}

std::vector<Step> graphSteps() {
  auto pack = [](const char *name) {
    return [target = llvm::cantFail(target::resolveTarget(name))](mlir::OpPassManager &passes) {
      passes.addPass(tile::createTilePackOperands({target}));
    };
  };
  return {{"graph_place_scales", [](auto &passes) { passes.addPass(graph::createGraphPlaceScales()); }},
          {"graph_make_nests", [](auto &passes) { passes.addPass(graph::createGraphMakeNests()); }},
          {"graph_simplify", [](auto &passes) { passes.addPass(graph::createGraphSimplify()); }},
          {"graph_place_channels_last", nested([] { return graph::createGraphPlaceChannelsLast(); })},
          {"graph_place_transposes", nested([] { return graph::createGraphPlaceTransposes(); })},
          {"graph_place_products", nested([] { return graph::createGraphPlaceProducts(); })},
          {"graph_place_small_transposes", nested([] { return graph::createGraphPlaceSmallTransposes(); })},
          {"tile_pack_operands", pack("x86-64-v4,+avx512vnni")},
          {"tile_pack_operands_narrow", pack("x86-64")},
          {"graph_fuse_maps", nested([] { return graph::createGraphFuseMaps(); })},
          {"graph_place_reshapes", nested([] { return graph::createGraphPlaceReshapes(); })},
          {"graph_fuse_kernels", [](auto &passes) { passes.addPass(graph::createGraphFuseKernels()); }},
          {"graph_fuse_kernels_off", addFuseUnfused}};
}

/// The compiler's order down to what the interpreter can still run.
std::vector<Step> pipelineSteps() {
  auto steps = graphSteps();
  auto step = [&](const char *name) {
    return *llvm::find_if(steps, [&](const Step &candidate) { return candidate.name == name; });
  };
  return {{"graph_infer_requirements", [](auto &passes) { passes.addPass(graph::createGraphInferRequirements()); }},
          step("graph_place_scales"),
          step("graph_simplify"),
          step("graph_place_channels_last"),
          step("graph_place_transposes"),
          step("graph_place_small_transposes"),
          step("graph_place_products"),
          step("graph_place_small_transposes"),
          step("graph_simplify"),
          step("tile_pack_operands"),
          step("graph_simplify"),
          step("graph_fuse_maps"),
          step("graph_place_reshapes"),
          step("graph_fuse_maps"),
          step("graph_fuse_kernels"),
          {"tile_build_blocks", [](auto &passes) { passes.addPass(tile::createTileBuildBlocks()); }},
          {"tile_schedule_blocks", [](auto &passes) { passes.addPass(tile::createTileScheduleBlocks()); }},
          {"tile_flatten_blocks", [](auto &passes) { passes.addPass(tile::createTileFlattenBlocks()); }},
          {"canonicalize", [](auto &passes) { passes.addPass(mlir::createCanonicalizerPass()); }},
          {"host_plan_memory", [](auto &passes) { passes.addPass(host::createHostPlanMemory()); }},
          {"tile_lower_intrinsics", [](auto &passes) { passes.addPass(tile::createTileLowerIntrinsics()); }},
          {"tile_expand_rounding", [](auto &passes) { passes.addPass(tile::createTileExpandRounding()); }},
          {"tile_expand_math", [](auto &passes) { passes.addPass(tile::createTileExpandMath()); }}};
}

/// A module of the cases with the compiler's folding of constants.
struct CaseModule : Module {
  explicit CaseModule(const graph::PassCase &passCase) : Module(passCase.text) {
    context.getLoadedDialect<graph::GraphDialect>()->evaluator = [](mlir::Operation *op, auto operands, auto &results) {
      return interp::evaluate(op, operands, results);
    };
  }

  bool apply(const Step &step) {
    mlir::PassManager passes(&context);
    step.add(passes);
    return mlir::succeeded(passes.run(*module));
  }

  std::string text() {
    std::string result;
    llvm::raw_string_ostream out(result);
    module->print(out);
    return result;
  }
};

/// Inputs and expected results, for every value of the symbol.
class PassEquivalenceTest : public ::testing::TestWithParam<graph::PassCase> {
protected:
  void expectSameValues(CaseModule &module, const std::string &what, unsigned parts) {
    CaseModule original(GetParam());
    for (int64_t n : {0, 1, 2, 3, 7, 13}) {
      std::vector<Tensor> before = original.run(inputsFor(original, n));
      if (n < GetParam().leastN) {
        EXPECT_TRUE(before.empty()) << "n = " << n << " is fine";
        continue;
      }
      ASSERT_FALSE(before.empty()) << original.messages;
      interp::InterpreterOptions options;
      options.kernelParts = parts;
      std::vector<Tensor> after = module.run(inputsFor(module, n), options);
      ASSERT_EQ(after.size(), before.size()) << what << " n = " << n << "\n" << module.messages << module.text();
      for (size_t result = 0; result < after.size(); ++result) {
        SCOPED_TRACE(what + ", n = " + std::to_string(n) + ", result " + std::to_string(result));
        ASSERT_NO_FATAL_FAILURE(expectSameValues(after[result], before[result])) << module.text();
      }
    }
  }

  static void expectSameValues(const Tensor &after, const Tensor &before) {
    ASSERT_EQ(after.shape, before.shape);
    for (int64_t i = 0; i < after.elementCount(); ++i) {
      float expected = before.elements<float>()[i];
      if (after.elements<float>()[i] == expected) // infinite, too
        continue;
      ASSERT_NEAR(after.elements<float>()[i], expected, 1e-5 * (1 + std::abs(expected))) << "element " << i;
    }
  }

  /// With the extents that PassCase describes; the same values in every module: types belong to a module's context.
  static std::vector<Tensor> inputsFor(Module &module, int64_t n) {
    interp::Random random;
    std::vector<Tensor> inputs;
    for (std::vector<int64_t> shape : GetParam().inputs) {
      for (int64_t &extent : shape)
        extent = extent < 0 ? n - extent - 1 : extent;
      inputs.push_back(random.floats(module.type("f32"), shape));
    }
    return inputs;
  }
};
} // namespace

TEST_P(PassEquivalenceTest, eachPassAlone) {
  for (const Step &step : graphSteps()) {
    CaseModule module(GetParam());
    ASSERT_TRUE(module.apply(step)) << step.name << "\n" << module.messages;
    ASSERT_NO_FATAL_FAILURE(expectSameValues(module, step.name, 1));
  }
}

TEST_P(PassEquivalenceTest, everyStepOfTheCompiler) {
  CaseModule module(GetParam());
  for (const Step &step : pipelineSteps()) {
    ASSERT_TRUE(module.apply(step)) << step.name << "\n" << module.messages << module.text();
    for (unsigned parts : {1u, 3u})
      ASSERT_NO_FATAL_FAILURE(expectSameValues(module, step.name, parts));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PassEquivalenceTest, ::testing::ValuesIn(graph::passCases()),
                         [](const auto &info) { return info.param.name; });

TEST(PassEquivalenceCoverage, everyPassChangesSomeCase) {
  std::set<std::string> unchanged;
  for (const Step &step : pipelineSteps())
    unchanged.insert(step.name);
  for (const graph::PassCase &passCase : graph::passCases()) {
    CaseModule module(passCase);
    for (const Step &step : pipelineSteps()) {
      std::string before = module.text();
      ASSERT_TRUE(module.apply(step)) << module.messages;
      if (module.text() != before)
        unchanged.erase(step.name);
    }
  }
  for (const std::string &name : unchanged)
    ADD_FAILURE() << name << " changes no case";
}
