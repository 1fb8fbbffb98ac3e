//===- Scheduler.cpp - schedules a kernel for Python ----------------------===//

#include "python/Scheduler.h"
#include "python/ProgramState.h"

#include "compiler/Compiler.h"
#include "compiler/UserIntrinsics.h"
#include "compiler/VerifyModule.h"
#include "graph/Attributes.h"
#include "support/Nearest.h"
#include "support/ReadableText.h"
#include "target/TargetInfo.h"
#include "tile/Attributes.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/passes/Passes.h"
#include "tile/schedule/KernelTraces.h"
#include "tile/schedule/Primitives.h"
#include "tuning/KernelModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace perpend::python {

std::vector<PrimitiveDescription> describePrimitives() {
  std::vector<PrimitiveDescription> list;
  for (const tile::PrimitiveInfo &info : tile::primitives()) {
    list.push_back({info.name.str(), info.results.str(), info.sentence.str(), {}});
    for (const tile::OperandInfo &operand : info.operands)
      list.back().operands.push_back({operand.name.str(), operand.kind.str(), operand.isOptional, operand.isList()});
  }
  return list;
}

std::string quoted(const std::string &text) { return tile::quotedText(text); }

//===----------------------------------------------------------------------===//
// One kernel of a model
//===----------------------------------------------------------------------===//

struct Scheduler::State {
  State(OwningOpRef<ModuleOp> model, OwningOpRef<ModuleOp> blocks, StringRef name, const target::TargetInfo &target)
      : model(std::move(model)), blocks(std::move(blocks)), name(name), target(target),
        schedule(kernelIn(*this->blocks), target) {}

  func::FuncOp kernelIn(ModuleOp module) const { return module.lookupSymbol<func::FuncOp>(name); }

  /// Main and the kernel on tensors; the kernel as loops around blocks.
  OwningOpRef<ModuleOp> model, blocks;
  std::string name;
  target::TargetInfo target;
  tile::KernelSchedule schedule;
  /// The user's intrinsics together with the compiler's own; null: only the latter.
  std::shared_ptr<tile::IntrinsicLibrary> intrinsics;
};

/// Makes the schedule's intrinsics known to primitives while it lives.
using Scope = std::optional<tile::IntrinsicScope>;
static void enter(Scope &scope, ModuleOp module, std::shared_ptr<tile::IntrinsicLibrary> intrinsics) {
  if (intrinsics)
    scope.emplace(module.getContext(), std::move(intrinsics));
}

static SmallVector<func::FuncOp> kernelsOf(ModuleOp module) {
  SmallVector<func::FuncOp> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(graph::kernelAttribute))
      kernels.push_back(function);
  return kernels;
}

/// The kernel of this name. Null: an error.
static func::FuncOp findKernel(ModuleOp module, const std::string &name, std::string &error) {
  SmallVector<func::FuncOp> kernels = kernelsOf(module);
  std::vector<std::string> names;
  for (func::FuncOp kernel : kernels)
    names.push_back(kernel.getSymName().str());
  if (name.empty() && kernels.size() == 1)
    return kernels.front();
  auto found = llvm::find(names, name);
  if (found != names.end())
    return kernels[found - names.begin()];
  std::string list = llvm::join(names, ", "), near = support::nearest(name, names);
  if (names.empty())
    error = "the model has no kernels: it computes nothing";
  else if (name.empty())
    error = "the model has " + std::to_string(names.size()) + " kernels: " + list + "\nhint: Schedule(model, \"" +
            names.front() + "\")";
  else
    error = "the model has no kernel '" + name + "'\nhint: " + (near.empty() ? "" : "did you mean " + near + "? ") +
            "its kernels are " + list;
  return nullptr;
}

/// Runs the phases that make kernels; if the module has kernels already, verifies them.
static LogicalResult makeKernels(ModuleOp module, const std::string &target, bool isPacked) {
  if (kernelsOf(module).empty()) {
    CompileOptions options;
    options.target = target;
    options.unpacked = !isPacked;
    options.stopAfter = "fuse";
    return perpend::compile(module, options, ArtifactKind::SharedLibrary, "");
  }
  return success(succeeded(verifyModule(module)) && llvm::all_of(kernelsOf(module), [](func::FuncOp kernel) {
                   return succeeded(tile::verifyKernel(kernel));
                 }));
}

static LogicalResult buildBlocks(ModuleOp module, func::FuncOp kernel) {
  kernel->setAttr(tile::traceAttribute, ArrayAttr::get(kernel.getContext(), {}));
  PassManager passes(module.getContext());
  passes.addPass(tile::createTileBuildBlocks());
  return passes.run(module);
}

