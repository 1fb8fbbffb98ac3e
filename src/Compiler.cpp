//===- Compiler.cpp - from a module to an artifact ---------------------------===//
//
// The phases of Pipeline.cpp, then: LLVM IR with the module's table, objects for
// code and weights, and lld. What later steps need to know of main (weights,
// names, sizes) is read just before the last phase replaces it.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include "Description.h"
#include "Intrinsics.h"
#include "Operators.h"
#include "Pipeline.h"
#include "VerifyModule.h"
#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/Graph.h"
#include "graph/passes/Passes.h"
#include "support/MappedFile.h"
#include "support/WriteFile.h"
#include "target/Attributes.h"
#include "target/Link.h"
#include "target/ScratchDirectory.h"
#include "target/WeightsObject.h"
#include "target/cpu/EmitObject.h"
#include "target/cpu/ModuleTable.h"
#include "tile/Buffers.h"
#include "tile/VerifyKernel.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/KernelTraces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <chrono>

using namespace mlir;

namespace perpend {

ArtifactKind artifactKindOf(StringRef path, bool wantsExecutable) {
  if (wantsExecutable)
    return ArtifactKind::Executable;
  return path.ends_with(".a") ? ArtifactKind::StaticLibrary : ArtifactKind::SharedLibrary;
}

namespace {
/// One compilation: the state that its steps share.
class Compilation {
public:
  Compilation(ModuleOp module, const CompileOptions &options, CompileReport *report)
      : module(module), options(options), report(report) {
    module.walk([&](graph::ConstantOp constant) {
      if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
        if (AsmResourceBlob *blob = resource.getRawHandle().getBlob()) {
          original.insert(blob);
          watch.add(blob->getData().data());
        }
    });
  }

  LogicalResult lower();
  /// Fails where a file that weights lie in has changed.
  LogicalResult checkFiles();
  /// The LLVM IR of the lowered module, with the table.
  std::unique_ptr<llvm::Module> translate(llvm::LLVMContext &context);
  LogicalResult write(ArtifactKind kind, StringRef output);
  bool isStopped() const { return !options.stopAfter.empty(); }
  const target::TargetInfo &machine() const { return *target; }
  unsigned llvmLevel() const { return unsigned(options.optLevel); }
  LogicalResult fail(llvm::Error error) { return module.emitError(llvm::toString(std::move(error))); }

private:
  LogicalResult checkOptions();
  LogicalResult checkPrecision();
  void countProducts();
  LogicalResult afterPhase(const Phase &phase, double seconds);
  LogicalResult replaceModule(StringRef file);
  LogicalResult checkGiven(const Phase &last);
  LogicalResult readSchedules();
  LogicalResult readIntrinsics();
  void attachSchedules() { tile::attachTraces(module, schedules, options.schedules); }
  LogicalResult inferRequirements();
  LogicalResult writeObjects(target::ScratchDirectory &scratch, std::vector<std::string> &objects);
  LogicalResult writeHeader(const target::ScratchDirectory &scratch, StringRef output);
  LogicalResult link(ArtifactKind kind, StringRef output, std::vector<std::string> objects);

  ModuleOp module;
  const CompileOptions &options;
  CompileReport *report;
  StringRef first; ///< phase to run; empty: all
  std::optional<target::TargetInfo> target;
  std::vector<tile::ScheduleText> schedules;
  std::optional<tile::IntrinsicScope> intrinsics;
  ModelDescription description;
  /// Weights are read where the model's file has them.
  support::FileWatch watch;
  /// The constants that the caller's module came with; others made from it may still use them.
  llvm::DenseSet<AsmResourceBlob *> original;
};
} // namespace

static constexpr StringRef overrideHint =
    "\nhint: --override-phase PHASE:FILE, where FILE is one that --dump-phases DIR wrote and you changed";

StringRef firstPhase(ModuleOp module, const CompileOptions &options) {
  bool isOfBlocks = llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function->hasAttr(graph::kernelAttribute) && tile::isOnBlocks(function);
  });
  return options.startFrom.empty() && isOfBlocks ? StringRef("schedule") : StringRef(options.startFrom);
}

/// A precision other than f32 is one that an intrinsic of the machine multiplies.
LogicalResult Compilation::checkPrecision() {
  std::set<std::string> known{"f32"};
  for (const auto &intrinsic : tile::IntrinsicLibrary::of(module.getContext()).list())
    if (const auto &panels = intrinsic->panels; panels && panels->sum.isF32() && panels->left == panels->right &&
                                                isa<FloatType>(panels->left) && intrinsic->missingOn(*target).empty())
      known.insert(graph::nameOf(panels->left));
  if (known.count(options.precision))
    return success();
  return module.emitError("precision (--precision): the machine '")
         << target->name << "' multiplies " << llvm::join(known, ", ") << " with sums of f32, got '"
         << options.precision
         << "'\nhint: leave it out, or compile for another machine (--target); --intrinsics FILE brings products of "
            "other types";
}

