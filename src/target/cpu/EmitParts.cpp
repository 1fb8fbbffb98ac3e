//===- EmitParts.cpp - One module, several objects, several threads -------===//
//
// LLVM works on one context per thread, so each part is read back from bitcode into its own context and keeps only its
// share of the function bodies. Optimisation, not just code generation, runs in parallel that way. The deal is by
// instruction count, largest first, and does not look at the machine: the same module gives the same objects
// everywhere.
//
//===----------------------------------------------------------------------===//
#include "target/Attributes.h"
#include "target/cpu/EmitObject.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <thread>

using namespace llvm;

namespace perpend::target {
namespace {

using Object = SmallVector<char, 0>;

bool isKernel(const Function &function) {
  return function.hasFnAttribute(kernelAttribute) || function.hasFnAttribute(kernelEntryAttribute);
}

bool isDealt(const Function &function) {
  return !function.isDeclaration() && (!function.hasLocalLinkage() || isKernel(function));
}

/// Gives symbols that exist only once (kernels, variables) a hidden name that other parts can refer to, and that no
/// other model in the same program has.
void exposeAcrossParts(Module &module) {
  const std::string owner = "_" + module.getModuleIdentifier();
  for (Function &function : module)
    if (isKernel(function) && !function.isDeclaration()) {
      function.setLinkage(GlobalValue::ExternalLinkage);
      function.setName(function.getName() + owner);
    }
  unsigned unnamed = 0;
  for (GlobalVariable &variable : module.globals())
    if (variable.hasLocalLinkage() && !variable.isConstant()) {
      variable.setName((variable.hasName() ? variable.getName().str() : "variable_" + std::to_string(unnamed++)) +
                       owner);
      variable.setLinkage(GlobalValue::ExternalLinkage);
    }
  hideDefinitions(module);
}

/// Function name -> part. Largest functions first, each to the part with the least so far.
StringMap<unsigned> dealFunctions(const Module &module, unsigned partCount) {
  std::vector<const Function *> functions;
  for (const Function &function : module)
    if (isDealt(function))
      functions.push_back(&function);
  llvm::sort(functions, [](const Function *a, const Function *b) {
    return std::pair(b->getInstructionCount(), a->getName()) < std::pair(a->getInstructionCount(), b->getName());
  });
  std::vector<size_t> load(partCount, 0);
  StringMap<unsigned> partOf;
  for (const Function *function : functions) {
    const size_t part = size_t(llvm::min_element(load) - load.begin());
    partOf[function->getName()] = unsigned(part);
    load[part] += function->getInstructionCount();
  }
  return partOf;
}

/// Keeps the bodies of one part. Variables that others can see live in part 0.
void keepPart(Module &module, const StringMap<unsigned> &partOf, unsigned part) {
  for (Function &function : module)
    if (auto found = partOf.find(function.getName()); found != partOf.end() && found->second != part)
      function.deleteBody();
  if (part == 0)
    return;
  module.setModuleInlineAsm("");
  for (GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration() && !variable.hasLocalLinkage()) {
      variable.setInitializer(nullptr);
      variable.setLinkage(GlobalValue::ExternalLinkage);
    }
}

Error emitPart(MemoryBufferRef bitcode, const StringMap<unsigned> &partOf, unsigned part, const TargetInfo &target,
               unsigned optLevel, Object &object) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = parseBitcodeFile(bitcode, context);
  if (!module)
    return module.takeError();
  keepPart(**module, partOf, part);
  raw_svector_ostream stream(object);
  return emitObject(**module, target, optLevel, stream);
}

} // namespace

Expected<std::vector<Object>> emitObjectParts(Module &module, const TargetInfo &target, unsigned optLevel,
                                              unsigned partCount) {
  std::vector<Object> objects(std::max(partCount, 1u));
  if (objects.size() == 1) {
    for (Function &function : module)
      if (isKernel(function) && !function.isDeclaration())
        function.setLinkage(GlobalValue::InternalLinkage);
    raw_svector_ostream stream(objects[0]);
    if (Error error = emitObject(module, target, optLevel, stream))
      return std::move(error);
    return objects;
  }
  if (Error error = verifyIr(module))
    return std::move(error);
  exposeAcrossParts(module);
  const StringMap<unsigned> partOf = dealFunctions(module, partCount);
  SmallVector<char, 0> bitcode;
  raw_svector_ostream bitcodeStream(bitcode);
  WriteBitcodeToFile(module, bitcodeStream);
  const MemoryBufferRef buffer(StringRef(bitcode.data(), bitcode.size()), module.getModuleIdentifier());
  std::vector<std::string> problems(partCount);
  const auto work = [&](unsigned part) {
    if (Error error = emitPart(buffer, partOf, part, target, optLevel, objects[part]))
      problems[part] = toString(std::move(error));
  };
  std::vector<std::thread> threads;
  for (unsigned part = 1; part < partCount; ++part)
    threads.emplace_back(work, part);
  work(0);
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &problem : problems)
    if (!problem.empty())
      return createStringError(problem);
  return objects;
}

} // namespace perpend::target
