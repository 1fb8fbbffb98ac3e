//===- WriteArtifact.cpp - from a lowered module to an artifact -----------===//
//
// Makes LLVM IR with the module table, writes objects for code and weights, and
// links them with lld.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"

#include "compiler/UserOperators.h"
#include "graph/Attributes.h"
#include "graph/ErrorKind.h"
#include "runtime/Checksum.h"
#include "target/Attributes.h"
#include "target/Link.h"
#include "target/WeightsObject.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/BareEntry.h"
#include "target/cpu/EmitObject.h"
#include "target/cpu/ModuleTable.h"
#include "target/cpu/StackUse.h"
#include "target/vector/LoopHints.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "perpend_module.h"

#include <chrono>
#include <filesystem>

using namespace mlir;

namespace perpend {

std::string pathBeside(StringRef output, StringRef extension) {
  for (StringRef ending : {".so", ".a", ".o", ".wasm"})
    if (output.consume_back(ending))
      break;
  return (output + extension).str();
}

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

/// The accelerator's program calls what the runtime would.
static void exposeEntries(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.hasFnAttribute(target::kernelEntryAttribute))
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
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
  for (const std::string &name : target::functionNamesOf(table.entryCount))
    if (llvm::Function *function = ir->getFunction(name); !function || function->isDeclaration()) {
      module.emitError("the module has no function '") << name << "'\nhint: leave those that the phase 'lower' made";
      return nullptr;
    }
  prepareKernels(*ir, target);
  if (maker)
    exposeEntries(*ir);
  else if (shared)
    target::exposeFunctions(*ir, table);
  else if (isBare())
    addBareFunctions(*ir);
  else
    target::addModuleTable(*ir, table);
  return ir;
}

//===----------------------------------------------------------------------===//
// Objects and linking
//===----------------------------------------------------------------------===//

namespace {
/// Frees constants that the compilation has made, each as soon as all segments with it are written: they may have more
/// bytes than the disk has room for twice.
class UnwrittenConstants {
public:
  UnwrittenConstants(const ModelDescription &description, const llvm::DenseSet<AsmResourceBlob *> &kept) {
    for (const auto &[offset, value] : description.weights) {
      auto resource = dyn_cast<DenseResourceElementsAttr>(value);
      AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
      blobs.push_back(blob && !kept.contains(blob) ? blob : nullptr);
      ++left[blobs.back()];
    }
  }
  void noteWritten(size_t number) {
    AsmResourceBlob *blob = blobs[number];
    if (blob && --left[blob] == 0)
      *blob = AsmResourceBlob();
  }

private:
  std::vector<AsmResourceBlob *> blobs; ///< of each segment; null: it stays
  llvm::DenseMap<AsmResourceBlob *, size_t> left;
};
} // namespace

bool Compilation::isBare() const {
  const target::Architecture *architecture = target::architectureOf(target.code);
  return !maker && architecture && !architecture->hasRuntime;
}

bool Compilation::keepsWeightsOutside() const {
  if (memory)
    return false; // in the process
  if (!description.parts.empty())
    return true; // code has one base for all
  if (isBare())
    return false; // there are no files
  return options.weights == "auto" ? description.table.weightsBytes > mostEmbeddedBytes : options.weights != "embed";
}

LogicalResult Compilation::writeWeights(const target::ScratchDirectory &scratch, StringRef output,
                                        ArtifactParts &parts) {
  const target::Architecture &architecture = *target::architectureOf(target.code);
  if (const uint64_t bytes = description.table.weightsBytes; bytes > architecture.mostWeightsBytes)
    return module.emitError("the weights have ")
           << bytes << " bytes, and a model for '" << target.name << "' has at most " << architecture.mostWeightsBytes
           << "\nhint: --precision or a quantised model makes them smaller";
  if (memory)
    description.releaseWeights(original);
  if (failed(describeFiles(output)))
    return failure();
  if (description.weights.empty())
    return success();
  const bool isPacked = keepsWeightsOutside(), isCopied = !architecture.hasLinker;
  const std::vector<target::WeightBlob> blobs = description.blobs();
  uint64_t byteCount = 0; // parts of other files lie behind
  for (const target::WeightBlob &blob : blobs)
    byteCount = std::max<uint64_t>(byteCount, llvm::alignTo(blob.offset + blob.bytes.size(), PERPEND_ALIGNMENT));
  std::string path = scratch.pathOf(isPacked || isCopied ? "packed.weights" : "weights.o");
  UnwrittenConstants unwritten(description, original);
  llvm::Expected<target::WeightsSummary> written =
      target::writeWeights(path, description.table.name, blobs, byteCount, target,
                           isPacked || isCopied ? target::WeightsForm::Packed : target::WeightsForm::Object,
                           [&](size_t number) { unwritten.noteWritten(number); });
  if (!written)
    return fail(written.takeError());
  if (isPacked) {
    parts.packedWeights = path;
    description.addPackedWeights(pathBeside(output, ".weights"), *written);
  } else {
    description.table.weightsSymbol = written->symbol;
    description.checksum = llvm::formatv("{0:x-8}", written->checksum).str();
    if (isCopied)
      weightsFile = path;
    else
      parts.objects.push_back(path);
  }
  description.releaseWeights(original);
  return success();
}

