//===- WriteArtifact.cpp - from a lowered module to an artifact -----------===//
//
// Makes LLVM IR with the module table, writes objects for code and weights, and
// links them with lld.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"

#include "compiler/UserOperators.h"
#include "graph/ErrorKind.h"
#include "target/Attributes.h"
#include "target/Link.h"
#include "target/WeightsObject.h"
#include "target/cpu/EmitObject.h"
#include "target/cpu/ModuleTable.h"
#include "target/vector/LoopHints.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace mlir;

namespace perpend {

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

/// Inlines kernels into their entries and marks their buffers as not aliasing.
static void prepareKernels(llvm::Module &module, const target::TargetInfo &target) {
  for (llvm::Function &function : module) {
    if (function.hasLinkOnceODRLinkage()) // helper functions from MLIR's lowering
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (function.isDeclaration() || !function.hasFnAttribute(target::kernelAttribute))
      continue;
    target::markNoAlias(function);
    target::hintLoops(function, target);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

std::unique_ptr<llvm::Module> Compilation::translate(llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  const target::ModuleTable &table = description.table;
  std::unique_ptr<llvm::Module> ir =
      translateModuleToLLVMIR(module, context, shared ? table.suffix.substr(1) : table.name);
  if (!ir) {
    graph::emitInternalError(module.getLoc()) << "the module does not translate to LLVM IR";
    return nullptr;
  }
  for (const char *name : {"perpend_bind", "perpend_sizes", "perpend_run"})
    if (llvm::Function *function = ir->getFunction(name); !function || function->isDeclaration()) {
      module.emitError("the module has no function '") << name << "'\nhint: leave those that the phase 'lower' made";
      return nullptr;
    }
  prepareKernels(*ir, target);
  if (shared)
    target::exposeFunctions(*ir, table.suffix);
  else
    target::addModuleTable(*ir, table);
  return ir;
}

//===----------------------------------------------------------------------===//
// Objects and linking
//===----------------------------------------------------------------------===//

LogicalResult Compilation::writeWeights(const target::ScratchDirectory &scratch, ArtifactParts &parts) {
  if (memory)
    description.releaseWeights(original);
  if (description.weights.empty())
    return success();
  std::string path = scratch.pathOf("weights.o");
  llvm::Expected<target::WeightsSummary> written = target::writeWeightsObject(
      path, description.table.name, description.blobs(), description.table.weightsBytes, target);
  if (!written)
    return fail(written.takeError());
  description.table.weightsSymbol = written->symbol;
  description.checksum = llvm::formatv("{0:x-8}", written->checksum).str();
  parts.objects.push_back(path);
  description.releaseWeights(original);
  return success();
}

LogicalResult Compilation::writeCode(const target::ScratchDirectory &scratch, ArtifactParts &parts) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translate(context);
  if (!ir)
    return failure();
  // In a small module a second partition costs more than a second thread saves.
  constexpr unsigned smallInstructionCount = 1500;
  const unsigned partCount = ir->getInstructionCount() < smallInstructionCount ? 1 : 2;
  auto emitted = target::emitObjectParts(*ir, target, llvmLevel(), partCount);
  if (!emitted)
    return fail(emitted.takeError());
  for (auto [number, part] : llvm::enumerate(*emitted)) {
    llvm::Expected<std::string> path = scratch.write(
        llvm::formatv("code{0}{1}.o", number, description.table.suffix).str(), StringRef(part.data(), part.size()));
    if (!path)
      return fail(path.takeError());
    parts.objects.push_back(*path);
  }
  ArtifactParts::addTo(parts.users, operatorObjects(module));
  parts.add(target::builtinArchives(target));
  if (description.needsHandles)
    parts.add(libraryArchives(module));
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

LogicalResult Compilation::link(ArtifactKind kind, StringRef output, const ArtifactParts &parts) {
  target::LinkRequest request;
  request.objects = parts.objects;
  request.output = output.str();
  request.strip = true;
  request.objects.insert(request.objects.end(), parts.users.begin(), parts.users.end());
  auto addArchive = [&](StringRef name, std::vector<std::string> &archives) {
    llvm::Expected<std::string> path = target::runtimeFilePath(name);
    if (!path)
      return fail(path.takeError());
    archives.push_back(*path);
    return success();
  };
  for (StringRef name : parts.lazyArchives)
    if (failed(addArchive(name, request.lazyArchives)))
      return failure();
  if (kind == ArtifactKind::Executable && failed(addArchive("libperpend_main.a", request.archives)))
    return failure();
  if (failed(addArchive("libperpend_runtime.a", request.archives)))
    return failure();
  llvm::Error error = kind == ArtifactKind::SharedLibrary   ? target::linkSharedLibrary(request, target)
                      : kind == ArtifactKind::StaticLibrary ? target::writeStaticLibrary(request)
                                                            : target::linkExecutable(request, target);
  return error ? fail(std::move(error)) : success();
}

LogicalResult Compilation::finish(const target::ScratchDirectory &scratch, const ArtifactParts &parts,
                                  ArtifactKind kind, StringRef output) {
  if (failed(checkFiles()) || failed(link(kind, output, parts)))
    return failure();
  return kind == ArtifactKind::Executable ? success() : writeHeader(scratch, output);
}

LogicalResult Compilation::write(ArtifactKind kind, StringRef output) {
  auto scratch = target::ScratchDirectory::createBeside(output);
  if (!scratch)
    return fail(scratch.takeError());
  ArtifactParts parts;
  auto start = std::chrono::steady_clock::now();
  if (failed(writeWeights(*scratch, parts)))
    return failure();
  description.table.isMain = kind != ArtifactKind::StaticLibrary;
  if (description.needsHandles)
    description.table.texts = description.texts;
  description.table.descriptor = descriptorOf(description, target);
  if (llvm::Error error = writeTables(description, target))
    return fail(std::move(error));
  if (failed(writeCode(*scratch, parts)) || failed(finish(*scratch, parts, kind, output)))
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
} // namespace perpend
