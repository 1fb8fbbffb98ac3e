//===- DescribeLibrary.cpp - describes libraries that do not run here -----===//
//
// A library's file contains its tables in the form that they have in memory, under a symbol. Together with an empty
// module they form a model that can be queried; no code of the library is executed.
//
//===----------------------------------------------------------------------===//

#include "cli/Runner.h"
#include "target/Program.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/ModuleTable.h"

#include "../runtime/Model.h"

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/Wasm.h"

using llvm::object::ELF64LEObjectFile;
using llvm::object::WasmObjectFile;

namespace perpend::cli {

static StringRef bytesOf(const llvm::object::ELFSymbolRef &symbol, const ELF64LEObjectFile &file) {
  StringRef bytes = file.getData();
  auto start = file.getELFFile().toMappedAddr(llvm::cantFail(symbol.getAddress()));
  if (!start)
    return llvm::consumeError(start.takeError()), "";
  const size_t offset = static_cast<size_t>(*start - bytes.bytes_begin());
  return bytes.substr(offset, symbol.getSize());
}

/// From the tables to the end of the data around them, in a module of WebAssembly.
static std::string tablesIn(const WasmObjectFile &file) {
  const auto exported = llvm::find_if(file.exports(), [](const llvm::wasm::WasmExport &each) {
    return each.Name == target::tablesSymbol && each.Kind == llvm::wasm::WASM_EXTERNAL_GLOBAL;
  });
  const uint32_t imported = file.getNumImportedGlobals();
  if (exported == file.exports().end() || exported->Index < imported ||
      exported->Index - imported >= file.globals().size())
    return "";
  const auto address = static_cast<uint32_t>(file.globals()[exported->Index - imported].InitExpr.Inst.Value.Int32);
  for (const llvm::object::WasmSegment &segment : file.dataSegments()) {
    const auto start = static_cast<uint32_t>(segment.Data.Offset.Inst.Value.Int32);
    if (address >= start && address - start < segment.Data.Content.size())
      return llvm::toStringRef(segment.Data.Content).drop_front(address - start).str();
  }
  return "";
}

/// Empty: there are none.
static std::string tablesIn(StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return llvm::consumeError(file.takeError()), "";
  if (const auto *wasm = llvm::dyn_cast<WasmObjectFile>(file->getBinary()))
    return tablesIn(*wasm);
  const auto *elf = llvm::dyn_cast<ELF64LEObjectFile>(file->getBinary());
  if (!elf)
    return "";
  for (const llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return llvm::consumeError(name.takeError()), "";
    if (*name == target::tablesSymbol)
      return bytesOf(symbol, *elf).str();
  }
  return "";
}

static void addExtensions(const llvm::json::Object &facts, std::vector<std::string> &extensions) {
  if (const llvm::json::Array *names = facts.getArray("isa"))
    for (const llvm::json::Value &name : *names)
      extensions.push_back(name.getAsString().value_or("").str());
}

/// The descriptor without requirements that matter only for running the model. `extensions`: what it requires, or its
/// variants do.
static std::string descriptorIn(StringRef tables, const perpend_tables &head, std::vector<std::string> &extensions) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(tables.substr(head.descriptor).split('\0').first);
  if (!value)
    return llvm::consumeError(value.takeError()), "";
  llvm::json::Object *facts = value->getAsObject();
  if (!facts)
    return "";
  addExtensions(*facts, extensions);
  if (const llvm::json::Array *variants = facts->getArray("variants"))
    for (const llvm::json::Value &variant : *variants)
      addExtensions(objectOf(variant), extensions);
  for (StringRef key : {"isa", "weightsChecksum"})
    facts->erase(key);
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  return text;
}

namespace {
/// A module whose functions are never called.
struct Description {
  explicit Description(std::string found); ///< at least a head

  ForeignLibrary library;      ///< without an architecture: this machine lacks something else
  std::vector<uint64_t> words; // aligned as tables are
  std::vector<perpend_entry_functions> others;
  perpend_module module = {};
};
} // namespace

Description::Description(std::string found) {
  perpend_tables head;
  std::memcpy(&head, found.data(), sizeof head);
  const std::string descriptor = descriptorIn(found, head, library.extensions);
  head.descriptor = static_cast<uint32_t>(found.size());
  head.isa = head.segments = {};
  found += descriptor;
  found.append(sizeof(uint64_t) - found.size() % sizeof(uint64_t), '\0'); // at least one
  words.resize(found.size() / sizeof(uint64_t));
  std::memcpy(words.data(), found.data(), found.size());
  std::memcpy(words.data(), &head, sizeof head);
  module.magic = PERPEND_MODULE_MAGIC;
  module.abi = PERPEND_MODULE_ABI;
  module.tables = reinterpret_cast<const perpend_tables *>(words.data());
  module.tablesBytes = static_cast<uint32_t>(found.size());
  module.bind = [](auto...) -> int32_t { return PERPEND_UNSUPPORTED_CPU; };
  module.sizes = [](auto...) {};
  module.run = [](auto...) -> int32_t { return PERPEND_UNSUPPORTED_CPU; };
  others.resize(std::min<size_t>(head.entries.count, found.size() / sizeof(perpend_entry_record)),
                {module.bind, module.sizes, module.run});
  module.others = others.data();
}

