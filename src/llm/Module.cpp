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
#include "graph/Shapes.h"
#include "graph/SubstituteSymbols.h"
#include "templates/Template.h"
#include "tokenizer/Load.h"

#include "perpend_tokenizer.h"
#include "runtime/llm/Settings.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <limits>
#include <map>
#include <set>

using namespace mlir;

namespace perpend::llm {
namespace {
/// What a program has beside its graph: tokenizer, template and settings. Errors: diagnostics at the location.
class Belongings {
public:
  explicit Belongings(Location location) : location(location) {}

  /// settings: of a folder, or a GGUF file. tokenizer: as tokenizer/Load.h takes it; empty: there is none.
  LogicalResult read(StringRef settings, StringRef tokenizer, int64_t context);
  /// The most tokens of a text.
  int64_t capacity = 0;
  void addTo(ModuleOp module);

private:
  LogicalResult fail(const Twine &message) { return emitError(location) << message.str(); }
  LogicalResult fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }
  LogicalResult readSettings(StringRef path);
  LogicalResult readTokenizer(StringRef path);
  LogicalResult findTokens();
  LogicalResult chooseContext(int64_t context);
  void addTemplate(ModuleOp module);
  void addSettings(ModuleOp module);

  Location location;
  Settings settings;
  std::optional<tokenizer::TableBytes> table;
};
} // namespace

LogicalResult Belongings::readSettings(StringRef path) {
  llvm::Expected<Settings> read = llvm::sys::fs::is_directory(path) ? readFolderSettings(path) : readGgufSettings(path);
  if (!read)
    return fail(read.takeError());
  settings = std::move(*read);
  return success();
}

LogicalResult Belongings::readTokenizer(StringRef path) {
  llvm::Expected<tokenizer::TableBytes> read = tokenizer::loadTokenizer(path);
  if (!read)
    return fail(read.takeError());
  table.emplace(std::move(*read));
  return findTokens();
}

/// Ids of tokens that a folder names by their spelling.
LogicalResult Belongings::findTokens() {
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
  return success();
}

LogicalResult Belongings::chooseContext(int64_t context) {
  if (!context && !settings.context)
    return fail(
        "the model does not say how many tokens the model was trained with\nhint: --context N, in Python context=N");
  capacity = context ? context : *settings.context;
  if (settings.context && capacity > *settings.context)
    return fail("context: expected at most " + Twine(*settings.context) +
                " tokens, with which the model was trained, got " + Twine(capacity));
  return success();
}

void Belongings::addTemplate(ModuleOp module) {
  if (settings.chatTemplate.empty() || !table)
    return;
  std::string error;
  std::optional<std::string> compiled = templates::compileTemplate(settings.chatTemplate, error);
  if (compiled)
    return graph::addAsset(module, templateAsset, *compiled);
  StringRef reason = StringRef(error).split("\nhint: ").first;
  graph::addAsset(module, refusalAsset, reason);
  emitWarning(location) << "the chat template (" << settings.templateFile << ") is not used: " << error;
}