Scheduler::Scheduler(Program &program, std::unique_ptr<State> state) : program(program), state(std::move(state)) {}
Scheduler::~Scheduler() {
  auto lock = program.lock();
  state.reset();
}

std::unique_ptr<Scheduler> Scheduler::open(Program &program, const std::string &name, const std::string &target,
                                           bool isPacked, const std::string &intrinsics, std::string &error) {
  Program::State &internals = program.internals();
  ErrorText errors(*internals.module->getContext());
  llvm::Expected<target::TargetInfo> machine = target::resolveTarget(target);
  if (!machine) {
    error = llvm::toString(machine.takeError());
    return nullptr;
  }
  std::shared_ptr<tile::IntrinsicLibrary> library;
  if (!intrinsics.empty()) {
    auto read = readIntrinsics(internals.module->getContext(), intrinsics, *machine);
    if (failed(read)) {
      error = errors.take("the intrinsics cannot be read");
      return nullptr;
    }
    library = *read;
  }
  OwningOpRef<ModuleOp> copy = internals.module->clone();
  func::FuncOp kernel;
  if (failed(makeKernels(*copy, target, isPacked)) || !(kernel = findKernel(*copy, name, error))) {
    if (error.empty())
      error = errors.take("the model has no kernels");
    else if (!isPacked && !name.empty())
      error += "; inspect and bench name those of packed=True";
    return nullptr;
  }
  OwningOpRef<ModuleOp> model = kernelModelOf(kernel), blocks = model->clone();
  std::string found = kernel.getSymName().str();
  if (failed(mlir::verify(*model)) || failed(buildBlocks(*blocks, blocks->lookupSymbol<func::FuncOp>(found)))) {
    error = errors.take("the kernel has no form as blocks");
    return nullptr;
  }
  auto state = std::make_unique<State>(std::move(model), std::move(blocks), found, *machine);
  state->intrinsics = std::move(library);
  return std::unique_ptr<Scheduler>(new Scheduler(program, std::move(state)));
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

std::optional<Scheduler::Results> Scheduler::apply(const std::string &primitive,
                                                   const std::vector<std::string> &operands, std::string &error) {
  Scope scope;
  enter(scope, *state->blocks, state->intrinsics);
  tile::TraceInstruction instruction;
  instruction.primitive = primitive;
  instruction.operands.assign(operands.begin(), operands.end());
  if (failed(state->schedule.apply(instruction))) {
    error = support::readable(state->schedule.refusal(), "\n");
    return std::nullopt;
  }
  ArrayRef<std::string> results = state->schedule.trace().back().results;
  return Results(results.begin(), results.end());
}

bool Scheduler::replay(const std::string &text, std::string &error) {
  Scope scope;
  enter(scope, *state->blocks, state->intrinsics);
  tile::TextError wrong;
  std::optional<std::vector<tile::TraceLine>> trace = tile::parseTrace(text, wrong);
  if (trace && succeeded(tile::replay(state->schedule, *trace, wrong)))
    return true;
  error = "line " + std::to_string(wrong.position.line) + ", column " + std::to_string(wrong.position.column) + ": " +
          support::readable(wrong.message, "\n");
  return false;
}

std::string Scheduler::kernelName() const { return state->name; }

std::string Scheduler::text() const {
  func::FuncOp kernel = state->kernelIn(*state->blocks).clone();
  kernel->removeAttr(tile::traceAttribute);
  kernel->removeAttr(tile::scheduleAttribute);
  std::string text;
  llvm::raw_string_ostream(text) << *kernel << "\n";
  kernel.erase();
  return text;
}

std::string Scheduler::trace() const {
  std::string text;
  for (const tile::TraceInstruction &instruction : state->schedule.trace())
    text += instruction.str() + "\n";
  return text;
}

std::string Scheduler::schedule() const {
  auto structure = state->kernelIn(*state->model)->getAttrOfType<StringAttr>(graph::structureAttribute);
  return tile::ScheduleText{state->name, structure ? structure.str() : "", "", state->target.name, {}, trace(), 0}
      .str();
}

bool Scheduler::compile(const OptionValues &values, const std::string &output, Report &report,
                        std::string &error) const {
  Scope scope;
  enter(scope, *state->blocks, state->intrinsics);
  OwningOpRef<ModuleOp> copy = state->model->clone();
  tile::setTrace(state->kernelIn(*copy), state->schedule);
  state->kernelIn(*copy)->removeAttr(tile::scheduledAttribute); // it will be
  OptionValues options = values;
  options.emplace_back("target", state->target.name);
  options.emplace_back("start_from", "schedule");
  return compileModule(*copy, "", options, output, /*wantsExecutable=*/false, report, error);
}
} // namespace perpend::python
