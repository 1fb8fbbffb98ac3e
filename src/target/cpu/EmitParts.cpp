//===- EmitParts.cpp - compiles a module in parallel parts ----------------===//
//
// Threads must not share an LLVMContext. So each part is read back from bitcode into its own context, and keeps only
// its share of the function bodies; optimisation as well as code generation then runs in parallel. Functions are
// distributed by instruction count, largest first, regardless of the machine: the same module gives the same objects
// everywhere. The unit of distribution is a kernel's entry with the local functions that it calls, so that LLVM can
// inline them. A micro-kernel used in several parts is compiled in each of them; the cost of a part counts such
// copies. All other definitions (bind, sizes and run of each entry) are in the first part.
//
//===----------------------------------------------------------------------===//
#include "support/Threads.h"
#include "target/Attributes.h"
#include "target/cpu/EmitObject.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace llvm;

namespace perpend::target {
namespace {

using Object = SmallVector<char, 0>;

bool isEntry(const Function &function) {
  return function.hasFnAttribute(kernelEntryAttribute) && !function.isDeclaration();
}

/// Gives unique symbols (entries of kernels, variables) hidden names by which other parts can refer to them, and which
/// no other model in the same program uses.
void exposeAcrossParts(Module &module) {
  const std::string owner = "_" + module.getModuleIdentifier();
  for (Function &function : module)
    if (isEntry(function)) {
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

/// An entry with all local functions that it calls: the kernel, micro-kernels and others.
SetVector<const Function *> withCallees(const Function &entry) {
  SetVector<const Function *> found;
  found.insert(&entry);
  for (size_t i = 0; i < found.size(); ++i)
    for (const Instruction &instruction : instructions(*found[i]))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (const Function *callee = call->getCalledFunction(); callee && callee->hasLocalLinkage())
          found.insert(callee);
  return found;
}

/// A part of the module during the distribution.
struct Deal {
  size_t size = 0;
  DenseSet<const Function *> functions;

  size_t sizeWith(const SetVector<const Function *> &more) const {
    size_t sum = size;
    for (const Function *function : more)
      sum += functions.contains(function) ? 0 : function->getInstructionCount();
    return sum;
  }
  void add(const SetVector<const Function *> &more) {
    size = sizeWith(more);
    functions.insert(more.begin(), more.end());
  }
};

/// Compiling a function again in another part counts as this many times its size.
constexpr size_t costOfAgain = 4;

/// Maps entries to parts: largest first, each to the part that stays smallest with it.
StringMap<unsigned> dealEntries(const Module &module, unsigned partCount) {
  struct Entry {
    size_t size;
    StringRef name;
    SetVector<const Function *> functions;
  };
  std::vector<Entry> entries;
  std::vector<Deal> parts(partCount);
  Deal all, dealt;
  for (const Function &function : module)
    if (isEntry(function)) {
      SetVector<const Function *> functions = withCallees(function);
      all.add(functions);
      entries.push_back({Deal().sizeWith(functions), function.getName(), std::move(functions)});
    }
  for (const Function &function : module)
    if (!all.functions.contains(&function))
      parts[0].size += function.getInstructionCount();
  llvm::sort(entries,
             [](const Entry &a, const Entry &b) { return std::pair(b.size, a.name) < std::pair(a.size, b.name); });
  StringMap<unsigned> partOf;
  for (const Entry &entry : entries) {
    const auto cost = [&](const Deal &part) {
      size_t again = 0;
      for (const Function *function : entry.functions)
        if (dealt.functions.contains(function) && !part.functions.contains(function))
          again += function->getInstructionCount();
      return part.sizeWith(entry.functions) + (costOfAgain - 1) * again;
    };
    const auto smallest =
        std::min_element(parts.begin(), parts.end(), [&](const Deal &a, const Deal &b) { return cost(a) < cost(b); });
    smallest->add(entry.functions);
    dealt.add(entry.functions);
    partOf[entry.name] = unsigned(smallest - parts.begin());
  }
  return partOf;
}

/// Keeps the bodies of one part. Visible definitions other than entries are in part 0. Unused local functions are
/// erased; callers come after their callees.
void keepPart(Module &module, const StringMap<unsigned> &partOf, unsigned part) {
  for (Function &function : module)
    if (auto found = partOf.find(function.getName());
        found != partOf.end() ? found->second != part : part != 0 && !function.hasLocalLinkage())
      function.deleteBody();
  if (part != 0) {
    module.setModuleInlineAsm("");
    for (GlobalVariable &variable : module.globals())
      if (!variable.isDeclaration() && !variable.hasLocalLinkage()) {
        variable.setInitializer(nullptr);
        variable.setLinkage(GlobalValue::ExternalLinkage);
      }
  }
  for (Function &function : make_early_inc_range(reverse(module)))
    if (function.hasLocalLinkage() && function.use_empty())
      function.eraseFromParent();
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
      if (isEntry(function))
        function.setLinkage(GlobalValue::InternalLinkage);
    raw_svector_ostream stream(objects[0]);
    if (Error error = emitObject(module, target, optLevel, stream))
      return std::move(error);
    return objects;
  }
  if (Error error = verifyIr(module))
    return std::move(error);
  exposeAcrossParts(module);
  const StringMap<unsigned> partOf = dealEntries(module, partCount);
  SmallVector<char, 0> bitcode;
  raw_svector_ostream bitcodeStream(bitcode);
  WriteBitcodeToFile(module, bitcodeStream);
  const MemoryBufferRef buffer(StringRef(bitcode.data(), bitcode.size()), module.getModuleIdentifier());
  std::vector<std::optional<Error>> problems(partCount);
  const auto work = [&](unsigned part) {
    if (Error error = emitPart(buffer, partOf, part, target, optLevel, objects[part]))
      problems[part].emplace(std::move(error));
  };
  support::runBeside(partCount, work);
  Error first = Error::success();
  for (std::optional<Error> &problem : problems)
    if (problem)
      first = joinErrors(std::move(first), std::move(*problem));
  if (first)
    return std::move(first);
  return objects;
}

} // namespace perpend::target