void Belongings::addSettings(ModuleOp module) {
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

LogicalResult Belongings::read(StringRef settingsPath, StringRef tokenizerPath, int64_t context) {
  if (failed(readSettings(settingsPath)) || failed(chooseContext(context)) ||
      (!tokenizerPath.empty() && failed(readTokenizer(tokenizerPath))))
    return failure();
  if (settings.stops.empty() && settings.end)
    settings.stops.push_back(*settings.end);
  return success();
}

void Belongings::addTo(ModuleOp module) {
  if (table)
    graph::addAsset(module, tokenizerAsset, StringRef(static_cast<const char *>(table->data()), table->sizeBytes()));
  addTemplate(module);
  addSettings(module);
  graph::setBatchInvariant(module);
  module->setAttr(graph::programAttribute,
                  Builder(module.getContext())
                      .getStrArrayAttr({"libperpend_llm_main.a", "libperpend_llm.a", "libperpend_template.a",
                                        "libperpend_tokenizer.a", "libperpend_sampling.a", "libperpend_library.a"}));
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

static OwningOpRef<ModuleOp> importEntry(MLIRContext &context, StringRef path, const checkpoint::CacheOptions &cache,
                                         ArrayRef<support::DimensionOption> dimensions, checkpoint::Result result) {
  checkpoint::ImportOptions importing;
  importing.dimensions = dimensions;
  importing.cache = cache;
  importing.result = result;
  return llvm::sys::fs::is_directory(path) ? checkpoint::importFolder(context, path, importing)
                                           : checkpoint::importGguf(context, path, importing);
}

namespace {
struct EntryForm {
  StringRef name;
  std::vector<support::DimensionOption> dimensions;
  checkpoint::Result result = checkpoint::Result::LastLogits;
};
} // namespace

/// One entry for a single token, whose kernels need no loops over rows, one for a text, and those that are asked for.
static std::optional<std::vector<EntryForm>> entryForms(Location location, StringRef further) {
  const EntryForm known[] = {{"embed", {}, checkpoint::Result::Hidden}, {"verify", {}, checkpoint::Result::AllLogits}};
  std::vector<EntryForm> forms{{"decode", {{"n", "1"}}}, {"prefill", {}}};
  SmallVector<StringRef> names;
  further.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    const auto *found = llvm::find_if(known, [&](const EntryForm &form) { return form.name == name.trim(); });
    if (found == std::end(known)) {
      emitError(location) << "the entries: expected embed, verify or both, got '" << name << "'";
      return std::nullopt;
    }
    if (llvm::none_of(forms, [&](const EntryForm &form) { return form.name == found->name; }))
      forms.push_back(*found);
  }
  return forms;
}

OwningOpRef<ModuleOp> makeModule(MLIRContext &context, StringRef path, const ModuleOptions &options) {
  if (path.ends_with(".safetensors") && !llvm::sys::fs::is_directory(path)) { // the weights alone are no model
    StringRef folder = llvm::sys::path::parent_path(path);
    path = folder.empty() ? "." : folder;
  }
  Location location = FileLineColLoc::get(&context, path, 0, 0);
  Belongings belongings(location);
  std::optional<std::vector<EntryForm>> forms = entryForms(location, options.entries);
  if (!forms || failed(belongings.read(path, path, options.context)))
    return {};
  checkpoint::SharedBlocks shared;
  const checkpoint::CacheOptions cache{belongings.capacity, options.cacheType};
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  for (const EntryForm &form : *forms) {
    OwningOpRef<ModuleOp> entry = importEntry(context, path, cache, form.dimensions, form.result);
    if (!entry || failed(graph::addEntry(*module, form.name, std::move(entry))))
      return {};
  }
  belongings.addTo(*module);
  return module;
}

//===----------------------------------------------------------------------===//
// Graphs of other front ends
//===----------------------------------------------------------------------===//

/// The graph with a number in place of the extent of its tokens.
static void fixExtent(func::FuncOp function, StringRef symbol, int64_t extent) {
  llvm::StringMap<graph::SymbolicInt> replacements;
  replacements.try_emplace(symbol, graph::SymbolicInt(extent));
  graph::substituteSymbols(function.getBody(), replacements);
  AttrTypeReplacer ofAttributes; // what the graph requires of symbols
  graph::addSymbolReplacements(ofAttributes, replacements);
  ofAttributes.replaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/false);
  ValueRange results = function.getBody().front().getTerminator()->getOperands();
  function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(),
                                             SmallVector<Type>(results.getTypes())));
}

/// The symbol of the extent of the tokens. Errors: nothing, with a diagnostic, unless the entry continues a text.
static std::optional<std::string> tokenExtent(func::FuncOp entry) {
  auto ofCaller = [&](unsigned number) { return !entry.getArgAttr(number, graph::stateAttribute); };
  const bool hasOne =
      entry.getNumArguments() > 0 && ofCaller(0) && llvm::none_of(llvm::seq(1u, entry.getNumArguments()), ofCaller);
  auto tokens = hasOne ? dyn_cast<RankedTensorType>(entry.getArgumentTypes()[0]) : RankedTensorType();
  auto logits = entry.getNumResults() ? dyn_cast<RankedTensorType>(entry.getResultTypes()[0]) : RankedTensorType();
  if (tokens && tokens.getRank() == 1 && tokens.getElementType().isInteger(64) && logits && logits.getRank() == 1 &&
      logits.hasStaticShape() && logits.getElementType().isF32() && entry.getNumArguments() > 1) {
    graph::SymbolicInt extent = graph::shapeOf(entry.getArgument(0))[0];
    std::set<std::string> symbols;
    extent.symbols(symbols);
    if (symbols.size() == 1 && extent == graph::SymbolicInt::symbol(*symbols.begin()))
      return *symbols.begin();
  }
  entry.emitError("expected a graph with states from tokens, i64 [n], to the logits of the next one, f32 [vocabulary]");
  return std::nullopt;
}

LogicalResult completeModule(ModuleOp module, StringRef settings, StringRef tokenizer, int64_t context) {
  auto entries = graph::entriesOf(module);
  Location location = module.getLoc();
  auto prefill = module.lookupSymbol<func::FuncOp>("prefill");
  if (entries.size() == 1)
    prefill = entries.front();
  if (!prefill || module.lookupSymbol("decode"))
    return emitError(location) << "expected a module with one entry, or with prefill and without decode";
  Belongings belongings(location);
  std::optional<std::string> extent = tokenExtent(prefill);
  if (!extent || failed(belongings.read(settings, tokenizer, context)))
    return failure();
  auto capacity = Builder(module.getContext()).getI64IntegerAttr(belongings.capacity);
  for (func::FuncOp entry : entries)
    for (unsigned number : llvm::seq(entry.getNumArguments()))
      if (entry.getArgAttr(number, graph::capacityAttribute))
        entry.setArgAttr(number, graph::capacityAttribute, capacity);
  prefill.setSymName("prefill");
  func::FuncOp decode = prefill.clone();
  decode.setSymName("decode");
  module.insert(prefill, decode);
  fixExtent(decode, *extent, 1);
  module->removeAttr(graph::resultsAttribute); // no caller sees the results as the front end's
  belongings.addTo(module);
  return verify(module);
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
