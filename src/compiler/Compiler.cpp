//===- Compiler.cpp - from a module to an artifact ------------------------===//
//
// Runs the phases of Pipeline.cpp, then writes the artifact (WriteArtifact.cpp).
// The description of main (weights, names, sizes) is taken just before the last
// phase, which replaces main.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"

#include "compiler/SeveralMachines.h"
#include "compiler/UserIntrinsics.h"
#include "compiler/UserOperators.h"
#include "compiler/VerifyModule.h"
#include "graph/Attributes.h"
#include "graph/BatchInvariance.h"
#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/Graph.h"
#include "graph/passes/FoldedConstants.h"
#include "graph/passes/Passes.h"
#include "host/Segments.h"
#include "host/Strategy.h"
#include "support/InternalError.h"
#include "support/WriteFile.h"
#include "support/ZeroedMemory.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/EmitObject.h"
#include "tile/Attributes.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/ir/VerifyKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace perpend {

ArtifactKind artifactKindOf(StringRef path, bool wantsExecutable) {
  if (wantsExecutable)
    return ArtifactKind::Executable;
  return path.ends_with(".a") ? ArtifactKind::StaticLibrary : ArtifactKind::SharedLibrary;
}

/// Without units whose registers move memory themselves, if all accesses are checked: nothing could check those.
static target::TargetInfo withCheckedUnits(target::TargetInfo machine, ModuleOp module, const CompileOptions &options) {
  if (!options.checked)
    return machine;
  for (const auto &intrinsic : tile::IntrinsicLibrary::of(module.getContext()).list())
    if (intrinsic->tiles)
      std::erase(machine.units, intrinsic->unit);
  return machine;
}

Compilation::Compilation(ModuleOp module, const CompileOptions &options, const target::TargetInfo &target,
                         CompileReport *report)
    : module(module), options(options), target(withCheckedUnits(target, module, options)), report(report),
      dumpFolder(options.dumpPhases), maker(target::makerOf(target)) {
  module.walk([&](graph::ConstantOp constant) {
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob()) {
        original.insert(blob);
        watch.add(blob->getData().data());
      }
  });
}

void Compilation::takeOverConstants(graph::FoldedConstants &folded) {
  llvm::DenseSet<AsmResourceBlob *> taken;
  folded.takeOver(module, taken);
  for (AsmResourceBlob *blob : taken)
    original.erase(blob);
}

static constexpr StringRef overrideHint =
    "\nhint: --override-phase PHASE:FILE, where FILE is one that --dump-phases DIR wrote and you changed";

StringRef firstPhase(ModuleOp module, const CompileOptions &options) {
  if (!options.startFrom.empty())
    return options.startFrom;
  if (!host::entriesOf(module).empty())
    return "lower";
  bool isOfBlocks = llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function->hasAttr(graph::kernelAttribute) && tile::isOnBlocks(function);
  });
  return isOfBlocks ? "schedule" : "";
}

