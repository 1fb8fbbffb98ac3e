//===- BareModel.cpp - models without the runtime -------------------------===//
//
// A model is one function with its memory (cpu/BareEntry.h), in one object or an archive with that; the header says
// what the function takes, how large its memory is, and which functions of the C library it calls.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"

#include "target/Link.h"
#include "target/LinkBare.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/BareEntry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace perpend {

/// All extents as numbers; nullopt: some are none.
static std::optional<uint64_t> elementCountOf(const TensorDescription &tensor) {
  uint64_t count = 1;
  for (StringRef extent : tensor.shape) {
    uint64_t number = 0;
    if (extent.getAsInteger(10, number))
      return std::nullopt;
    count *= number;
  }
  return count;
}

/// Something that a run needs the runtime, or memory of unknown size, for. Empty: nothing.
static std::pair<std::string, std::string> obstacleOf(const ModelDescription &description) {
  const EntryDescription &entry = description.entries.front();
  if (description.entries.size() > 1)
    return {"expected one entry, got " + std::to_string(description.entries.size()), "compile an object for each"};
  if (!description.states.empty())
    return {"state '" + description.states.front().tensor.name + "': a function keeps nothing from call to call",
            "leave --state out, and pass the values as inputs and outputs"};
  if (description.needsHandles)
    return {"the model has texts, lists or calls of the runtime's library", "remove these operators"};
  for (const auto *list : {&entry.inputs, &entry.outputs})
    for (const TensorDescription &tensor : *list)
      if (!elementCountOf(tensor))
        return {"'" + tensor.name + "' has the shape [" + llvm::join(tensor.shape, ", ") + "], expected numbers",
                "give dimensions as numbers (--dim)"};
  if (entry.growingCount || !entry.staticOffsets || !entry.dataSymbols.empty())
    return {"data decides sizes of values", "remove operators whose results have such sizes"};
  return {};
}

LogicalResult Compilation::checkBare() {
  auto [what, cure] = obstacleOf(description);
  if (what.empty())
    return success();
  return module.emitError("target '") << target.name << "': there is no memory that grows: " << what
                                      << "\nhint: " << cure;
}

LogicalResult Compilation::checkBareMemory(std::optional<uint64_t> stackBytes) {
  description.stackBytes = stackBytes;
  const auto arena = static_cast<uint64_t>(description.entries.front().staticArenaBytes);
  const uint64_t needed = arena + stackBytes.value_or(0), there = target.global.bytes;
  if (!stackBytes)
    module.emitWarning("target '") << target.name << "': how much stack the model needs is not known";
  if (!there || needed <= there)
    return success();
  return module.emitError("target '")
         << target.name << "': the model needs " << needed << " bytes of memory (arena " << arena << ", stack "
         << stackBytes.value_or(0) << "), and there are " << there
         << "\nhint: give its inputs smaller dimensions, or the target its memory (ram=1M)";
}

