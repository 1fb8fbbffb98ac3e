//===- Import.cpp - imports checkpoints of language models ----------------===//
//
// Steps: read the files, find the architecture by its name, describe the decoder from the settings, build the graph,
// check that every tensor has been used. The first error ends the import.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Import.h"
#include "frontend/checkpoint/Architecture.h"
#include "frontend/checkpoint/Decoder.h"
#include "frontend/checkpoint/Gguf.h"
#include "frontend/checkpoint/Json.h"
#include "frontend/checkpoint/Safetensors.h"
#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/Graph.h"
#include "graph/Repeats.h"
#include "support/MappedFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace perpend::checkpoint {

/// The symbol of the extent of all caches.
static constexpr StringRef tokensSoFar = "length";
/// What is cached of a token, in names of states: of latent attention, its latent is the key as well as the value.
static std::pair<std::string, std::string> cachedParts(const Form &form) {
  return form.latent ? std::pair("rotated_keys", "latents") : std::pair("keys", "values");
}

/// Of the names of scales, behind that of what they belong to.
static const std::string scalesSuffix = "_scales";

/// Of several texts, each has its own.
static std::string numbered(StringRef name, int64_t text, const CacheOptions &cache, StringRef separator = "") {
  return cache.texts > 1 ? (name + separator + Twine(text)).str() : name.str();
}

namespace {
/// What the files of a checkpoint hold.
struct Checkpoint {
  StoredTensors tensors;
  llvm::json::Object settings;
  /// The name of the architecture, and the prefix of its settings in GGUF.
  std::string architecture, prefix, name;

  bool isGguf() const { return !prefix.empty(); }
};

class Importer {
public:
  Importer(MLIRContext &context, Checkpoint &checkpoint, StringRef path, const ImportOptions &options)
      : context(context), checkpoint(checkpoint), path(path), location(FileLineColLoc::get(&context, path, 0, 0)),
        operations(&context), builder(operations, location), dimensions(options.dimensions), cache(options.cache),
        result(options.result) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult fail(const Twine &message) { return emitError(location) << message.str(); }
  std::optional<Form> describe(const Architecture &architecture, Weights &weights);
  /// Errors: nothing.
  std::optional<graph::SymbolicInt> extentOf(const std::string &input, size_t index, StringRef symbol, StringRef ofAll);
  Value declareTokens(func::FuncOp function, int64_t text);
  LogicalResult declareInputs(func::FuncOp function);
  Value build(func::FuncOp function, Weights &weights, const Form &form);
  /// Errors: null.
  Type cacheType();
  std::vector<LayerCache> declareCaches(func::FuncOp function, const Form &form, Type type);
  Value continued(func::FuncOp function, Decoder &decoder, MutableArrayRef<LayerCache> caches, const Form &form);
  LogicalResult checkUnused();
  void returnResults(func::FuncOp function, Value logits, ArrayRef<LayerCache> caches, const Form &form);

  MLIRContext &context;
  Checkpoint &checkpoint;
  StringRef path;
  Location location;
  OpBuilder operations;
  graph::Builder builder;
  support::DimensionOptions dimensions;
  CacheOptions cache;
  Result result;
};
} // namespace

std::optional<Form> Importer::describe(const Architecture &architecture, Weights &weights) {
  Settings settings(std::move(checkpoint.settings), checkpoint.prefix);
  if (settings.has(Key::Quantisation)) {
    (void)fail("the weights are quantised ('quantization_config'), which is not supported\nhint: use the checkpoint "
               "that they were made from, or a GGUF file");
    return std::nullopt;
  }
  Form form;
  architecture.describe(settings, weights, form);
  if (!settings.hasFailed() && !builder.hasFailed())
    return form;
  if (settings.hasFailed() && !builder.hasFailed())
    (void)fail("the model's settings: " + settings.message());
  return std::nullopt;
}