/// The way from a folder to a file, "../models/net.onnx.data".
static std::string relativePath(StringRef file, StringRef folder) {
  llvm::SmallString<256> real;
  if (llvm::sys::fs::real_path(folder.empty() ? "." : folder, real))
    return file.str();
  std::filesystem::path way = std::filesystem::path(file.str()).lexically_relative(real.str().str());
  return way.empty() ? file.str() : way.string();
}

/// Of weights that stay in files of the user: sizes, checksums and names.
LogicalResult Compilation::describeFiles(StringRef output) {
  for (WeightsPart &part : description.parts) {
    llvm::SmallString<256> real;
    auto opened = support::mapFile(part.path);
    if (!opened || llvm::sys::fs::real_path(part.path, real))
      return module.emitError("cannot read the file of weights '")
             << part.path << "'" << graph::Hint("host.segment names it; paths are from the current folder");
    StringRef bytes = (*opened)->getBuffer();
    if (part.offset > bytes.size() || part.bytes > bytes.size() - part.offset)
      return module.emitError("expected ") << part.bytes << " bytes of weights at " << part.offset << " of the file '"
                                           << part.path << "', which has " << bytes.size();
    watch.add(bytes.data());
    part.name = relativePath(real, llvm::sys::path::parent_path(output));
    part.fileBytes = bytes.size();
    constexpr uint64_t pieceBytes = 64 << 20;
    for (uint64_t done = 0; done < part.bytes; done += pieceBytes) {
      StringRef piece = bytes.substr(part.offset + done, std::min(pieceBytes, part.bytes - done));
      part.checksum = runtime::crc32c(piece.data(), piece.size(), part.checksum);
      support::forgetPages(piece.data(), piece.size());
    }
  }
  return success();
}

LogicalResult Compilation::writeCode(const target::ScratchDirectory &scratch, ArtifactParts &parts) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translate(context);
  if (!ir)
    return failure();
  // In a small module a second partition costs more than a second thread saves.
  constexpr unsigned smallInstructionCount = 1500;
  const unsigned partCount = isBare() || ir->getInstructionCount() < smallInstructionCount ? 1 : 2;
  std::optional<target::StackUse> stack;
  if (isBare())
    stack.emplace(*ir);
  auto emitted = target::emitObjectParts(*ir, target, llvmLevel(), partCount);
  if (!emitted)
    return fail(emitted.takeError());
  if (stack && failed(checkBareMemory(stack->bytesOf((target::bareRunPrefix + description.table.name).str()))))
    return failure();
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
  if (description.table.areWeightsInFiles)
    parts.add(ArrayRef<StringRef>{"libperpend_segments.a"});
  return success();
}

/// Beside the module, unless they are there.
LogicalResult Compilation::writeLoader(const target::ScratchDirectory &scratch, StringRef output) {
  for (StringRef name : target::wasmLoaderFiles) {
    llvm::Expected<std::string> path = target::runtimeArchivePath(target, name);
    if (!path)
      return fail(path.takeError());
    auto content = llvm::MemoryBuffer::getFile(*path);
    if (!content)
      return module.emitError("cannot read '") << *path << "': " << content.getError().message();
    llvm::SmallString<128> place(llvm::sys::path::parent_path(output));
    llvm::sys::path::append(place, name);
    llvm::Expected<std::string> written = scratch.write(name, (*content)->getBuffer());
    if (!written)
      return fail(written.takeError());
    if (llvm::Error error = target::moveIntoPlace(*written, place))
      return fail(std::move(error));
  }
  return success();
}

LogicalResult Compilation::writeHeader(const target::ScratchDirectory &scratch, StringRef output, StringRef text) {
  llvm::Expected<std::string> written = scratch.write("header.h", text);
  if (!written)
    return fail(written.takeError());
  llvm::Error error = target::moveIntoPlace(*written, pathBeside(output, ".h"));
  return error ? fail(std::move(error)) : success();
}

LogicalResult Compilation::checkFiles() {
  std::optional<std::string> changed = watch.changedFile();
  return changed ? LogicalResult(module.emitError(support::changedText(*changed))) : success();
}

/// The archives of an executable's main function. Errors: a name that is not one of the runtime's.
static FailureOr<std::vector<std::string>> programArchives(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>(graph::programAttribute);
  if (!list)
    return std::vector<std::string>{"libperpend_main.a"};
  std::vector<std::string> names;
  for (Attribute attribute : list) {
    auto name = dyn_cast<StringAttr>(attribute);
    if (!name || !name.getValue().starts_with("libperpend_") || name.getValue().contains('/'))
      return module.emitError(graph::programAttribute) << ": expected names of the runtime's archives, got "
                                                       << attribute << "\nhint: such as \"libperpend_main.a\"";
    names.push_back(name.str());
  }
  return names;
}

