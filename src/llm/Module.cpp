//===- Module.cpp - checkpoints become programs ---------------------------===//

#include "llm/Module.h"
#include "llm/Settings.h"

#include "frontend/checkpoint/Import.h"
#include "frontend/checkpoint/SharedBlocks.h"
#include "graph/Assets.h"
#include "graph/Attributes.h"
#include "graph/BatchInvariance.h"
#include "graph/Entries.h"
#include "graph/Graph.h"
#include "templates/Template.h"
#include "tokenizer/Load.h"

#include "perpend_tokenizer.h"
#include "runtime/llm/Settings.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <limits>
#include <map>

using namespace mlir;

namespace perpend::llm {
namespace {
class ModuleMaker {
public:
  ModuleMaker(MLIRContext &context, StringRef path, const ModuleOptions &options)
      : context(context), path(path), isFolder(llvm::sys::fs::is_directory(path)), options(options),
        location(FileLineColLoc::get(&context, path, 0, 0)) {}
  OwningOpRef<ModuleOp> make();

private:
  LogicalResult fail(const Twine &message) { return emitError(location) << message.str(); }
  LogicalResult fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }
  LogicalResult readSettings();
  LogicalResult readTokenizer();
  LogicalResult findTokens();
  LogicalResult chooseContext();
  OwningOpRef<ModuleOp> importEntry(ArrayRef<support::DimensionOption> dimensions);
  OwningOpRef<ModuleOp> importEntries();
  void addTemplate(ModuleOp module);
  void addSettings(ModuleOp module);

  MLIRContext &context;
  StringRef path;
  bool isFolder;
  const ModuleOptions &options;
  Location location;
  Settings settings;
  std::optional<tokenizer::TableBytes> table;
  int64_t capacity = 0;
};
} // namespace

LogicalResult ModuleMaker::readSettings() {
  llvm::Expected<Settings> read = isFolder ? readFolderSettings(path) : readGgufSettings(path);
  if (!read)
    return fail(read.takeError());
  settings = std::move(*read);
  return success();
}

LogicalResult ModuleMaker::readTokenizer() {
  llvm::Expected<tokenizer::TableBytes> read = tokenizer::loadTokenizer(path);
  if (!read)
    return fail(read.takeError());
  table.emplace(std::move(*read));
  return success();
}

/// Ids of tokens that a folder names by their spelling.
LogicalResult ModuleMaker::findTokens() {
  perpend_tokenizer *opened = nullptr;
  if (perpend_tokenizer_create(table->data(), static_cast<int64_t>(table->sizeBytes()), &opened))
    return fail(Twine("the tokenizer: ") + perpend_error_message());
  for (auto [text, token] : {std::pair(&settings.startText, &settings.start), {&settings.endText, &settings.end}}) {
    if (text->empty())
      continue;
    int32_t id = perpend_tokenizer_find(opened, {text->data(), static_cast<int64_t>(text->size())});
    if (id >= 0)
      *token = id;
  }
  perpend_tokenizer_free(opened);
  if (settings.stops.empty() && settings.end)
    settings.stops.push_back(*settings.end);
  return success();
}

LogicalResult ModuleMaker::chooseContext() {
  if (!options.context && !settings.context)
    return fail("the checkpoint does not say how many tokens the model was trained with\nhint: --context N");
  capacity = options.context ? options.context : *settings.context;
  if (settings.context && capacity > *settings.context)
    return fail("--context: expected at most " + Twine(*settings.context) +
                " tokens, with which the model was trained, got " + Twine(capacity));
  return success();
}

OwningOpRef<ModuleOp> ModuleMaker::importEntry(ArrayRef<support::DimensionOption> dimensions) {
  checkpoint::ImportOptions importing;
  importing.dimensions = dimensions;
  importing.cache = {capacity, options.cacheType};
  return isFolder ? checkpoint::importFolder(context, path, importing)
                  : checkpoint::importGguf(context, path, importing);
}