/// What the user says of a dimension: by its place, by its own name, or by that of all texts.
std::optional<graph::SymbolicInt> Importer::extentOf(const std::string &input, size_t index, StringRef symbol,
                                                     StringRef ofAll) {
  std::string error;
  std::optional<graph::SymbolicInt> extent;
  for (const std::string &subject : {input + ":" + std::to_string(index), symbol.str(), ofAll.str()})
    if (!extent && error.empty())
      extent = dimensions.apply(subject, error);
  if (error.empty() && extent && cache.tokens > 0 && StringRef(extent->str()).starts_with(tokensSoFar))
    error = ("'" + tokensSoFar + "' is the number of tokens in the cache\nhint: take another name").str();
  if (!error.empty())
    return (void)fail("input '" + input + "': " + error), std::nullopt;
  return extent.value_or(graph::SymbolicInt::symbol(symbol));
}

Value Importer::declareTokens(func::FuncOp function, int64_t text) {
  graph::Shape shape;
  const std::string input = numbered("tokens", text, cache, ".");
  const StringRef symbols[] = {"batch", "n"};
  for (auto [index, symbol] : llvm::enumerate(ArrayRef(symbols).drop_front(cache.tokens > 0 ? 1 : 0))) {
    std::optional<graph::SymbolicInt> extent = extentOf(input, index, numbered(symbol, text, cache), symbol);
    if (!extent)
      return {};
    shape.push_back(*extent);
  }
  auto name = operations.getNamedAttr(graph::nameAttribute, operations.getStringAttr(input));
  unsigned number = function.getNumArguments();
  function.insertArgument(number, graph::tensorType(shape, operations.getI64Type()), operations.getDictionaryAttr(name),
                          NameLoc::get(operations.getStringAttr(input)));
  return function.getArgument(number);
}

LogicalResult Importer::declareInputs(func::FuncOp function) {
  constexpr int64_t mostTexts = 64;
  if (cache.texts < 1 || cache.texts > mostTexts)
    return fail("the number of texts: expected 1 to " + Twine(mostTexts) + ", got " + Twine(cache.texts));
  for (int64_t text = 0; text < cache.texts; ++text)
    if (!declareTokens(function, text))
      return failure();
  std::string error = dimensions.unused();
  return error.empty() ? success() : fail(error);
}

/// Tensors of other uses than this graph: tables that old files have beside the weights, and parts for images.
static bool isIgnored(StringRef name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn.bias") ||
         name.ends_with(".attn.masked_bias") || name.contains("vision_tower.") ||
         name.contains("multi_modal_projector.");
}

LogicalResult Importer::checkUnused() {
  SmallVector<StringRef> unused = checkpoint.tensors.unused();
  llvm::erase_if(unused, [&](StringRef name) { return !checkpoint.isGguf() && isIgnored(name); });
  if (unused.empty())
    return success();
  std::string list;
  for (StringRef name : ArrayRef(unused).take_front(3))
    list += (list.empty() ? "'" : ", '") + name.str() + "'";
  list += unused.size() > 3 ? " and " + std::to_string(unused.size() - 3) + " more" : "";
  return fail("the architecture '" + checkpoint.architecture + "' has no use for " +
              (unused.size() == 1 ? "the tensor " : Twine(unused.size()) + " tensors: ") + list +
              "\nhint: the model may be another than its settings say, and its results would differ");
}

/// Of the caches, which lie text by text.
static std::string cacheName(StringRef part, size_t number, const CacheOptions &cache, size_t layers) {
  return numbered((part + "." + Twine(number % layers)).str(), static_cast<int64_t>(number / layers), cache, ".");
}

Type Importer::cacheType() {
  const std::vector<StringRef> types{"f32", "f16", "bf16", "int8"};
  if (cache.type == types.back())
    return operations.getI8Type();
  if (llvm::is_contained(types, cache.type))
    return graph::elementTypeNamed(&context, cache.type);
  (void)fail("the type of the cache: expected " + llvm::join(types, ", ") + ", got '" + cache.type +
             "'\nhint: f16 has 11 bits of precision, bf16 8, and int8 7 beside a scale for each token and head");
  return {};
}