LogicalResult Compilation::link(ArtifactKind kind, StringRef output, const ArtifactParts &parts) {
  target::LinkRequest request;
  request.objects = parts.objects;
  request.output = output.str();
  request.strip = true;
  request.objects.insert(request.objects.end(), parts.users.begin(), parts.users.end());
  auto addArchive = [&](StringRef name, std::vector<std::string> &archives) {
    llvm::Expected<std::string> path = target::runtimeArchivePath(target, name);
    if (!path)
      return fail(path.takeError());
    archives.push_back(*path);
    return success();
  };
  for (StringRef name : parts.lazyArchives)
    if (failed(addArchive(name, request.lazyArchives)))
      return failure();
  if (kind == ArtifactKind::Executable) {
    auto archives = programArchives(module);
    if (failed(archives))
      return failure();
    for (const std::string &name : *archives)
      if (failed(addArchive(name, request.archives)))
        return failure();
  }
  if (description.table.hasStates && failed(addArchive("libperpend_state.a", request.archives)))
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
  if (failed(checkFiles()))
    return failure();
  if (isBare())
    return writeBare(scratch, parts, kind, output);
  if (failed(link(kind, output, parts)))
    return failure();
  if (!parts.packedWeights.empty())
    if (llvm::Error error = target::moveIntoPlace(parts.packedWeights, pathBeside(output, ".weights")))
      return fail(std::move(error));
  if (kind == ArtifactKind::SharedLibrary && !target::architectureOf(target.code)->linksElf())
    return writeLoader(scratch, output);
  if (kind == ArtifactKind::Executable)
    return success();
  std::string header;
  llvm::raw_string_ostream stream(header);
  printHeader(description, stream);
  return writeHeader(scratch, output, header);
}

//===----------------------------------------------------------------------===//
// Programs of accelerators
//===----------------------------------------------------------------------===//

LogicalResult Compilation::writeScalarCode(const target::ScratchDirectory &scratch, ArtifactParts &parts) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translate(context);
  if (!ir)
    return failure();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  if (llvm::Error error = target::emitObject(*ir, target, llvmLevel(), stream))
    return fail(std::move(error));
  llvm::Expected<std::string> path = scratch.write("scalar.o", StringRef(object.data(), object.size()));
  if (!path)
    return fail(path.takeError());
  parts.objects.push_back(*path);
  return success();
}

LogicalResult Compilation::writeProgram(StringRef output) {
  auto start = std::chrono::steady_clock::now();
  auto scratch = target::ScratchDirectory::createBeside(output);
  if (!scratch)
    return fail(scratch.takeError());
  ArtifactParts parts;
  if (failed(writeScalarCode(*scratch, parts)))
    return failure();
  if (description.needsHandles)
    description.table.texts = description.texts;
  description.table.descriptor = descriptorOf(description, target);
  if (llvm::Error error = writeTables(description, target))
    return fail(std::move(error));
  target::ProgramParts program{parts.objects, description.table.tables, description.blobs(),
                               description.table.weightsBytes};
  const std::string unfinished = scratch->pathOf("program");
  if (llvm::Error error = maker->write(program, unfinished))
    return fail(std::move(error));
  if (failed(checkFiles()))
    return failure();
  if (llvm::Error error = target::moveIntoPlace(unfinished, output))
    return fail(std::move(error));
  noteArtifact(output, start);
  return success();
}

void Compilation::noteArtifact(StringRef output, std::chrono::steady_clock::time_point start) {
  if (!report)
    return;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report->times.push_back({"emit", seconds.count()});
  report->descriptor = description.table.descriptor;
  report->weightsBytes = description.table.weightsBytes;
  report->weightsFiles = description.filePaths();
  report->arenaBytes = description.arenaBytes();
  report->stackBytes = description.stackBytes;
  (void)llvm::sys::fs::file_size(output, report->artifactBytes);
  if (maker)
    report->units = maker->report();
}

LogicalResult Compilation::write(ArtifactKind kind, StringRef output) {
  if (maker)
    return writeProgram(output);
  auto scratch = target::ScratchDirectory::createBeside(output);
  if (!scratch)
    return fail(scratch.takeError());
  ArtifactParts parts;
  auto start = std::chrono::steady_clock::now();
  if (failed(writeWeights(*scratch, output, parts)))
    return failure();
  description.table.areWeightsInFiles = !description.parts.empty();
  description.table.isMain = kind != ArtifactKind::StaticLibrary;
  if (description.needsHandles)
    description.table.texts = description.texts;
  description.table.descriptor = descriptorOf(description, target);
  if (llvm::Error error = writeTables(description, target))
    return fail(std::move(error));
  if (failed(writeCode(*scratch, parts)) || failed(finish(*scratch, parts, kind, output)))
    return failure();
  noteArtifact(output, start);
  return success();
}
} // namespace perpend