/// How many products there are, and how many of them are of the precision; without any the artifact is of f32.
void Compilation::countProducts() {
  uint64_t products = 0, inPrecision = 0;
  module.walk([&](Operation *op) {
    if (!isa<graph::ContractOp, graph::ConvOp, tile::MatmulOp, tile::ConvOp>(op) ||
        !isa<FloatType>(graph::tensorTypeOf(op->getResult(0)).getElementType()))
      return;
    ++products;
    inPrecision += graph::nameOf(graph::tensorTypeOf(op->getOperand(0)).getElementType()) == options.precision;
  });
  if (inPrecision)
    description.precision = options.precision;
  if (report) {
    report->products = products;
    report->productsInPrecision = inPrecision;
  }
}

LogicalResult Compilation::checkOptions() {
  if (options.optLevel < 0 || options.optLevel > 3)
    return module.emitError("optimisation level (-O, in Python opt_level): expected 0..3, got ") << options.optLevel;
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
  bool isOfBlocks = options.startFrom.empty();
  for (auto [option, name] :
       {std::pair("--stop-after", StringRef(options.stopAfter)), {"--override-phase", overridden}})
    if (!name.empty() && !first.empty() && numberOf(name) < numberOf(first))
      return module.emitError(option) << ": the phase '" << name << "' does not run: the compilation starts from '"
                                      << first << (isOfBlocks ? "', as a kernel of the module is of blocks" : "'")
                                      << "\nhint: name a later phase";
  return success();
}

LogicalResult Compilation::lower() {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"); !main || main.isExternal())
    return module.emitError("the given module has no function @main\nhint: --dump-phases writes modules to start from");
  if (failed(verifyModule(module)))
    return failure();
  llvm::Expected<target::TargetInfo> resolved = target::resolveTarget(options.target);
  if (!resolved)
    return fail(resolved.takeError());
  target = *resolved;
  description.isChecked = options.checked;
  first = firstPhase(module, options);
  if (failed(checkOptions()))
    return failure();
  if ((!options.intrinsics.empty() && failed(readIntrinsics())) || failed(checkPrecision()) ||
      (!options.schedules.empty() && failed(readSchedules())))
    return failure();
  for (auto [phase, next] : llvm::zip(phases().drop_back(), phases().drop_front()))
    if (next.name == first && (failed(checkGiven(phase)) || failed(inferRequirements())))
      return failure();
  // The phase behind which the module is described has run before.
  if (first == phases().back().name && failed(describeModel(module, options.name, description)))
    return failure();
  return runPhases(module, {*target, options.optLevel, options.checked, options.unpacked, options.precision}, first,
                   options.stopAfter, [&](const Phase &phase, double seconds) { return afterPhase(phase, seconds); });
}

LogicalResult Compilation::readIntrinsics() {
  auto library = perpend::readIntrinsics(module.getContext(), options.intrinsics, *target);
  if (succeeded(library))
    intrinsics.emplace(module.getContext(), *library);
  return success(succeeded(library));
}

/// They are for kernels as they are before the phase `schedule`.
LogicalResult Compilation::readSchedules() {
  for (const Phase &phase : llvm::reverse(phases())) {
    if (phase.name == "schedule")
      break;
    if (phase.name == first)
      return module.emitError("the option --schedules is for kernels before the phase 'schedule', and the compilation "
                              "starts from '")
             << phase.name << "'\nhint: leave out --schedules, or start from an earlier phase";
  }
  auto read = tile::readSchedules(module.getContext(), options.schedules, target->name);
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

/// A module from a file must hold what the phases guarantee up to that behind which it stands.
LogicalResult Compilation::checkGiven(const Phase &last) {
  const Phase *broken = nullptr;
  std::string advice; // of what a user may have written
  {
    ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
      if (std::string text = diagnostic.str(); advice.empty() && StringRef(text).contains("hint: "))
        advice = text;
      return success();
    });
    for (const Phase &phase : llvm::make_range(phases().begin(), &last + 1))
      if (!broken && (failed(phase.check(module)) || (phase.name == "plan" && failed(tile::verifyPlan(module)))))
        broken = &phase;
  }
  if (!broken)
    return success();
  if (!advice.empty())
    return module.emitError(advice);
  return module.emitError("the given module is not one behind the phase '")
         << last.name << "'\nhint: expected there: " << broken->guarantees;
}

