// From a host program to a program for Ashlar.
#include "Ashlar.h"
#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "graph/Graph.h"
#include "graph/KernelSymbols.h"
#include "target/accelerator/LinkScalarCode.h"
#include "target/accelerator/ReadKernel.h"
#include "target/accelerator/ScalarRecords.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
namespace accelerator = perpend::accelerator;
namespace target = perpend::target;

namespace ashlar {
namespace {

class Maker : public target::ProgramMaker, accelerator::ScalarMemory {
public:
  mlir::LogicalResult takeKernels(mlir::ModuleOp module) override;
  mlir::LogicalResult takePlan(mlir::ModuleOp module) override;
  Error write(const target::ProgramParts &parts, StringRef output) override;
  std::vector<std::string> report() const override { return lines; }

private:
  uint64_t place(StringRef bytes) override;
  uint64_t reserve(StringRef name, uint64_t bytes) override;
  uint64_t addressOf(const accelerator::Spot &spot) const override { return memoryBase + spot.byte; }
  uint64_t addressOfFunction(StringRef name) const override {
    return accelerator::scalarCodeBase + program.scalar.find(name)->byte;
  }
  /// Why the units cannot; empty: they do.
  std::string emitKernel(const accelerator::Step &step);
  void call(StringRef function, uint64_t record);
  void emitSteps();

  mlir::OwningOpRef<mlir::ModuleOp> blocks; ///< the kernels as blocks that no schedule has changed
  accelerator::MainProgram main;
  Program program;
  std::vector<std::string> lines;
};

mlir::LogicalResult Maker::takeKernels(mlir::ModuleOp module) {
  blocks = mlir::ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr(perpend::graph::kernelAttribute))
      blocks->push_back(function.clone());
  mlir::PassManager passes(module.getContext(), mlir::ModuleOp::getOperationName());
  passes.enableVerifier(false);
  passes.addPass(perpend::tile::createTileBuildBlocks());
  return passes.run(*blocks);
}

mlir::LogicalResult Maker::takePlan(mlir::ModuleOp module) {
  mlir::FailureOr<accelerator::MainProgram> made = accelerator::mainProgramOf(module);
  if (failed(made))
    return mlir::failure();
  if (made->dynamic)
    return module.emitError("data decides sizes, or what runs next, which no program for ashlar can have")
           << perpend::graph::Hint("give sizes as numbers, or compile for a processor");
  main = std::move(*made);
  return mlir::success();
}

uint64_t Maker::place(StringRef bytes) {
  const uint64_t byte = reserve("", bytes.size()) - memoryBase;
  program.data.push_back({byte, bytes.str()});
  return memoryBase + byte;
}

uint64_t Maker::reserve(StringRef, uint64_t bytes) {
  const uint64_t byte = alignTo(program.memoryBytes, 64);
  program.memoryBytes = byte + bytes;
  return memoryBase + byte;
}

std::string Maker::emitKernel(const accelerator::Step &step) {
  auto function = blocks->lookupSymbol<mlir::func::FuncOp>(step.kernel);
  if (!function)
    return "a kernel with a schedule for some extents";
  StringMap<int64_t> symbols;
  for (auto [name, value] : zip_equal(perpend::graph::symbolsOfKernel(function), step.symbols))
    symbols[name] = value;
  Expected<accelerator::Kernel> kernel = accelerator::readKernel(function, symbols);
  if (!kernel)
    return toString(kernel.takeError());
  SmallVector<uint64_t> addresses;
  for (const auto &values : {step.inputs, step.outputs})
    for (const accelerator::Value &value : values)
      addresses.push_back(value.spot.byte);
  for (const accelerator::Buffer &buffer : ArrayRef(kernel->buffers).drop_front(kernel->arguments))
    addresses.push_back((buffer.isTable() ? place(buffer.contents)
                                          : reserve("", static_cast<uint64_t>(buffer.elements) * buffer.elementBytes)) -
                        memoryBase);
  const size_t before = program.instructions.size();
  for (const accelerator::Nest &nest : kernel->nests)
    if (std::string problem = emitNest(nest, addresses, program.instructions); !problem.empty()) {
      program.instructions.resize(before);
      return nest.name + ": " + problem;
    }
  return "";
}

void Maker::call(StringRef function, uint64_t record) {
  Instruction instruction;
  instruction.opcode = Opcode::Call;
  instruction.source = static_cast<uint32_t>(program.scalar.find(function)->byte);
  instruction.address = record - memoryBase;
  program.instructions.push_back(instruction);
}

void Maker::emitSteps() {
  size_t kernels = 0, onUnits = 0;
  uint64_t run = 0;
  if (main.heapBytes) {
    run = accelerator::placeRun(*this, main);
    program.run = run - memoryBase;
    call(accelerator::beginFunction, run);
  }
  for (const accelerator::Step &step : main.steps) {
    if (!step.kernel.empty()) {
      ++kernels;
      std::string problem = emitKernel(step);
      if (problem.empty()) {
        ++onUnits;
        continue;
      }
      lines.push_back(formatv("the scalar core runs {0}: {1}", step.kernel, problem));
    }
    accelerator::ScalarCall scalar = accelerator::callOf(*this, step, run);
    call(scalar.function, scalar.record);
  }
  lines.insert(lines.begin(), formatv("the units run {0} of {1} kernels", onUnits, kernels));
  program.instructions.emplace_back();
}

Error Maker::write(const target::ProgramParts &parts, StringRef output) {
  Expected<accelerator::ScalarCode> scalar =
      accelerator::linkScalarCode(parts.objects, accelerator::scalarFunctionsOf(main), sys::path::parent_path(output));
  if (!scalar)
    return scalar.takeError();
  program.scalar = std::move(*scalar);
  program.tables = parts.tables;
  program.memoryBytes = main.end;
  for (const target::WeightBlob &blob : parts.weights)
    program.data.push_back({main.weights.byte + blob.offset, std::string(blob.bytes.begin(), blob.bytes.end())});
  for (const auto &[range, number] : main.scalars)
    program.data.push_back({range.byte, std::string(reinterpret_cast<const char *>(&number), sizeof number)});
  for (const accelerator::Range &range : main.inputs)
    program.inputs.emplace_back(range.byte, range.bytes);
  for (const accelerator::Range &range : main.outputs)
    program.outputs.emplace_back(range.byte, range.bytes);
  emitSteps();
  std::error_code error;
  raw_fd_ostream stream(output, error);
  if (!error)
    stream << ashlar::write(program);
  stream.flush();
  error = stream.has_error() ? stream.error() : error;
  stream.clear_error();
  return error ? createStringError("cannot write '" + output + "': " + error.message()) : Error::success();
}

} // namespace

std::unique_ptr<target::ProgramMaker> makeMaker(const target::TargetInfo &) { return std::make_unique<Maker>(); }

} // namespace ashlar