/// Behind the tokens, as states are the last arguments; text by text.
std::vector<LayerCache> Importer::declareCaches(func::FuncOp function, const Form &form, Type type) {
  std::vector<LayerCache> caches;
  const size_t layers = form.layers.size();
  auto declare = [&](StringRef part, size_t at, Type type, std::optional<int64_t> size) {
    std::string length = numbered(tokensSoFar, static_cast<int64_t>(at / layers), cache);
    graph::Shape shape{graph::SymbolicInt::symbol(length), graph::SymbolicInt(form.latent ? 1 : form.keyHeads)};
    if (size)
      shape.emplace_back(*size);
    NamedAttrList attributes;
    attributes.set(graph::stateAttribute, operations.getStringAttr(cacheName(part, at, cache, layers)));
    attributes.set(graph::capacityAttribute, operations.getI64IntegerAttr(cache.tokens));
    unsigned number = function.getNumArguments();
    function.insertArgument(number, graph::tensorType(shape, type), attributes.getDictionary(&context), location);
    return function.getArgument(number);
  };
  for (size_t at = 0; at < layers * static_cast<size_t>(cache.texts); ++at) {
    LayerCache own;
    const auto [keys, values] = cachedParts(form);
    const int64_t keySize = form.latent ? form.latent->rotatedSize : form.headSize,
                  valueSize = form.latent ? form.latent->size : form.valueSize;
    for (auto [part, rows, size] : {std::tuple(keys, &own.keys, keySize), std::tuple(values, &own.values, valueSize)}) {
      rows->rows = declare(part, at, type, size);
      if (isa<IntegerType>(type))
        rows->scales = declare(part + scalesSuffix, at, builder.f32(), std::nullopt);
    }
    caches.push_back(own);
  }
  return caches;
}

/// Of one text, the logits have no dimension for texts.
Value Importer::continued(func::FuncOp function, Decoder &decoder, MutableArrayRef<LayerCache> caches,
                          const Form &form) {
  const size_t layers = form.layers.size();
  std::vector<Continuation> texts;
  for (int64_t text = 0; text < cache.texts; ++text)
    texts.push_back({function.getArgument(text), graph::SymbolicInt::symbol(numbered(tokensSoFar, text, cache)),
                     caches.slice(static_cast<size_t>(text) * layers, layers)});
  if (result != Result::LastLogits)
    return decoder.continuedRows(texts.front(), cache.tokens, result);
  Value logits = decoder.continued(texts, cache.tokens);
  return logits && cache.texts == 1 ? builder.reshape(logits, {graph::SymbolicInt(*form.vocabulary)}) : logits;
}

Value Importer::build(func::FuncOp function, Weights &weights, const Form &form) {
  if (failed(declareInputs(function)))
    return {};
  std::vector<LayerCache> caches;
  Decoder decoder(builder, weights, form);
  if (cache.tokens > 0) {
    Type type = cacheType();
    if (!type)
      return {};
    caches = declareCaches(function, form, type);
  }
  Value logits =
      cache.tokens > 0 ? continued(function, decoder, caches, form) : decoder.logits(function.getArgument(0));
  const bool usesHead = result != Result::Hidden;
  if (!logits || builder.hasFailed() || (usesHead && failed(checkUnused())))
    return {};
  returnResults(function, logits, caches, form);
  return logits;
}

void Importer::returnResults(func::FuncOp function, Value logits, ArrayRef<LayerCache> caches, const Form &form) {
  SmallVector<Value> results{logits};
  SmallVector<Attribute> attributes{operations.getDictionaryAttr(operations.getNamedAttr(
      graph::nameAttribute, operations.getStringAttr(result == Result::Hidden ? "hidden" : "logits")))};
  auto add = [&](Value value, StringRef part, size_t at) {
    results.push_back(value);
    auto name = operations.getStringAttr(cacheName(part, at, cache, form.layers.size()));
    attributes.push_back(operations.getDictionaryAttr(operations.getNamedAttr(graph::stateAttribute, name)));
  };
  const auto [keys, values] = cachedParts(form);
  for (auto [at, own] : llvm::enumerate(caches))
    for (const auto &[part, value] : {std::pair(keys, own.keys), std::pair(values, own.values)}) {
      add(value.rows, part, at);
      if (value.scales)
        add(value.scales, part + scalesSuffix, at);
    }
  operations.create<func::ReturnOp>(location, results);
  function.setFunctionType(
      FunctionType::get(&context, function.getArgumentTypes(), SmallVector<Type>(ValueRange(results).getTypes())));
  function.setAllResultAttrs(attributes);
}

bool isKnownModelType(StringRef modelType) { return findArchitecture(modelType, /*isGguf=*/false) != nullptr; }

