//===- Maker.cpp - from a host program to a program for Quoin -------------===//
#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"
#include "target/ProgramMaker.h"
#include "target/quoin/compile/Emitter.h"
#include "target/quoin/compile/MainProgram.h"
#include "target/quoin/compile/ReadKernel.h"
#include "target/quoin/compile/ScalarCode.h"
#include "target/quoin/run/Run.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include "llvm/Support/Path.h"

using namespace llvm;

namespace perpend::quoin {
namespace {

class Maker : public target::ProgramMaker {
public:
  explicit Maker(const target::TargetInfo &target)
      : config(*configNamed(("qn-" + StringRef(target.name).split(':').second).str())) {}

  mlir::LogicalResult takeKernels(mlir::ModuleOp module) override;
  mlir::LogicalResult takePlan(mlir::ModuleOp module) override;
  Error write(const target::ProgramParts &parts, StringRef output) override;
  std::vector<std::string> report() const override;
  bool needsMain() const override { return main.dynamic.has_value(); }

private:
  void readNests(Step &step);

  Config config;
  mlir::OwningOpRef<mlir::ModuleOp> blocks; ///< the kernels as blocks that no schedule has changed
  MainProgram main;
};

mlir::LogicalResult Maker::takeKernels(mlir::ModuleOp module) {
  blocks = mlir::ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr(graph::kernelAttribute))
      blocks->push_back(function.clone());
  mlir::PassManager passes(module.getContext(), mlir::ModuleOp::getOperationName());
  passes.enableVerifier(false);
  passes.addPass(tile::createTileBuildBlocks());
  return passes.run(*blocks);
}

void Maker::readNests(Step &step) {
  auto function = blocks->lookupSymbol<mlir::func::FuncOp>(step.kernel);
  if (!function) {
    step.refusal = "a kernel with a schedule for some extents";
    return;
  }
  StringMap<int64_t> symbols;
  for (auto [name, value] : zip_equal(graph::symbolsOfKernel(function), step.symbols))
    symbols[name] = value;
  Expected<Kernel> kernel = readKernel(function, symbols);
  if (kernel)
    step.nests = std::move(*kernel);
  else
    step.refusal = toString(kernel.takeError());
}

mlir::LogicalResult Maker::takePlan(mlir::ModuleOp module) {
  mlir::FailureOr<MainProgram> made = mainProgramOf(module);
  if (failed(made))
    return mlir::failure();
  main = std::move(*made);
  for (Step &step : main.steps)
    if (!step.kernel.empty())
      readNests(step);
  return mlir::success();
}

std::vector<std::string> Maker::report() const {
  std::vector<std::string> lines;
  if (main.dynamic)
    return {"the scalar core runs the whole model, because data decides sizes or what runs next"};
  size_t kernels = 0;
  for (const Step &step : main.steps) {
    kernels += !step.kernel.empty();
    if (!step.refusal.empty())
      lines.push_back(formatv("the scalar core runs {0}: {1}", step.kernel, step.refusal));
  }
  lines.insert(lines.begin(), formatv("the units run {0} of {1} kernels", kernels - lines.size(), kernels));
  if (main.inOrder)
    lines.push_back(formatv("in {0} parts of the program, units wait for one another", main.inOrder));
  return lines;
}

Error Maker::write(const target::ProgramParts &parts, StringRef output) {
  Expected<ScalarCode> scalar = linkScalarCode(parts.objects, scalarEntriesOf(main), sys::path::parent_path(output));
  if (!scalar)
    return scalar.takeError();
  Expected<Program> program = emitProgram(main, config, std::move(*scalar));
  if (!program)
    return program.takeError();
  for (const target::WeightBlob &blob : parts.weights)
    program->data.push_back(
        {0, main.weights.byte + blob.offset, std::vector<uint8_t>(blob.bytes.begin(), blob.bytes.end())});
  program->tables = parts.tables;
  std::vector<uint8_t> object = writeObject(*program);
  std::error_code error;
  raw_fd_ostream stream(output, error);
  if (!error)
    stream << StringRef(reinterpret_cast<const char *>(object.data()), object.size());
  stream.flush();
  if (stream.has_error())
    error = stream.error();
  stream.clear_error();
  return error ? createStringError("cannot write '" + output + "': " + error.message()) : Error::success();
}

} // namespace
} // namespace perpend::quoin

namespace perpend::target {

ProgramTools quoinMaker() {
  return {
      [](const TargetInfo &target) -> std::unique_ptr<ProgramMaker> { return std::make_unique<quoin::Maker>(target); },
      quoin::loadProgram};
}

} // namespace perpend::target