/// What the operators of a module assume is inferred first of all; a file of text need not say it, nor all of it.
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
  if (phase.name == "pack" && options.precision != "f32")
    countProducts();
  if (phase.name == "fuse")
    attachSchedules();
  if (!options.dumpPhases.empty()) {
    size_t number = &phase - phases().begin();
    std::error_code error =
        llvm::sys::fs::create_directories(options.dumpPhases, /*IgnoreExisting=*/true, llvm::sys::fs::all_all);
    llvm::SmallString<128> path(options.dumpPhases);
    llvm::sys::path::append(path, llvm::formatv("{0}-{1}.mlir", number + 1, phase.name).str());
    if (error)
      return module.emitError("cannot create the folder '")
             << options.dumpPhases << "': " << error.message() << "\nhint: the folder of --dump-phases";
    if (llvm::Error failed = support::writeFile(path, [&](llvm::raw_ostream &file) { module.print(file); }))
      return module.emitError(llvm::toString(std::move(failed)));
  }
  // The last moment at which main says what its values are called and where they lie.
  if (phase.name != "plan")
    return success();
  if (report)
    report->kernels = kernelFactsOf(module);
  return describeModel(module, options.name, description);
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

/// A loop that carries a float waits for each sum: as a vector it wants several sums at once, which LLVM decides on
/// where unrolling is not ruled out. Its code grows little, unless it is short and disappears.
static bool mayInterleave(llvm::Loop &loop, llvm::ScalarEvolution &evolution) {
  constexpr unsigned shortCount = 64;
  unsigned count = evolution.getSmallConstantTripCount(&loop);
  bool carriesFloat = llvm::any_of(loop.getHeader()->phis(), [](llvm::PHINode &phi) {
    return phi.getType()->isFloatTy() || phi.getType()->isDoubleTy();
  });
  return loop.isInnermost() && carriesFloat && (count == 0 || count >= shortCount);
}

/// How many vectors go through a loop at once. A processor does not look far enough ahead to overlap iterations that
/// compute much, and waits for each of their operations.
static unsigned vectorsAtOnce(llvm::Loop &loop, llvm::ScalarEvolution &evolution, unsigned lanes) {
  constexpr unsigned longChain = 12, mostVectors = 4, manyVectors = 16;
  unsigned operations = 0, together = mostVectors, count = evolution.getSmallConstantTripCount(&loop);
  for (llvm::BasicBlock *block : loop.blocks())
    operations += llvm::count_if(*block, [](llvm::Instruction &one) { return one.getType()->isFloatTy(); });
  if (!loop.isInnermost() || operations < longChain || (count != 0 && count < lanes))
    return 1;
  while (count != 0 && count / lanes < manyVectors && count / lanes % together != 0)
    together /= 2;
  return together;
}

/// Keeps LLVM from unrolling a short loop completely before it could become a vector. (scf loses loop annotations on
/// its way to LLVM.)
static void keepLoops(llvm::Function &function, unsigned lanes) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  llvm::AssumptionCache assumptions(function);
  llvm::TargetLibraryInfoImpl libraryImplementation;
  llvm::TargetLibraryInfo library(libraryImplementation);
  llvm::ScalarEvolution evolution(function, library, assumptions, dominators, loops);
  for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
    if (mayInterleave(*loop, evolution))
      continue;
    llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.disable", 1);
    if (unsigned vectors = vectorsAtOnce(*loop, evolution, lanes); vectors > 1)
      llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", vectors);
  }
}