static void freeDescription(void *handle) { delete static_cast<Description *>(handle); }

/// Null: it is none that the compiler knows, or this machine's.
static const target::Architecture *foreignArchitectureOf(StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return llvm::consumeError(file.takeError()), nullptr;
  const auto *elf = llvm::dyn_cast<ELF64LEObjectFile>(file->getBinary());
  const target::Architecture *found = elf ? target::architectureOfElf(elf->getELFFile().getHeader().e_machine)
                                          : target::architectureOf({file->getBinary()->makeTriple().str(), "", ""});
  return found == target::hostArchitecture() ? nullptr : found;
}

const ForeignLibrary *foreignLibraryOf(const perpend_model *model) {
  const perpend_model *whole = model->base ? model->base : model;
  if (whole->unload != freeDescription)
    return nullptr;
  const ForeignLibrary &library = static_cast<const Description *>(whole->handle)->library;
  return library.architecture || library.program ? &library : nullptr;
}

/// Null, printed: the runtime refuses the tables.
static ModelOwner modelOf(std::string tables) {
  auto description = std::make_unique<Description>(std::move(tables));
  perpend_model *model = nullptr;
  if (perpend_model_from_module(&description->module, &model) != PERPEND_OK)
    return fail(perpend_error_message()), nullptr;
  model->handle = description.release();
  model->unload = freeDescription;
  return ModelOwner(model);
}

static ModelOwner loadProgram(StringRef path) {
  llvm::Expected<std::unique_ptr<target::Program>> program = target::loadProgram(path);
  if (!program)
    return fail(program.takeError()), nullptr;
  if ((*program)->tables().size() < sizeof(perpend_tables))
    return fail("'" + path + "' has no tables of a model", "compile the model again"), nullptr;
  ModelOwner model = modelOf((*program)->tables().str());
  if (model)
    static_cast<Description *>(model->handle)->library.program = std::move(*program);
  return model;
}

bool isEmulated(const perpend_model *model) {
  const ForeignLibrary *library = foreignLibraryOf(model);
  return library && (library->program || library->architecture->isEmulated);
}

ModelOwner loadOrDescribe(StringRef path, StringRef variant) {
  if (target::isProgram(path))
    return loadProgram(path);
  if (!foreignArchitectureOf(path))
    return loadLibrary(path);
  std::string refusal;
  ModelOwner model = describeLibrary(path, refusal);
  if (model && model->unload == freeDescription)
    static_cast<Description *>(model->handle)->library.variant = variant.str();
  return model;
}

/// As perpend_model_load; what is not ELF is not opened.
static perpend_status loadOrRefuse(StringRef path, perpend_model **model, std::string &refusal) {
  const target::Architecture *foreign = foreignArchitectureOf(path);
  if (foreign && !foreign->linksElf()) {
    refusal = llvm::formatv("'{0}': expected an ELF shared object, got one for {1}; hint: compile the model again",
                            path, foreign->name);
    return PERPEND_INCOMPATIBLE;
  }
  perpend_status status = perpend_model_load(path.str().c_str(), model);
  if (status != PERPEND_OK)
    refusal = perpend_error_message();
  return status;
}

ModelOwner describeLibrary(StringRef path, std::string &refusal) {
  if (target::isProgram(path))
    return loadProgram(path);
  perpend_model *model = nullptr;
  perpend_status status = loadOrRefuse(path, &model, refusal);
  if (status == PERPEND_OK)
    return ModelOwner(model);
  std::string tables;
  if (status == PERPEND_UNSUPPORTED_CPU || status == PERPEND_INCOMPATIBLE ||
      status == PERPEND_NOT_FOUND) // the latter: of its weights
    tables = tablesIn(path);
  if (tables.size() < sizeof(perpend_tables))
    return fail(refusal), nullptr;
  ModelOwner described = modelOf(std::move(tables));
  if (!described)
    return nullptr;
  ForeignLibrary &library = static_cast<Description *>(described->handle)->library;
  library.path = path.str();
  library.architecture = foreignArchitectureOf(path);
  refusal.resize(std::min(refusal.size(), refusal.find("; hint: ")));
  return described;
}
} // namespace perpend::cli