/// One entry for a single token, whose kernels need no loops over rows, and one for a text.
OwningOpRef<ModuleOp> ModuleMaker::importEntries() {
  checkpoint::SharedBlocks shared;
  OwningOpRef<ModuleOp> module = ModuleOp::create(location), decode = importEntry({{"n", "1"}}),
                        prefill = decode ? importEntry({}) : OwningOpRef<ModuleOp>();
  if (!prefill || failed(graph::addEntry(*module, "decode", std::move(decode))) ||
      failed(graph::addEntry(*module, "prefill", std::move(prefill))))
    return {};
  return module;
}

void ModuleMaker::addTemplate(ModuleOp module) {
  if (settings.chatTemplate.empty())
    return;
  std::string error;
  std::optional<std::string> compiled = templates::compileTemplate(settings.chatTemplate, error);
  if (compiled)
    return graph::addAsset(module, templateAsset, *compiled);
  StringRef reason = StringRef(error).split("\nhint: ").first;
  graph::addAsset(module, refusalAsset, reason);
  emitWarning(location) << "the chat template (" << settings.templateFile << ") is not used: " << error;
}

void ModuleMaker::addSettings(ModuleOp module) {
  SettingsHead head = {};
  head.magic = settingsMagic;
  head.version = settingsVersion;
  head.contextTokens = capacity;
  head.startToken = settings.start.value_or(-1);
  head.endToken = settings.end.value_or(-1);
  head.stopTokenCount = static_cast<uint32_t>(settings.stops.size());
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  head.topK = static_cast<int32_t>(settings.topK.value_or(-1));
  head.temperature = settings.temperature.value_or(unknown);
  head.topP = settings.topP.value_or(unknown);
  head.minP = settings.minP.value_or(unknown);
  head.repetitionPenalty = settings.repetitionPenalty.value_or(unknown);
  std::string bytes(reinterpret_cast<const char *>(&head), sizeof head);
  bytes.append(reinterpret_cast<const char *>(settings.stops.data()), settings.stops.size() * sizeof(int32_t));
  graph::addAsset(module, settingsAsset, bytes);
}

OwningOpRef<ModuleOp> ModuleMaker::make() {
  if (failed(readSettings()) || failed(chooseContext()) || failed(readTokenizer()) || failed(findTokens()))
    return {};
  OwningOpRef<ModuleOp> module = importEntries();
  if (!module)
    return {};
  graph::addAsset(*module, tokenizerAsset, StringRef(static_cast<const char *>(table->data()), table->sizeBytes()));
  addTemplate(*module);
  addSettings(*module);
  graph::setBatchInvariant(*module);
  (*module)->setAttr(
      graph::programAttribute,
      Builder(&context).getStrArrayAttr({"libperpend_llm_main.a", "libperpend_llm.a", "libperpend_template.a",
                                         "libperpend_tokenizer.a", "libperpend_sampling.a", "libperpend_library.a"}));
  return module;
}

OwningOpRef<ModuleOp> makeModule(MLIRContext &context, StringRef path, const ModuleOptions &options) {
  if (path.ends_with(".safetensors") && !llvm::sys::fs::is_directory(path)) { // the weights alone are no model
    StringRef folder = llvm::sys::path::parent_path(path);
    path = folder.empty() ? "." : folder;
  }
  return ModuleMaker(context, path, options).make();
}

int64_t bitsOfGroupedWeights(ModuleOp module) {
  // What scales numbers makes floats of unsigned ones (graph/composites/QuantisedProducts.cpp). Rows of a table that
  // are looked up are no operands of products; these become signed integers first.
  std::map<int64_t, int64_t> bytes; // by bits
  module.walk([&](graph::MapOp map) {
    auto numbers = map.getNumOperands() ? dyn_cast<RankedTensorType>(map.getOperand(0).getType()) : RankedTensorType();
    auto type = numbers ? dyn_cast<IntegerType>(numbers.getElementType()) : IntegerType();
    auto result = cast<ShapedType>(map->getResult(0).getType());
    if (type && type.isUnsigned() && type.getWidth() <= 8 && numbers.getRank() == 2 && numbers.hasStaticShape() &&
        isa<FloatType>(result.getElementType()))
      bytes[type.getWidth()] += numbers.getNumElements() * type.getWidth() / 8;
  });
  auto most = llvm::max_element(bytes, [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == bytes.end() ? 0 : most->first;
}
} // namespace perpend::llm