/// Kernels are inlined into their entries; their buffers do not overlap.
static void prepareKernels(llvm::Module &module, const target::TargetInfo &target) {
  for (llvm::Function &function : module) {
    if (function.hasLinkOnceODRLinkage()) // helpers of MLIR's own lowering
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (function.isDeclaration() || !function.hasFnAttribute(target::kernelAttribute))
      continue;
    target::markNoAlias(function);
    keepLoops(function, target.vectorLanes(4));
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

std::unique_ptr<llvm::Module> Compilation::translate(llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context, description.table.name);
  if (!ir) {
    module.emitError("perpend bug: the module does not translate to LLVM IR");
    return nullptr;
  }
  for (const char *name : {"perpend_bind", "perpend_sizes", "perpend_run"})
    if (llvm::Function *function = ir->getFunction(name); !function || function->isDeclaration()) {
      module.emitError("the module has no function '") << name << "'\nhint: leave those that the phase 'lower' made";
      return nullptr;
    }
  prepareKernels(*ir, *target);
  target::addModuleTable(*ir, description.table);
  return ir;
}

//===----------------------------------------------------------------------===//
// Objects and linking
//===----------------------------------------------------------------------===//

LogicalResult Compilation::writeObjects(target::ScratchDirectory &scratch, std::vector<std::string> &objects) {
  if (!description.weights.empty()) {
    std::string path = scratch.pathOf("weights.o");
    llvm::Expected<target::WeightsSummary> written = target::writeWeightsObject(
        path, description.table.name, description.blobs(), description.table.weightsBytes, *target);
    if (!written)
      return fail(written.takeError());
    description.table.weightsSymbol = written->symbol;
    description.checksum = llvm::formatv("{0:x-8}", written->checksum).str();
    objects.push_back(path);
    description.releaseWeights(original);
  }
  if (description.needsHandles)
    description.table.texts = description.texts;
  description.table.descriptor = descriptorOf(description, *target);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translate(context);
  if (!ir)
    return failure();
  // In a small module a second part would cost more than the thread beside saves.
  constexpr unsigned smallInstructionCount = 1500;
  const unsigned partCount = ir->getInstructionCount() < smallInstructionCount ? 1 : 2;
  auto parts = target::emitObjectParts(*ir, *target, llvmLevel(), partCount);
  if (!parts)
    return fail(parts.takeError());
  for (auto [number, part] : llvm::enumerate(*parts)) {
    llvm::Expected<std::string> path =
        scratch.write(llvm::formatv("code{0}.o", number).str(), StringRef(part.data(), part.size()));
    if (!path)
      return fail(path.takeError());
    objects.push_back(*path);
  }
  return success();
}

LogicalResult Compilation::writeHeader(const target::ScratchDirectory &scratch, StringRef output) {
  llvm::SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, ".h");
  std::string text;
  llvm::raw_string_ostream stream(text);
  printHeader(description, stream);
  llvm::Expected<std::string> written = scratch.write("header.h", text);
  if (!written)
    return fail(written.takeError());
  llvm::Error error = target::moveIntoPlace(*written, path);
  return error ? fail(std::move(error)) : success();
}

LogicalResult Compilation::checkFiles() {
  std::optional<std::string> changed = watch.changedFile();
  return changed ? LogicalResult(module.emitError(support::changedText(*changed))) : success();
}

LogicalResult Compilation::link(ArtifactKind kind, StringRef output, std::vector<std::string> objects) {
  target::LinkRequest request;
  request.objects = std::move(objects);
  request.output = output.str();
  request.strip = true;
  for (const std::string &object : operatorObjects(module))
    request.objects.push_back(object);
  std::vector<std::string> lazyArchives = target::builtinArchives(*target);
  if (description.needsHandles)
    for (StringRef archive : libraryArchives(module))
      lazyArchives.push_back(archive.str());
  for (const std::string &archive : lazyArchives) {
    llvm::Expected<std::string> library = target::runtimeFilePath(archive);
    if (!library)
      return fail(library.takeError());
    request.lazyArchives.push_back(*library);
  }
  SmallVector<StringRef> archives;
  if (kind == ArtifactKind::Executable)
    archives.push_back("libperpend_main.a");
  archives.push_back("libperpend_runtime.a");
  for (StringRef archive : archives) {
    llvm::Expected<std::string> path = target::runtimeFilePath(archive);
    if (!path)
      return fail(path.takeError());
    request.archives.push_back(*path);
  }
  llvm::Error error = kind == ArtifactKind::SharedLibrary   ? target::linkSharedLibrary(request, *target)
                      : kind == ArtifactKind::StaticLibrary ? target::writeStaticLibrary(request)
                                                            : target::linkExecutable(request, *target);
  return error ? fail(std::move(error)) : success();
}

LogicalResult Compilation::write(ArtifactKind kind, StringRef output) {
  auto scratch = target::ScratchDirectory::createBeside(output);
  if (!scratch)
    return fail(scratch.takeError());
  std::vector<std::string> objects;
  description.table.isMain = kind != ArtifactKind::StaticLibrary;
  auto start = std::chrono::steady_clock::now();
  if (failed(writeObjects(*scratch, objects)) || failed(checkFiles()) || failed(link(kind, output, std::move(objects))))
    return failure();
  if (kind != ArtifactKind::Executable && failed(writeHeader(*scratch, output)))
    return failure();
  if (report) {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    report->times.push_back({"emit", seconds.count()});
    report->descriptor = description.table.descriptor;
    report->weightsBytes = description.table.weightsBytes;
    report->arenaBytes = description.table.staticOffsets ? description.table.staticArenaBytes : -1;
    (void)llvm::sys::fs::file_size(output, report->artifactBytes);
  }
  return success();
}

LogicalResult compile(ModuleOp module, const CompileOptions &options, ArtifactKind kind, StringRef output,
                      CompileReport *report) {
  Compilation compilation(module, options, report);
  if (failed(compilation.lower()))
    return failure();
  return compilation.isStopped() ? success() : compilation.write(kind, output);
}

LogicalResult printLlvm(ModuleOp module, const CompileOptions &options, llvm::raw_ostream *ir,
                        llvm::raw_ostream *assembly) {
  Compilation compilation(module, options, nullptr);
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