LogicalResult Compilation::checkOptions() {
  if (options.optLevel < 0 || options.optLevel > 3)
    return module.emitError("optimisation level (-O, in Python opt_level): expected 0..3, got ") << options.optLevel;
  if (!llvm::is_contained({"auto", "embed", "beside", "as-is"}, StringRef(options.weights)))
    return module.emitError("weights (--weights): expected one of auto, embed, beside, as-is, got '")
           << options.weights << "'";
  const target::Architecture *architecture = target::architectureOf(target.code);
  if (architecture && !architecture->hasRuntime && !llvm::is_contained({"auto", "embed"}, StringRef(options.weights)))
    return module.emitError("weights (--weights): expected embed for the target '")
           << target.name << "', got '" << options.weights << "'\nhint: an artifact of " << architecture->name
           << " contains its weights";
  if (!host::strategyOf(options.plan))
    return module.emitError("memory plan (--plan): expected one of ")
           << llvm::join(host::strategyNames(), ", ") << ", got '" << options.plan << "'";
  auto numberOf = [](StringRef name) {
    return llvm::find_if(phases(), [&](auto &phase) { return phase.name == name; });
  };
  auto [overridden, file] = StringRef(options.overridePhase).split(':');
  for (StringRef name : {StringRef(options.stopAfter), StringRef(options.startFrom), overridden})
    if (!name.empty() && numberOf(name) == phases().end())
      return module.emitError("no phase is called '")
             << name << "'\nhint: the phases are "
             << llvm::join(llvm::map_to_vector(phases(), [](const Phase &phase) { return phase.name.str(); }), ", ");
  if (!overridden.empty() && file.empty())
    return module.emitError("no file for --override-phase, got '") << overridden << "'" << overrideHint;
  StringRef why = !options.startFrom.empty() ? "'"
                  : first == "lower"         ? "', because main is a host program"
                                             : "', because the module has a kernel of blocks";
  for (auto [option, name] :
       {std::pair("--stop-after", StringRef(options.stopAfter)), {"--override-phase", overridden}})
    if (!name.empty() && !first.empty() && numberOf(name) < numberOf(first))
      return module.emitError(option) << ": the phase '" << name << "' does not run: the compilation starts from '"
                                      << first << why << "\nhint: name a later phase";
  return success();
}

/// Checks that the module can be compiled, and finds the first phase to run.
LogicalResult Compilation::prepareModule() {
  if (!graph::firstEntryOf(module) && host::entriesOf(module).empty())
    return module.emitError("the given module has no function @main\nhint: --dump-phases writes modules to start from");
  if (failed(verifyModule(module)))
    return failure();
  if (options.batchInvariant)
    graph::setBatchInvariant(module);
  first = firstPhase(module, options);
  return checkOptions();
}

/// What a maker of programs does not get, or does not know.
LogicalResult Compilation::checkProgramOptions() {
  auto refuse = [&](const Twine &what, StringRef cure) {
    return module.emitError("target '") << target.name << "': " << what << graph::Hint(cure.str());
  };
  if (options.checked)
    return refuse("--checked is for code of processors", "the simulator checks each access");
  if (!llvm::is_contained({"auto", "embed"}, StringRef(options.weights)))
    return refuse("a program contains its weights, got --weights " + options.weights, "leave --weights out");
  for (const Phase &phase : llvm::reverse(phases())) {
    if (phase.after == &PhaseListener::afterKernelsAreMade)
      break;
    if (phase.name == first)
      return refuse("a program is made from operators, and the compilation starts from '" + first + "'",
                    "start from an earlier phase");
  }
  return success();
}

/// Checks the options that depend on the machine.
LogicalResult Compilation::prepareMachine() {
  if (maker && failed(checkProgramOptions()))
    return failure();
  description.isChecked = options.checked;
  return failure((!options.intrinsics.empty() && failed(readIntrinsics())) ||
                 failed(checkPrecision(module, options.precision, target)) ||
                 (!options.schedules.empty() && failed(readSchedules())) ||
                 (!options.database.empty() && failed(openDatabase())));
}

LogicalResult Compilation::runTo(StringRef last) {
  return runPhases(module, context(), first, last,
                   [&](const Phase &phase, double seconds) { return afterPhase(phase, seconds); });
}

/// Prepares a module that starts at a later phase.
LogicalResult Compilation::prepareGiven() {
  for (auto [phase, next] : llvm::zip(phases().drop_back(), phases().drop_front()))
    if (next.name == first && (failed(checkGiven(phase)) || failed(inferRequirements())))
      return failure();
  // Describing normally happens after `plan`, which has already run.
  if (first == phases().back().name && failed(describe()))
    return failure();
  return success();
}

LogicalResult Compilation::lower() {
  return failure(failed(prepareModule()) || failed(prepareMachine()) || failed(prepareGiven()) ||
                 failed(runTo(options.stopAfter)));
}