void Compilation::addBareFunctions(llvm::Module &ir) {
  const EntryDescription &entry = description.entries.front();
  target::addBareEntry(ir, *target::architectureOf(target.code), description.table,
                       {entry.inputs.size(), entry.outputs.size(), *entry.staticOffsets,
                        static_cast<uint64_t>(entry.staticArenaBytes), weightsFile});
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

static StringRef typeInC(StringRef type) {
  static const llvm::StringMap<StringRef> names = {
      {"f32", "float"},    {"f64", "double"},   {"i8", "int8_t"},    {"i16", "int16_t"},  {"i32", "int32_t"},
      {"i64", "int64_t"},  {"u8", "uint8_t"},   {"u16", "uint16_t"}, {"u32", "uint32_t"}, {"u64", "uint64_t"},
      {"bool", "uint8_t"}, {"f16", "uint16_t"}, {"bf16", "uint16_t"}};
  return names.lookup(type);
}

namespace {
/// Prints the parameters of the function, and a line about each.
class ParameterPrinter {
public:
  explicit ParameterPrinter(llvm::raw_ostream &stream) : stream(stream) {}

  void add(StringRef prefix, ArrayRef<TensorDescription> tensors) {
    for (const TensorDescription &tensor : tensors) {
      std::string name = prefix.str() + identifier(tensor.name);
      while (!names.insert(name).second)
        name += "_";
      const StringRef type = typeInC(tensor.type);
      const StringRef constant = prefix == "in_" ? "const " : "";
      stream << " *   " << name << ": " << tensor.type << " [" << llvm::join(tensor.shape, ", ") << "]\n";
      parameters.push_back(type.empty() ? llvm::formatv("{0}void *{1}", constant, name).str()
                                        : llvm::formatv("{0}{1} {2}[{3}]", constant, type, name,
                                                        std::max<uint64_t>(*elementCountOf(tensor), 1))
                                              .str());
    }
  }
  std::string list() const { return parameters.empty() ? "void" : llvm::join(parameters, ", "); }

private:
  llvm::raw_ostream &stream;
  llvm::StringSet<> names;
  std::vector<std::string> parameters;
};
} // namespace

void printBareHeader(const ModelDescription &description, const target::TargetInfo &target,
                     ArrayRef<std::string> needed, llvm::raw_ostream &stream) {
  const std::string &name = description.table.name;
  const std::string upper = StringRef(name).upper();
  const EntryDescription &entry = description.entries.front();
  stream << "/* A model compiled by Perpend for " << target.name << ": one function, which allocates nothing.\n"
         << " * Weights: " << description.table.weightsBytes << " bytes, read only, in the section "
         << target::architectureOf(target.code)->weightsSection << ".\n"
         << " * Functions that a program takes from its C library and compiler: "
         << (needed.empty() ? "none" : llvm::join(needed, ", ")) << ". */\n"
         << "#ifndef PERPEND_MODEL_" << upper << "_H\n#define PERPEND_MODEL_" << upper << "_H\n#include <stdint.h>\n\n"
         << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
         << "/* Memory in which a run computes. Between runs, programs may use it. */\n"
         << "#define PERPEND_ARENA_BYTES_" << upper << " " << entry.staticArenaBytes << "\n"
         << "extern uint8_t " << target::bareArenaPrefix << name << "[";
  stream << std::max<int64_t>(entry.staticArenaBytes, 1) << "];\n\n";
  if (description.stackBytes)
    stream << "/* Stack that a run takes, beside that of the functions above. */\n"
           << "#define PERPEND_STACK_BYTES_" << upper << " " << *description.stackBytes << "\n\n";
  stream << "/* Runs the model; 0, or the number of an error in the inputs' values. Not for two threads at a time.\n";
  ParameterPrinter printer(stream);
  printer.add("in_", entry.inputs);
  printer.add("out_", entry.outputs);
  stream << " */\nint32_t " << target::bareRunPrefix << name << "(" << printer.list() << ");\n"
         << "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

LogicalResult Compilation::writeBare(const target::ScratchDirectory &scratch, const ArtifactParts &parts,
                                     ArtifactKind kind, StringRef output) {
  target::LinkRequest request;
  request.objects = parts.objects;
  request.objects.insert(request.objects.end(), parts.users.begin(), parts.users.end());
  request.output = kind == ArtifactKind::StaticLibrary ? scratch.pathOf(description.table.name + ".o") : output.str();
  llvm::Error error = kind == ArtifactKind::Executable ? target::linkExecutable(request, target)
                                                       : target::linkSharedLibrary(request, target);
  if (error)
    return fail(std::move(error));
  llvm::Expected<std::vector<std::string>> needed = target::undefinedSymbolsOf(request.output);
  if (!needed)
    return fail(needed.takeError());
  if (kind == ArtifactKind::StaticLibrary) {
    target::LinkRequest archive;
    archive.objects = {request.output};
    archive.output = output.str();
    if (llvm::Error failed = target::writeStaticLibrary(archive))
      return fail(std::move(failed));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  printBareHeader(description, target, *needed, stream);
  return writeHeader(scratch, output, text);
}
} // namespace perpend
