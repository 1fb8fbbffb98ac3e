//===- DescribeLibrary.cpp - describes libraries for other machines -------===//
//
// A library's descriptor is text in the file, under a symbol. Together with an
// empty module it forms a model that can be queried; no code of the library is
// executed.
//
//===----------------------------------------------------------------------===//

#include "cli/CompiledModel.h"
#include "target/cpu/ModuleTable.h"

#include "../runtime/Model.h"

#include "llvm/Object/ELFObjectFile.h"

using llvm::object::ELF64LEObjectFile;

namespace perpend::cli {

static StringRef textOf(const llvm::object::ELFSymbolRef &symbol, const ELF64LEObjectFile &file) {
  StringRef bytes = file.getData();
  auto start = file.getELFFile().toMappedAddr(llvm::cantFail(symbol.getAddress()));
  if (!start)
    return llvm::consumeError(start.takeError()), "";
  const size_t offset = static_cast<size_t>(*start - bytes.bytes_begin());
  return bytes.substr(offset, symbol.getSize()).rtrim('\0');
}

/// nullopt: there is no readable descriptor.
static std::optional<llvm::json::Object> descriptionIn(StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return llvm::consumeError(file.takeError()), std::nullopt;
  const auto *elf = llvm::dyn_cast<ELF64LEObjectFile>(file->getBinary());
  if (!elf)
    return std::nullopt;
  for (const llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return llvm::consumeError(name.takeError()), std::nullopt;
    if (*name != target::descriptorSymbol)
      continue;
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(textOf(symbol, *elf));
    if (!value)
      return llvm::consumeError(value.takeError()), std::nullopt;
    if (llvm::json::Object *object = value->getAsObject())
      return std::move(*object);
  }
  return std::nullopt;
}

namespace {
/// A module whose functions are never called.
struct Description {
  explicit Description(llvm::json::Object facts);

  std::string text;
  perpend_module module = {};
};
} // namespace

Description::Description(llvm::json::Object facts) {
  auto countOf = [&](StringRef key) {
    const llvm::json::Array *list = facts.getArray(key);
    return list ? static_cast<uint32_t>(list->size()) : 0;
  };
  module.magic = PERPEND_MODULE_MAGIC;
  module.abi = PERPEND_MODULE_ABI;
  module.inputCount = countOf("inputs");
  module.outputCount = countOf("outputs");
  module.symbolCount = countOf("symbols");
  module.kernelCount = countOf("kernels");
  module.weightsBytes = static_cast<uint64_t>(facts.getInteger("weightsBytes").value_or(0));
  module.weights = reinterpret_cast<const uint8_t *>(this); // never read
  module.bind = [](auto...) -> int32_t { return PERPEND_UNSUPPORTED_CPU; };
  module.sizes = [](auto...) {};
  module.run = [](auto...) -> int32_t { return PERPEND_UNSUPPORTED_CPU; };
  for (StringRef key : {"isa", "weightsChecksum"}) // requirements that matter only for running it
    facts.erase(key);
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(facts));
  module.descriptor = text.c_str();
  module.descriptorBytes = text.size();
}

ModelOwner describeLibrary(StringRef path, std::string &refusal) {
  perpend_model *model = nullptr;
  perpend_status status = perpend_model_load(path.str().c_str(), &model);
  if (status == PERPEND_OK)
    return ModelOwner(model);
  refusal = perpend_error_message();
  std::optional<llvm::json::Object> facts;
  if (status == PERPEND_UNSUPPORTED_CPU)
    facts = descriptionIn(path);
  if (!facts)
    return fail(refusal), nullptr;
  auto description = std::make_unique<Description>(std::move(*facts));
  if (perpend_model_from_module(&description->module, &model) != PERPEND_OK)
    return fail(perpend_error_message()), nullptr;
  model->handle = description.release();
  model->unload = [](void *handle) { delete static_cast<Description *>(handle); };
  refusal.resize(std::min(refusal.size(), refusal.find("; hint: ")));
  return ModelOwner(model);
}
} // namespace perpend::cli
