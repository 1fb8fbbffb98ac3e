//===- EmitObject.cpp - compiles LLVM IR to an object file ----------------===//
//
// Runs LLVM's standard pipeline with our TargetMachine. Vectors have the machine's full width (LLVM prefers 256 bits on
// several AVX-512 processors); no vector library is assumed; code is position independent.
//
//===----------------------------------------------------------------------===//
#include "target/cpu/EmitObject.h"

#include "support/InternalError.h"
#include "target/Attributes.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/DisjointSums.h"
#include "target/cpu/HalfComparisons.h"
#include "target/cpu/Lanes.h"
#include "target/cpu/WordShuffles.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <array>
#include <mutex>

using namespace llvm;

namespace perpend::target {
namespace {

void initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Architecture *architecture : architectures())
      architecture->initialise();
  });
}

/// At level 0 LLVM's optimisations of IR are skipped, which halves the compile time. Code generation still uses level
/// 1: at LLVM's level 0 all values live in memory, and models would run ten times slower instead of twice.
CodeGenOptLevel codeGenLevel(unsigned optLevel) {
  return CodeGenOpt::getLevel(int(std::clamp(optLevel, 1u, 3u))).value_or(CodeGenOptLevel::Default);
}

Expected<std::unique_ptr<TargetMachine>> makeMachine(const TargetInfo &target, unsigned optLevel) {
  initializeBackend();
  std::string reason;
  const Target *backend = TargetRegistry::lookupTarget(target.code.triple, reason);
  if (!backend)
    return createStringError(formatv("target '{0}': this LLVM cannot generate code for '{1}': {2}", target.name,
                                     target.code.triple, reason));
  TargetOptions options;
  options.FunctionSections = true;
  options.DataSections = true;
  const Architecture *architecture = architectureOf(target.code);
  const Reloc::Model relocation = architecture && architecture->isFixed ? Reloc::Static : Reloc::PIC_;
  options.UseInitArray = true; // constructors in .init_array, which the start object and the dynamic linker run
  return std::unique_ptr<TargetMachine>(backend->createTargetMachine(target.code.triple, target.code.cpu,
                                                                     target.code.attributes, options, relocation,
                                                                     CodeModel::Small, codeGenLevel(optLevel)));
}

void setFunctionAttributes(Function &function, const TargetInfo &target) {
  function.addFnAttr("target-cpu", target.code.cpu);
  if (!target.code.attributes.empty())
    function.addFnAttr("target-features", target.code.attributes);
  function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBytes * 8));
  function.addFnAttr("frame-pointer", "none");
  function.setDoesNotThrow();
  const Architecture *architecture = architectureOf(target.code);
  if (architecture && architecture->prepareFunction)
    architecture->prepareFunction(function, target);
  if (architecture && architecture->isFixed && function.hasFnAttribute(mainAttribute))
    function.addFnAttr(Attribute::MinSize);
}

/// LLVM takes time that is quadratic in the length of a function. That of a long main, a few hundred kernels, is
/// straight code that runs once, so it is not optimised.
void limitTime(Function &function) {
  constexpr unsigned manyInstructions = 4000;
  if (!function.hasFnAttribute(mainAttribute) || function.getInstructionCount() < manyInstructions)
    return;
  function.addFnAttr(Attribute::OptimizeNone);
  function.addFnAttr(Attribute::NoInline);
}

/// For C libraries without roundeven. Kernels run in the mode that rounds to nearest, half to even, where rint is the
/// same.
void replaceRoundEven(Module &module) {
  SmallVector<Function *> intrinsics;
  for (Function &function : module)
    if (function.getIntrinsicID() == Intrinsic::roundeven)
      intrinsics.push_back(&function);
  for (Function *function : intrinsics)
    function->replaceAllUsesWith(Intrinsic::getDeclaration(&module, Intrinsic::rint, function->getReturnType()));
}

void prepare(Module &module, const TargetInfo &target, const TargetMachine &machine) {
  module.setTargetTriple(target.code.triple);
  module.setDataLayout(machine.createDataLayout());
  if (machine.isPositionIndependent())
    module.setPICLevel(PICLevel::BigPIC);
  defineLaneFunctions(module, target);
  const Architecture *architecture = architectureOf(target.code);
  if (architecture && is_contained(split(architecture->libcLacks, ' '), "roundeven"))
    replaceRoundEven(module);
  hideDefinitions(module);
  for (Function &function : module)
    if (!function.isDeclaration()) {
      setFunctionAttributes(function, target);
      limitTime(function);
    }
}

