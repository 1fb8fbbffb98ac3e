//===- OptTool.cpp - the main function of perpend-opt ---------------------===//

#include "cli/OptTool.h"
#include "Pipeline.h"
#include "interp/Interpreter.h"
#include "target/TargetInfo.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

namespace perpend::cli {
namespace {
struct PhaseOptions : PassPipelineOptions<PhaseOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("as in `perpend compile`"),
                             llvm::cl::init("x86-64-v3")}; // host would make tests depend on the machine
  Option<int64_t> level{*this, "level", llvm::cl::desc("optimisation level, 0 to 3"), llvm::cl::init(3)};
};
} // namespace

static void registerPhase(const Phase &phase) {
  auto build = [&phase](OpPassManager &passes, const PhaseOptions &options) {
    llvm::Expected<target::TargetInfo> target = target::resolveTarget(options.target);
    if (!target) {
      llvm::errs() << "error: " << llvm::toString(target.takeError()) << "\n";
      std::exit(1);
    }
    phase.build(passes, {*target, options.level});
  };
  PassPipelineRegistration<PhaseOptions>(("perpend-" + phase.name).str(), phase.guarantees, build);
}

int runOptTool(int argumentCount, char **arguments) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerDialects(registry);
  interp::registerDialects(registry);
  registerAllPasses();
  registerPasses();
  for (const Phase &phase : phases())
    registerPhase(phase);
  return asMainReturnCode(MlirOptMain(argumentCount, arguments, "Perpend's optimizer\n", registry));
}
} // namespace perpend::cli
