//===- ModelFile.cpp - the kinds of files that hold models ----------------===//

#include "compiler/ModelFile.h"
#include "compiler/VerifyModule.h"
#include "frontend/checkpoint/Import.h"
#include "frontend/onnx/Import.h"
#include "graph/Attributes.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace perpend {
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static OwningOpRef<ModuleOp> loadOnnx(MLIRContext &context, StringRef path, const LoadOptions &options) {
  return onnx::importOnnx(context, path, {options.dimensions, options.operators});
}

/// Native code only as named by the user: a text file alone must not make it run.
static OwningOpRef<ModuleOp> loadText(MLIRContext &context, StringRef path, const LoadOptions &options) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  std::optional<std::vector<std::string>> objects;
  if (module)
    objects = onnx::objectsOf(context, options.operators);
  if (!objects || failed(verifyObjects(*module, *objects)))
    return {};
  if (!objects->empty())
    module->getOperation()->setAttr(graph::objectsAttribute, Builder(&context).getStrArrayAttr(SmallVector<StringRef>(
                                                                 objects->begin(), objects->end())));
  return failed(verifyModule(*module)) ? OwningOpRef<ModuleOp>() : std::move(module);
}

static OwningOpRef<ModuleOp> loadGguf(MLIRContext &context, StringRef path, const LoadOptions &options) {
  return checkpoint::importGguf(context, path, {options.dimensions, options.cache});
}

static OwningOpRef<ModuleOp> loadFolder(MLIRContext &context, StringRef path, const LoadOptions &options) {
  return checkpoint::importFolder(context, path, {options.dimensions, options.cache});
}

/// The weights alone are no model; with the settings beside them they are.
static OwningOpRef<ModuleOp> loadSafetensors(MLIRContext &context, StringRef path, const LoadOptions &options) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return loadFolder(context, folder.empty() ? "." : folder, options);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct Format {
  ModelKind kind;
  /// The first bytes of such a file, and the end of its name; empty if that does not tell.
  StringRef magic, extension;
  /// Whether options for dimensions, for operators, and for the cache of a language model, are for it.
  bool takesDimensions, takesOperators, takesCache;
  /// Errors: null, and diagnostics. Null for models that are compiled already.
  OwningOpRef<ModuleOp> (*load)(MLIRContext &context, StringRef path, const LoadOptions &options);
};
} // namespace

static constexpr Format table[] = {
    {ModelKind::Library,
     "\x7f"
     "ELF",
     "", false, false, false, nullptr},
    {ModelKind::Library, StringRef("\0asm", 4), "", false, false, false, nullptr},
    {ModelKind::Library, "\xcf\xfa\xed\xfe", "", false, false, false, nullptr}, // Mach-O
    {ModelKind::Gguf, "GGUF", ".gguf", true, false, true, loadGguf},
    {ModelKind::Safetensors, "", ".safetensors", true, false, true, loadSafetensors},
    {ModelKind::Text, "", ".mlir", false, true, false, loadText},
    {ModelKind::Folder, "", "", true, false, true, loadFolder},
    {ModelKind::Onnx, "", ".onnx", true, true, false, loadOnnx},
};

static llvm::Error errorOf(const Twine &message, StringRef hint) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message + "\nhint: " + hint);
}

llvm::Expected<ModelKind> modelKindOf(StringRef path, bool mayBeCompiled) {
  StringRef hint = mayBeCompiled ? "a model is an .onnx, .mlir, .gguf, .so or .wasm file, or a folder with config.json"
                                 : "a model is an .onnx, .mlir or .gguf file, or a folder with config.json";
  if (llvm::sys::fs::is_directory(path)) {
    llvm::SmallString<256> settings(path);
    llvm::sys::path::append(settings, "config.json");
    if (llvm::sys::fs::exists(settings))
      return ModelKind::Folder;
    return errorOf("'" + path + "' is a folder without config.json", hint);
  }
  auto file = llvm::MemoryBuffer::getFileSlice(path, 4, 0);
  if (!file)
    return errorOf("cannot read '" + path + "': " + file.getError().message(), hint);
  uint64_t bytes = 1; // the slice has four, even if the file has fewer
  if (path.ends_with(".so") && !llvm::sys::fs::file_size(path, bytes) && bytes == 0)
    return errorOf("the library '" + path + "' is empty", "compile the model again, or copy the file again");
  StringRef start = (*file)->getBuffer();
  for (const Format &format : table)
    if (!format.magic.empty() && start.starts_with(format.magic))
      return format.kind;
  for (const Format &format : table)
    if (!format.extension.empty() && path.ends_with(format.extension))
      return format.kind;
  return ModelKind::Onnx;
}

OwningOpRef<ModuleOp> loadModel(MLIRContext &context, StringRef path, ModelKind kind, const LoadOptions &options) {
  auto fail = [&](const Twine &what, StringRef hint) {
    emitError(FileLineColLoc::get(&context, path, 0, 0)) << what.str() << "\nhint: " << hint;
    return OwningOpRef<ModuleOp>();
  };
  const Format &format = *llvm::find_if(table, [&](const Format &each) { return each.kind == kind; });
  if (!format.load)
    return fail("'" + path + "' is compiled already",
                "load it (perpend.load, perpend run), or give the model that it was made from");
  if (!options.dimensions.empty() && !format.takesDimensions)
    return fail("dimensions cannot be set for a module in text ('--dim')",
                "change the types in the .mlir file instead");
  if (!options.operators.empty() && !format.takesOperators)
    return fail("operators are for .onnx and .mlir files ('--operators')", "leave them out");
  if (options.cache.tokens > 0 && !format.takesCache)
    return fail("a cache is for checkpoints of language models ('--cache')",
                "of other models, inputs and outputs can be kept: --state 'past_*=present_*:4096'");
  if (options.cache.tokens == 0 && options.cache.type != checkpoint::CacheOptions().type)
    return fail("a type of the cache, without a cache ('--cache-type')", "give the most tokens, too: --cache 4096");
  if (options.cache.tokens == 0 && options.cache.texts != 1)
    return fail("several texts, without a cache ('--texts')", "give the most tokens, too: --cache 4096");
  return format.load(context, path, options);
}
} // namespace perpend