OwningOpRef<ModuleOp> Importer::run() {
  const Architecture *architecture = findArchitecture(checkpoint.architecture, checkpoint.isGguf());
  if (!architecture) {
    (void)fail("the architecture '" + checkpoint.architecture + "' is not supported\nhint: expected one of " +
               architectureNames(checkpoint.isGguf()) +
               (checkpoint.isGguf() ? "" : "; in Python, perpend.llm.compile takes others through transformers"));
    return {};
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  (*module)->setAttr(graph::modelNameAttribute, operations.getStringAttr(checkpoint.name));
  operations.setInsertionPointToEnd(module->getBody());
  auto function = operations.create<func::FuncOp>(location, "main", operations.getFunctionType({}, {}));
  operations.setInsertionPointToStart(function.addEntryBlock());
  Weights weights(builder, checkpoint.tensors, architecture->names, checkpoint.isGguf());
  std::optional<Form> form = describe(*architecture, weights);
  if (!form || !build(function, weights, *form))
    return {};
  graph::inferRepeats(function);
  if (failed(verify(*module)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Errors: false, and a message.
static bool readGgufModel(StringRef path, Checkpoint &checkpoint, std::string &error) {
  std::optional<Metadata> metadata = readGgufCheckpoint(path, checkpoint.tensors, error);
  if (!metadata)
    return false;
  std::optional<StringRef> architecture = metadata->values.getString("general.architecture");
  if (!architecture || architecture->empty())
    return error = "expected the name of an architecture in the metadata, general.architecture", false;
  checkpoint.architecture = checkpoint.prefix = architecture->str();
  checkpoint.name = metadata->values.getString("general.name").value_or("model").str();
  checkpoint.settings = std::move(metadata->values);
  return true;
}

static bool readFolderModel(StringRef folder, Checkpoint &checkpoint, std::string &error) {
  SmallString<256> path(folder);
  llvm::sys::path::append(path, "config.json");
  auto file = support::mapFile(path.str().str());
  if (!file)
    return error = "cannot read config.json: " + file.getError().message(), false;
  std::optional<llvm::json::Object> settings = parseObject((*file)->getBuffer(), error);
  if (!settings)
    return error = "config.json: " + error, false;
  // Models of images and texts have the settings of the latter in an object of their own.
  if (const llvm::json::Object *text = settings->getObject("text_config")) {
    llvm::json::Object inner = *text;
    settings = std::move(inner);
  }
  std::optional<StringRef> architecture = settings->getString("model_type");
  if (!architecture)
    return error = "config.json: expected the name of an architecture, model_type", false;
  checkpoint.architecture = architecture->str();
  StringRef name = llvm::sys::path::filename(folder.rtrim('/'));
  checkpoint.name = name.trim('.').empty() ? "model" : name.str();
  checkpoint.settings = std::move(*settings);
  return readSafetensorsFolder(folder, checkpoint.tensors, error);
}

using Reader = bool (*)(StringRef path, Checkpoint &checkpoint, std::string &error);

static OwningOpRef<ModuleOp> importModel(MLIRContext &context, StringRef path, Reader reader,
                                         const ImportOptions &options) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  Location location = FileLineColLoc::get(&context, path, 0, 0);
  support::FileWatch watch;
  OwningOpRef<ModuleOp> module;
  {
    // If a file has changed meanwhile, errors of the importer are meaningless.
    ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &) { return success(watch.changedFile().has_value()); });
    Checkpoint checkpoint;
    std::string error;
    if (!reader(path, checkpoint, error))
      emitError(location) << "the checkpoint: " << error;
    else
      module = Importer(context, checkpoint, path, options).run();
  }
  std::optional<std::string> changed = watch.changedFile();
  if (!changed)
    return module;
  emitError(location) << support::changedText(*changed);
  return {};
}

OwningOpRef<ModuleOp> importGguf(MLIRContext &context, StringRef path, const ImportOptions &options) {
  return importModel(context, path, readGgufModel, options);
}

OwningOpRef<ModuleOp> importFolder(MLIRContext &context, StringRef folder, const ImportOptions &options) {
  return importModel(context, folder, readFolderModel, options);
}
} // namespace perpend::checkpoint