void optimise(Module &module, const TargetInfo &target, TargetMachine &machine, unsigned optLevel) {
  const std::array levels = {OptimizationLevel::O0, OptimizationLevel::O1, OptimizationLevel::O2,
                             OptimizationLevel::O3};
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = optLevel > 0;
  tuning.SLPVectorization = optLevel > 0; // it makes one call of a function's calls for each lane (Lanes.h)
  tuning.LoopInterleaving = optLevel > 0;
  tuning.LoopUnrolling = false;
  PassBuilder builder(&machine, tuning);
  // Loops of a few iterations are unrolled completely, others not at all: they are vectorised by now, and more code is
  // not faster.
  if (optLevel > 0)
    builder.registerLateLoopOptimizationsEPCallback([](LoopPassManager &passes, OptimizationLevel level) {
      passes.addPass(LoopFullUnrollPass(level.getSpeedupLevel()));
    });
  builder.registerVectorizerStartEPCallback([&](FunctionPassManager &passes, OptimizationLevel) {
    passes.addPass(MarkDisjointSums());
    passes.addPass(WidenHalfComparisons(machine));
  });
  builder.registerOptimizerLastEPCallback([&](ModulePassManager &passes, OptimizationLevel) {
    passes.addPass(createModuleToFunctionPassAdaptor(WidenHalfComparisons(machine)));
    passes.addPass(createModuleToFunctionPassAdaptor(BroadcastWords()));
  });
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  TargetLibraryInfoImpl library{Triple(module.getTargetTriple())};
  functions.registerPass([&] { return TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  const OptimizationLevel level = levels[std::min<size_t>(optLevel, 3)];
  ModulePassManager passes =
      optLevel == 0 ? builder.buildO0DefaultPipeline(level) : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, modules);
  if (!releaseLaneFunctions(module, target))
    return;
  ModulePassManager last;
  last.addPass(AlwaysInlinerPass());
  last.addPass(GlobalDCEPass());
  last.run(module, modules);
}

void finish(Module &module, const TargetInfo &target) {
  const Architecture *architecture = architectureOf(target.code);
  if (!architecture || !architecture->finishFunction)
    return;
  for (Function &function : module)
    if (!function.isDeclaration())
      architecture->finishFunction(function, target);
}

Error generate(Module &module, TargetMachine &machine, CodeGenFileType type, raw_pwrite_stream &output) {
  legacy::PassManager passes;
  TargetLibraryInfoImpl library{Triple(module.getTargetTriple())};
  passes.add(new TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, output, nullptr, type))
    return support::internalError("LLVM cannot write this kind of file for " + module.getTargetTriple());
  passes.run(module);
  return Error::success();
}

/// Code generation consumes the module, so the assembly is printed from a copy.
Error printAssembly(const Module &module, TargetMachine &machine, raw_ostream &output) {
  SmallString<0> text;
  raw_svector_ostream stream(text);
  if (Error error = generate(*CloneModule(module), machine, CodeGenFileType::AssemblyFile, stream))
    return error;
  output << text;
  return Error::success();
}

} // namespace

Error verifyIr(const Module &module) {
  std::string problems;
  raw_string_ostream stream(problems);
  if (verifyModule(module, &stream))
    return support::internalError(
        formatv("invalid LLVM IR in module '{0}': {1}", module.getModuleIdentifier(), problems));
  return Error::success();
}

void hideDefinitions(Module &module) {
  for (GlobalValue &value : module.global_values()) {
    if (!value.isDeclaration() && !value.hasLocalLinkage() && !value.getName().starts_with("perpend_module"))
      value.setVisibility(GlobalValue::HiddenVisibility);
    if (value.hasHiddenVisibility())
      value.setDSOLocal(true);
  }
}

Error emitObject(Module &module, const TargetInfo &target, unsigned optLevel, raw_pwrite_stream &output,
                 const EmitTexts &texts) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeMachine(target, optLevel);
  if (!machine)
    return machine.takeError();
  if (Error error = verifyIr(module))
    return error;
  prepare(module, target, **machine);
  optimise(module, target, **machine, optLevel);
  finish(module, target);
  if (texts.optimisedIr)
    *texts.optimisedIr << module;
  if (texts.assembly)
    if (Error error = printAssembly(module, **machine, *texts.assembly))
      return error;
  return generate(module, **machine, CodeGenFileType::ObjectFile, output);
}

void markNoAlias(Function &kernel) {
  AttrBuilder attributes(kernel.getContext());
  attributes.addAttribute(Attribute::NoAlias);
  attributes.addAttribute(Attribute::NoCapture);
  for (Argument &argument : kernel.args())
    if (argument.getType()->isPointerTy())
      argument.addAttrs(attributes);
}

} // namespace perpend::target