LogicalResult Compilation::readIntrinsics() {
  auto library = perpend::readIntrinsics(module.getContext(), options.intrinsics, target);
  if (succeeded(library))
    intrinsics.emplace(module.getContext(), *library);
  return success(succeeded(library));
}

/// Schedules from files apply to kernels as they are before the phase `schedule`.
LogicalResult Compilation::readSchedules() {
  for (const Phase &phase : llvm::reverse(phases())) {
    if (phase.name == "schedule")
      break;
    if (phase.name == first)
      return module.emitError("the option --schedules is for kernels before the phase 'schedule', and the compilation "
                              "starts from '")
             << phase.name << "'\nhint: leave out --schedules, or start from an earlier phase";
  }
  auto read = tile::readSchedules(module.getContext(), options.schedules, target.name);
  if (failed(read))
    return failure();
  schedules = std::move(*read);
  if (first == "schedule")
    attachSchedules();
  return success();
}

LogicalResult Compilation::replaceModule(StringRef file) {
  if (auto opened = llvm::MemoryBuffer::getFileSlice(file, 1, 0); !opened)
    return module.emitError("cannot read '")
           << file << "', the module of --override-phase: " << opened.getError().message() << overrideHint;
  ParserConfig config(module.getContext());
  OwningOpRef<ModuleOp> replacement = parseSourceFile<ModuleOp>(file, config);
  if (!replacement || failed(verifyObjects(*replacement, operatorObjects(module))))
    return failure();
  module.getBodyRegion().takeBody(replacement->getBodyRegion());
  module->setAttrs(replacement.get()->getAttrs());
  return success();
}

/// A module from a file must satisfy the guarantees of all phases that it has passed.
LogicalResult Compilation::checkGiven(const Phase &last) {
  const Phase *broken = nullptr;
  std::optional<graph::ErrorKind> kind;
  std::string advice; // of what a user may have written
  {
    ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
      if (!kind) {
        kind = graph::kindOf(diagnostic);
        advice = diagnostic.str();
      }
      return success();
    });
    for (const Phase &phase : llvm::make_range(phases().begin(), &last + 1))
      if (!broken && failed(phase.check(module, context())))
        broken = &phase;
  }
  if (!broken)
    return success();
  if (kind && *kind != graph::ErrorKind::Internal)
    return module.emitError(advice) << *kind;
  return module.emitError("the given module is not one behind the phase '")
         << last.name << "'" << graph::Hint("expected there: " + broken->guarantees);
}

/// Infers the requirements of the module's operators first: a text file may omit some or all of them.
LogicalResult Compilation::inferRequirements() {
  PassManager passes(module.getContext(), module->getName().getStringRef());
  passes.addPass(graph::createGraphInferRequirements());
  return passes.run(module);
}

LogicalResult Compilation::afterPhase(const Phase &phase, double seconds) {
  if (report)
    report->times.push_back({phase.name.str(), seconds});
  auto [overridden, file] = StringRef(options.overridePhase).split(':');
  if (phase.name == overridden && failed(replaceModule(file)))
    return failure();
  if (bool seesMain = &phase != &phases().back(); phase.name == overridden)
    if ((seesMain && failed(verifyModule(module))) || failed(checkGiven(phase)) ||
        (seesMain && failed(inferRequirements())))
      return failure();
  if (phase.after && failed((this->*phase.after)()))
    return failure();
  if (!dumpFolder.empty() && failed(dump(phase)))
    return failure();
  if (maker && phase.after == &PhaseListener::afterMemoryIsPlanned && phase.name != options.stopAfter)
    lowerMain();
  if (report && report->started)
    report->started(&phase == &phases().back() ? "emit" : (&phase + 1)->name);
  return success();
}

