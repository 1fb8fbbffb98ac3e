//===- Maker.cpp - from a host program to a program for Quoin -------------===//
#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"
#include "target/ProgramMaker.h"
#include "target/accelerator/LinkScalarCode.h"
#include "target/accelerator/ReadKernel.h"
#include "target/quoin/compile/Emitter.h"
#include "target/quoin/compile/Inlays.h"
#include "target/quoin/compile/MainProgram.h"
#include "target/quoin/compile/Places.h"
#include "target/quoin/compile/Prologues.h"
#include "target/quoin/compile/TableRows.h"
#include "target/quoin/run/Run.h"
#include "tile/kernel/Buffers.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include "llvm/Support/Path.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace llvm;

namespace perpend::quoin {
namespace {

/// What the vector unit computes, or the reader of kernels composes of what it computes.
constexpr const char *unitFunctions[] = {"math.exp", "math.exp2", "math.log",   "math.log2", "math.sin",  "math.cos",
                                         "math.tan", "math.tanh", "math.rsqrt", "math.erf",  "math.powf", "arith.remf"};

class Maker : public target::ProgramMaker {
public:
  explicit Maker(const target::TargetInfo &target)
      : target(target),
        config(*configNamed(("qn-" + StringRef(target.name).split(',').first.split(':').second).str())) {}

  mlir::LogicalResult takeKernels(mlir::ModuleOp module) override;
  mlir::LogicalResult takePlan(mlir::ModuleOp module) override;
  Error write(const target::ProgramParts &parts, StringRef output) override;
  std::vector<std::string> report() const override;
  bool needsMain() const override { return main.dynamic.has_value(); }

private:
  void readNests(Step &step);

  target::TargetInfo target;
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
  const std::vector<std::string> kept(std::begin(unitFunctions), std::end(unitFunctions));
  target::TargetInfo units = target;
  units.hasF64 = false; // which only the scalar core has
  passes.addPass(tile::createTileExpandMath({units, kept}));
  return passes.run(*blocks);
}

/// Of small constants of f32, such as scales of channels.
static void noteMagnitudes(Kernel &kernel, unsigned buffer, mlir::ElementsAttr numbers) {
  constexpr int64_t mostNumbers = 1 << 16;
  if (!numbers.getElementType().isF32() || numbers.getNumElements() == 0 || numbers.getNumElements() > mostNumbers)
    return;
  std::vector<char> storage;
  const ArrayRef<char> bytes = tile::constantBytes(numbers, storage);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    const double magnitude = std::fabs(double(number));
    least = std::min(least, std::isnan(number) ? 0 : magnitude);
    most = std::isnan(number) ? std::numeric_limits<double>::infinity() : std::max(most, magnitude);
  }
  for (std::vector<Nest> *nests : {&kernel.nests, &kernel.bordered})
    for (Nest &nest : *nests)
      for (Node &node : nest.nodes)
        if (node.kind == Node::Load && node.access.buffer == buffer) {
          node.least = least;
          node.most = most;
        }
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
  SmallVector<mlir::ElementsAttr> contents;
  for (const Value &input : step.inputs)
    contents.push_back(input.contents);
  Expected<accelerator::Kernel> kernel = accelerator::readKernel(function, symbols, contents);
  if (!kernel) {
    step.refusal = toString(kernel.takeError());
    return;
  }
  step.nests = unitsKernel(std::move(*kernel));
  delayLookups(step.nests->nests);
  for (auto [buffer, numbers] : enumerate(contents))
    if (numbers)
      noteMagnitudes(*step.nests, static_cast<unsigned>(buffer), numbers);
}

mlir::LogicalResult Maker::takePlan(mlir::ModuleOp module) {
  mlir::FailureOr<accelerator::MainProgram> made = accelerator::mainProgramOf(module);
  if (failed(made))
    return mlir::failure();
  main = unitsMain(std::move(*made));
  for (Step &step : main.steps)
    if (!step.kernel.empty())
      readNests(step);
  return mlir::success();
}

std::vector<std::string> Maker::report() const {
  std::vector<std::string> lines;
  if (main.dynamic)
    return {"the scalar core runs the whole model, because data decides sizes or what runs next: " +
            main.dynamic->cause};
  size_t kernels = 0;
  std::set<std::string> calls;
  for (const Step &step : main.steps) {
    if (step.call) {
      calls.insert(step.call->function);
      continue;
    }
    kernels += !step.kernel.empty();
    if (!step.refusal.empty())
      lines.push_back(formatv("the scalar core runs {0}: {1}", step.kernel, step.refusal));
  }
  lines.insert(lines.begin(), formatv("the units run {0} of {1} kernels", kernels - lines.size(), kernels));
  for (const std::string &function : calls)
    lines.push_back(formatv("the scalar core runs {0}: a function of the library", function));
  if (main.inOrder)
    lines.push_back(formatv("in {0} parts of the program, units wait for one another", main.inOrder));
  return lines;
}

Error Maker::write(const target::ProgramParts &parts, StringRef output) {
  Expected<ScalarCode> scalar =
      accelerator::linkScalarCode(parts.objects, scalarEntriesOf(main), sys::path::parent_path(output));
  if (!scalar)
    return scalar.takeError();
  if (main.dynamic && !main.dynamic->functions.empty())
    main.tables = parts.tables;
  Decisions decisions;
#define PERPEND_DECISION(name, member) decisions.member = target.takes(name);
#include "target/quoin/compile/Decisions.def"
  const MainProgram apart = main;
  joinPrologues(main, config, decisions);
  const bool hasInlays = layInside(main, config, decisions), isShared = sharePlaces(main, config, decisions);
  Expected<Program> program = emitProgram(main, config, decisions, *scalar);
  if (program && ((isShared && hasRefusedOverwrites(main)) || (hasInlays && hasRefusedInlays(main)) ||
                  hasRefusedPrologues(main))) {
    main = apart;
    program = emitProgram(main, config, decisions, std::move(*scalar));
  }
  if (!program)
    return program.takeError();
  // What lies between constants is written, too: those that lie side by side are copied together (Prefetch).
  constexpr uint64_t line = 64;
  for (const target::WeightBlob &blob : parts.weights) {
    Data &data = program->data.emplace_back(
        Data{0, main.weights.byte + blob.offset, std::vector<uint8_t>(blob.bytes.begin(), blob.bytes.end())});
    uint64_t end = alignTo(blob.offset + blob.bytes.size(), line);
    for (const target::WeightBlob &other : parts.weights)
      end = other.offset > blob.offset ? std::min(end, other.offset) : end;
    data.bytes.resize(std::max<uint64_t>(std::min(end, main.weights.bytes) - blob.offset, blob.bytes.size()));
  }
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