/// Code of an accelerator's scalar core sees one memory. It has main only where the program does not order its steps.
void Compilation::lowerMain() {
  for (host::EntryOp entry : host::entriesOf(module)) {
    if (!maker->needsMain()) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(entry.getBody().front())))
        if (!isa<host::ReturnOp>(op))
          op.erase();
      continue;
    }
    entry.walk([&](Operation *op) {
      for (Value result : op->getResults()) {
        if (auto place = dyn_cast<host::PlaceType>(result.getType()))
          result.setType(host::PlaceType::get(place.getTensor()));
        else if (isa<host::MemoryType>(result.getType()))
          result.setType(
              host::MemoryType::get(module.getContext(), StringAttr::get(module.getContext(), host::hostMemory)));
      }
    });
  }
}

LogicalResult Compilation::afterKernelsAreMade() {
  attachSchedules();
  if (maker && failed(maker->takeKernels(module)))
    return failure();
  return database ? attachRecords() : success();
}

LogicalResult Compilation::afterKernelsAreScheduled() {
  noteRefusedRecords();
  return success();
}

LogicalResult Compilation::afterMemoryIsPlanned() {
  if (options.weights == "as-is" && !memory)
    host::keepInFiles(module);
  if (report)
    report->kernels = kernelFactsOf(module);
  if (failed(describe()) || (maker && failed(maker->takePlan(module))))
    return failure();
  if (shared)
    shareWeights();
  return memory ? keepWeights() : success();
}

/// The memory of a constant that the compilation has made, which the process and the module share from now on.
static target::WeightMemory::Piece pieceOf(AsmResourceBlob &blob) {
  auto owner = std::make_shared<AsmResourceBlob>(std::move(blob));
  target::WeightMemory::Piece piece(owner, owner->getData().data());
  blob = AsmResourceBlob(
      owner->getData(), owner->getDataAlignment(), [piece](void *, size_t, size_t) {},
      /*dataIsMutable=*/false);
  return piece;
}

void Compilation::moveConstants(llvm::function_ref<int64_t(int64_t)> offsetOf) {
  host::moveSegments(module, offsetOf);
  for (StateDescription &state : description.states)
    if (state.initialBytes)
      state.initialOffset = offsetOf(state.initialOffset);
}

/// Behind `plan`: constants stay in the process, and code finds them at their distances from the first.
LogicalResult Compilation::keepWeights() {
  std::map<int64_t, uintptr_t> addresses;
  uintptr_t first = UINTPTR_MAX;
  for (auto [blob, weight] : llvm::zip_equal(description.blobs(), description.weights)) {
    if (blob.bytes.empty())
      continue;
    auto resource = dyn_cast<DenseResourceElementsAttr>(weight.second);
    AsmResourceBlob *made = resource ? resource.getRawHandle().getBlob() : nullptr;
    if (!graph::FoldedConstants::current()->own(made))
      made = nullptr; // its owner may change it
    target::WeightMemory::Piece piece = memory->place(blob.bytes, made ? pieceOf(*made) : nullptr);
    if (!piece)
      return module.emitError("no memory for ")
             << blob.bytes.size() << " bytes of weights\nhint: compile a smaller model, or free memory before";
    addresses[weight.first] = reinterpret_cast<uintptr_t>(piece.get());
    first = std::min(first, addresses[weight.first]);
    report->weights.push_back(std::move(piece));
  }
  description.table.weightsAddress = addresses.empty() ? 0 : first;
  moveConstants([&](int64_t offset) {
    auto found = addresses.find(offset);
    return found == addresses.end() ? 0 : static_cast<int64_t>(found->second - first); // one without bytes is anywhere
  });
  return success();
}

LogicalResult Compilation::fail(llvm::Error error) {
  bool isInternal = error.isA<support::InternalError>();
  InFlightDiagnostic diagnostic = module.emitError();
  if (isInternal)
    diagnostic << graph::ErrorKind::Internal;
  return diagnostic << llvm::toString(std::move(error));
}

LogicalResult Compilation::describe() {
  PrecisionFacts precision = precisionFactsOf(module);
  if (precision.products) // otherwise the artifact computes in f32
    description.precision = precision.type;
  if (report)
    report->precision = precision;
  if (failed(describeModel(module, options.name, target, description)))
    return failure();
  return isBare() ? checkBare() : success();
}

LogicalResult Compilation::dump(const Phase &phase) {
  size_t number = &phase - phases().begin();
  std::error_code error =
      llvm::sys::fs::create_directories(dumpFolder, /*IgnoreExisting=*/true, llvm::sys::fs::all_all);
  llvm::SmallString<128> path(dumpFolder);
  llvm::sys::path::append(path, llvm::formatv("{0}-{1}.mlir", number + 1, phase.name).str());
  if (error)
    return module.emitError("cannot create the folder '")
           << dumpFolder << "': " << error.message() << "\nhint: the folder of --dump-phases";
  if (llvm::Error failed = support::writeFile(path, [&](llvm::raw_ostream &file) { module.print(file); }))
    return fail(std::move(failed));
  return success();
}

uint64_t constantBytesOf(ModuleOp module) {
  uint64_t bytes = 0;
  module.walk([&](graph::ConstantOp constant) {
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
        bytes += blob->getData().size();
  });
  return bytes;
}

/// The folder for memory of constants if they are many; otherwise empty.
static std::string folderOfMemory(ModuleOp module, StringRef output) {
  constexpr uint64_t manyBytes = uint64_t{1} << 30;
  if (output.empty() || constantBytesOf(module) < manyBytes)
    return {};
  StringRef folder = llvm::sys::path::parent_path(output);
  return folder.empty() ? "." : folder.str();
}

LogicalResult compile(ModuleOp module, const CompileOptions &options, ArtifactKind kind, StringRef output,
                      CompileReport *report, target::WeightMemory *memory, bool ownsConstants) {
  auto machines = target::resolveTargets(options.target);
  if (!machines)
    return module.emitError(llvm::toString(machines.takeError()));
  const target::Architecture *architecture = target::architectureOf(machines->front().code);
  const bool isProgram = kind == ArtifactKind::Executable;
  if (architecture && architecture->start.empty() && (isProgram || module->hasAttr(graph::programAttribute)))
    return module.emitError("target '")
           << machines->front().name << "': there are no programs" << (isProgram ? "" : " of language models")
           << " for " << architecture->name << "\nhint: "
           << (isProgram ? "write a library, '-o model" + architecture->libraryEnding.str() + "'"
                         : std::string("`perpend compile` writes the model without its tokenizer"));
  if (machines->size() > 1 && architecture && !architecture->hasRuntime)
    return module.emitError("target '") << options.target << "': nothing chooses among machines where there is no "
                                        << "runtime\nhint: compile an object for each";
  if (machines->size() > 1)
    return compileForMachines(module, options, std::move(*machines), kind, output, report);
  Compilation compilation(module, options, machines->front(), report);
  if (report && kind == ArtifactKind::SharedLibrary)
    compilation.keepWeightsIn(memory);
  graph::FoldedConstants folded;
  if (ownsConstants)
    compilation.takeOverConstants(folded);
  const std::string folder = folderOfMemory(module, output);
  support::MemoryInFiles inFiles(folder.empty() ? nullptr : folder.c_str());
  if (failed(compilation.lower()))
    return failure();
  return compilation.isStopped() ? success() : compilation.write(kind, output);
}

LogicalResult printLlvm(ModuleOp module, const CompileOptions &options, llvm::raw_ostream *ir,
                        llvm::raw_ostream *assembly) {
  auto machine = target::resolveTarget(options.target);
  if (!machine)
    return module.emitError(llvm::toString(machine.takeError()));
  Compilation compilation(module, options, *machine, nullptr);
  llvm::LLVMContext context;
  if (failed(compilation.lower()))
    return failure();
  std::unique_ptr<llvm::Module> translated = compilation.translate(context);
  if (!translated)
    return failure();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  target::EmitTexts texts{ir, assembly};
  if (llvm::Error error =
          target::emitObject(*translated, compilation.machine(), compilation.llvmLevel(), stream, texts))
    return compilation.fail(std::move(error));
  return success();
}
} // namespace perpend
