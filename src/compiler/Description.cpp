//===- Description.cpp - the descriptor of an artifact --------------------===//

#include "compiler/Description.h"
#include "graph/Assets.h"
#include "graph/Attributes.h"
#include "target/cpu/Architecture.h"
#include "tile/Attributes.h"

#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "host/Arena.h"
#include "host/Segments.h"
#include "host/Strategy.h"
#include "host/VerifyProgram.h"
#include "support/MappedFile.h"
#include "support/ReadableText.h"
#include "tile/kernel/Buffers.h"

#include "perpend_module.h"
#include "perpend_process.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace mlir;

namespace perpend {

std::vector<target::WeightBlob> ModelDescription::blobs() {
  std::vector<target::WeightBlob> result;
  converted.reserve(weights.size());
  for (auto &[offset, value] : weights)
    result.push_back({static_cast<uint64_t>(offset), tile::constantBytes(value, converted.emplace_back())});
  return result;
}

int64_t ModelDescription::arenaBytes() const {
  int64_t bytes = 0;
  for (const EntryDescription &entry : entries)
    bytes = bytes < 0 || !entry.staticOffsets ? -1 : std::max(bytes, entry.staticArenaBytes);
  return bytes;
}

void ModelDescription::addPackedWeights(StringRef path, const target::WeightsSummary &written) {
  if (written.byteCount == 0)
    return;
  WeightsPart packed{path.str(), llvm::sys::path::filename(path).str(), PERPEND_SEGMENT_PAGE, written.byteCount};
  packed.fileBytes = PERPEND_SEGMENT_PAGE + written.byteCount;
  packed.checksum = written.checksum;
  packed.hasHeader = true;
  parts.insert(parts.begin(), packed);
}

std::vector<std::pair<std::string, uint64_t>> ModelDescription::filePaths() const {
  std::vector<std::pair<std::string, uint64_t>> files;
  for (const WeightsPart &part : parts)
    if (files.empty() || files.back().first != part.path)
      files.emplace_back(part.path, part.fileBytes);
  return files;
}

void ModelDescription::releaseWeights(const llvm::DenseSet<AsmResourceBlob *> &kept) {
  constexpr int64_t manyBytes = 64 << 20;
  const bool areMany = table.weightsBytes > manyBytes;
  for (auto &[offset, value] : weights)
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
      if (AsmResourceBlob *blob = resource.getRawHandle().getBlob(); blob && !kept.contains(blob))
        *blob = AsmResourceBlob();
  for (AsmResourceBlob *blob : kept)
    support::forgetPages(blob->getData().data(), blob->getData().size());
#ifdef __GLIBC__
  if (areMany)
    malloc_trim(0); // free() alone returns nothing below a block that is in use
#endif
  weights.clear();
  converted.clear();
}

static void describeElement(Type type, TensorDescription &list) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return;
  TensorDescription &element = list.element.emplace_back();
  element.type = graph::nameOf(tensor.getElementType());
  element.isRanked = tensor.hasRank();
  for (int64_t extent : tensor.hasRank() ? tensor.getShape() : ArrayRef<int64_t>())
    element.shape.push_back(ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
  if (auto inner = dyn_cast<graph::SequenceType>(tensor.getElementType()))
    describeElement(inner.getElement(), element);
}

static TensorDescription describeTensor(Type type, DictionaryAttr attributes, const std::string &fallback) {
  auto tensor = cast<RankedTensorType>(type);
  TensorDescription description{fallback, graph::nameOf(tensor.getElementType()), {}};
  if (auto name = attributes ? attributes.getAs<StringAttr>(graph::nameAttribute) : StringAttr())
    description.name = name.str();
  if (auto map = attributes ? attributes.getAs<StringAttr>(graph::mapAttribute) : StringAttr())
    description.map = map.str();
  if (attributes)
    description.labels = attributes.getAs<ArrayAttr>(graph::labelsAttribute);
  for (const graph::SymbolicInt &extent : graph::shapeOf(tensor))
    description.shape.push_back(extent.str());
  if (auto list = dyn_cast<graph::SequenceType>(tensor.getElementType()))
    describeElement(list.getElement(), description);
  return description;
}

std::string identifier(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) ? c : '_';
  if (result.empty() || llvm::isDigit(result[0]))
    result = "m_" + result;
  return result;
}

static void describeKernels(ModuleOp module, ModelDescription &description) {
  for (auto kernel : module.getOps<func::FuncOp>())
    if (auto number = kernel->getAttrOfType<IntegerAttr>(tile::numberAttribute)) {
      size_t position = number.getInt();
      if (position >= description.kernels.size())
        description.kernels.resize(position + 1);
      description.kernels[position] = kernel.getSymName();
    }
}

/// Replaces texts by their identities, numbered in order of first use; the empty text is 0.
static ElementsAttr identitiesOf(DenseStringElementsAttr texts, std::vector<std::string> &table,
                                 llvm::StringMap<int64_t> &known) {
  SmallVector<int64_t> identities;
  for (StringRef text : texts.getValues<StringRef>()) {
    auto [entry, isNew] = known.try_emplace(text, static_cast<int64_t>(table.size()));
    if (isNew)
      table.push_back(text.str());
    identities.push_back(entry->second);
  }
  auto type = RankedTensorType::get(texts.getType().getShape(), IntegerType::get(texts.getContext(), 64));
  return DenseElementsAttr::get(type, ArrayRef<int64_t>(identities));
}

static void describeConstants(ModuleOp module, ModelDescription &description) {
  llvm::StringMap<int64_t> known{{"", 0}};
  description.texts.assign(1, "");
  for (auto segment : module.getOps<host::SegmentOp>()) {
    if (segment.isInFile())
      continue;
    ElementsAttr value = *segment.getValue();
    if (auto texts = dyn_cast<DenseStringElementsAttr>(value))
      value = identitiesOf(texts, description.texts, known);
    description.weights.emplace_back(segment.getOffset(), value);
  }
  for (auto entry : module.getOps<host::EntryOp>()) {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      description.needsHandles |= graph::isHandle(entry.tensorOf(i).getElementType());
    entry.walk([&](host::CallOp) { description.needsHandles = true; });
  }
}

/// Those of the model: what a session keeps, whichever entry it runs.
static void describeStates(ModuleOp module, ModelDescription &description) {
  for (auto op : module.getOps<host::StateOp>()) {
    StateDescription state;
    state.tensor = describeTensor(op.tensor(), {}, op.getName().str());
    if (op.getGrowing())
      state.growing = static_cast<int64_t>(*op.getGrowing());
    if (op.getReads())
      state.reads = static_cast<int64_t>(*op.getReads());
    if (op.getInitially()) {
      auto segment = module.lookupSymbol<host::SegmentOp>(*op.getInitially());
      RankedTensorType type = segment.tensor();
      state.initialOffset = static_cast<int64_t>(segment.getOffset());
      state.initialBytes = type.getNumElements() * tile::elementBytes(type.getElementType());
    }
    description.states.push_back(std::move(state));
  }
}

/// States follow inputs and outputs, and have no names there.
static void describeStatesOf(host::EntryOp entry, EntryDescription &description) {
  auto module = entry->getParentOfType<ModuleOp>();
  const unsigned count = entry.stateCount();
  description.inputs.resize(description.inputs.size() - count);
  description.outputs.resize(description.outputs.size() - count);
  for (unsigned number = 0; number < count; ++number) {
    StringRef name = entry.stateOf(entry.inputCount() - count + number);
    auto all = module.getOps<host::StateOp>();
    auto found = llvm::find_if(all, [&](host::StateOp op) { return op.getSymName() == name; });
    uint32_t update = PERPEND_UPDATE_COMPUTED;
    if (entry.isInPlace(number))
      update = host::overwrites(entry, number) ? PERPEND_UPDATE_WRITTEN : PERPEND_UPDATE_APPENDED;
    description.states.emplace_back(static_cast<uint32_t>(std::distance(all.begin(), found)), update);
  }
}

/// Of one thread, whose part is all.
static std::optional<int64_t> sizeOfOnePart(host::BufferOp buffer) { return buffer.getBytes().values()[0].constant(); }

static void describePlan(host::EntryOp entry, const target::Machine &machine, EntryDescription &table) {
  table.growingCount = entry.roomCount();
  table.staticOffsets.emplace();
  for (auto buffer : entry.getBody().getOps<host::BufferOp>()) {
    if (buffer.getMemory().getType().getMemory() != host::hostMemory)
      continue; // the runtime has one arena
    llvm::append_range(table.lifetimes, buffer.getLive().value_or(ArrayRef<int64_t>{0, 0}));
    if (!buffer.getOffset())
      table.staticOffsets.reset();
    else if (table.staticOffsets)
      table.staticOffsets->push_back(*buffer.getOffset());
  }
  const bool hasOneThread = !machine.levels.empty() && machine.levels.front().count == 1;
  if (std::optional<host::Arena> arena = table.staticOffsets
                                             ? host::planArena(entry, host::hostMemory, {}, host::constantSizeOf)
                                         : hasOneThread ? host::planArena(entry, host::hostMemory, {}, sizeOfOnePart)
                                                        : std::nullopt) {
    table.staticOffsets = arena->offsets;
    table.staticArenaBytes = arena->bytes;
  }
  table.strategy = static_cast<uint32_t>(host::strategyOf(entry));
}

static EntryDescription describeEntry(host::EntryOp entry, const target::Machine &machine) {
  EntryDescription description;
  description.name = entry.getSymName();
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    bool isInput = i < entry.inputCount();
    std::string fallback = isInput ? "input" + std::to_string(i) : "output" + std::to_string(i - entry.inputCount());
    (isInput ? description.inputs : description.outputs)
        .push_back(describeTensor(entry.tensorOf(i), entry.getArgAttrDict(i), fallback));
  }
  for (unsigned input = 0; input < description.inputs.size(); ++input)
    if (auto dims = entry.getArgAttrOfType<ArrayAttr>(input, graph::repeatsAttribute))
      for (auto [dim, others] : llvm::enumerate(dims.getAsRange<graph::ShapeAttr>()))
        if (!others.getDims().empty())
          description.inputs[input].repeats.push_back(static_cast<int64_t>(dim));
  describeStatesOf(entry, description);
  description.symbols = entry.symbolNames();
  description.dataSymbols = entry.dataSymbolNames();
  for (StringRef requirement : graph::describeRequirements(entry, /*eachEquationOnce=*/true))
    description.requirements.push_back(support::readable(requirement));
  for (Operation *op : {entry.getOperation(), entry->getParentOp()})
    if (auto results = op->getAttrOfType<StringAttr>(graph::resultsAttribute); results && description.results.empty())
      description.results = results.str();
  describePlan(entry, machine, description);
  return description;
}

LogicalResult describeModel(ModuleOp module, StringRef name, const target::Machine &machine,
                            ModelDescription &description) {
  if (!name.empty() && name != identifier(name))
    return module.emitError("the name '") << name << "' is not an identifier\nhint: try --name " << identifier(name);
  auto modelName = module->getAttrOfType<StringAttr>(graph::modelNameAttribute);
  description.table.name = identifier(!name.empty() ? name : modelName ? modelName.getValue() : StringRef("model"));
  description.entries.clear();
  for (host::EntryOp entry : host::entriesOf(module))
    description.entries.push_back(describeEntry(entry, machine));
  description.table.entryCount = description.entries.size();
  describeKernels(module, description);
  describeConstants(module, description);
  describeStates(module, description);
  description.assets.clear();
  for (auto [asset, bytes] : graph::assetsOf(module))
    description.assets.emplace_back(asset.str(), std::string(bytes.data(), bytes.size()));
  description.table.hasStates = !description.states.empty();
  description.table.weightsBytes = static_cast<uint64_t>(host::segmentBytesOf(module));
  for (const host::FilePart &part : host::filePartsOf(module))
    description.parts.push_back({part.path, "", static_cast<uint64_t>(part.offset), static_cast<uint64_t>(part.bytes),
                                 static_cast<uint64_t>(part.position)});
  return success();
}

static llvm::json::Array toJson(ArrayAttr labels) {
  llvm::json::Array array;
  for (Attribute label : labels)
    if (auto text = dyn_cast<StringAttr>(label))
      array.push_back(llvm::json::fixUTF8(text.getValue()));
    else
      array.push_back(cast<IntegerAttr>(label).getInt());
  return array;
}

static llvm::json::Object toJson(const TensorDescription &tensor) {
  llvm::json::Array shape;
  for (const std::string &extent : tensor.shape) {
    int64_t number;
    if (StringRef(extent).getAsInteger(10, number))
      shape.push_back(extent);
    else
      shape.push_back(number);
  }
  llvm::json::Object object{{"type", tensor.type}};
  if (!tensor.name.empty())
    object["name"] = llvm::json::fixUTF8(tensor.name);
  if (tensor.isRanked)
    object["shape"] = std::move(shape);
  for (const TensorDescription &element : tensor.element)
    object["element"] = toJson(element);
  if (!tensor.repeats.empty())
    object["repeats"] = llvm::json::Array(tensor.repeats);
  if (!tensor.map.empty())
    object["map"] = llvm::json::fixUTF8(tensor.map);
  if (tensor.labels)
    object["labels"] = toJson(tensor.labels);
  return object;
}

static llvm::json::Array toJson(const std::vector<TensorDescription> &tensors) {
  llvm::json::Array array;
  for (const TensorDescription &tensor : tensors)
    array.push_back(toJson(tensor));
  return array;
}

static llvm::json::Array toJson(ArrayRef<StateDescription> states) {
  llvm::json::Array array;
  for (const StateDescription &state : states) {
    llvm::json::Object object = toJson(state.tensor);
    if (state.growing)
      object["growing"] = *state.growing;
    if (state.reads)
      object["reads"] = *state.reads;
    array.push_back(std::move(object));
  }
  return array;
}

static llvm::json::Object toJson(const MachineDescription &machine) {
  return llvm::json::Object{{"target", machine.target.name},
                            {"isa", llvm::json::Array(target::extensionsOf(machine.target))},
                            {"codeBytes", machine.codeBytes},
                            {"weightsBytes", machine.weightsBytes}};
}

static void describe(const EntryDescription &entry, llvm::json::Object &object) {
  object["symbols"] = llvm::json::Array(entry.symbols);
  object["inputs"] = toJson(entry.inputs);
  object["outputs"] = toJson(entry.outputs);
  if (!entry.dataSymbols.empty())
    object["dataSymbols"] = llvm::json::Array(entry.dataSymbols);
  if (!entry.requirements.empty())
    object["requirements"] = llvm::json::Array(entry.requirements);
  if (llvm::Expected<llvm::json::Value> results = llvm::json::parse(entry.results))
    object["results"] = std::move(*results);
  else
    llvm::consumeError(results.takeError());
}

/// Each file once.
static llvm::json::Array filesOf(const ModelDescription &description) {
  llvm::json::Array files;
  llvm::StringSet<> known;
  for (const WeightsPart &part : description.parts)
    if (known.insert(part.name).second)
      files.push_back(llvm::json::Object{{"file", llvm::json::fixUTF8(part.name)}, {"bytes", part.fileBytes}});
  return files;
}

std::string descriptorOf(const ModelDescription &description, const target::TargetInfo &target,
                         ArrayRef<MachineDescription> machines) {
  llvm::json::Object object{{"perpend", PERPEND_VERSION},
                            {"abi", PERPEND_MODULE_ABI},
                            {"name", description.table.name},
                            {"target", target.name},
                            {"precision", description.precision},
                            {"isa", llvm::json::Array(target::extensionsOf(target))},
                            {"kernels", llvm::json::Array(description.kernels)},
                            {"weightsBytes", description.table.weightsBytes}};
  describe(description.entries.front(), object);
  if (description.entries.size() > 1) {
    llvm::json::Array entries;
    for (const EntryDescription &entry : description.entries) {
      llvm::json::Object one{{"name", entry.name}};
      describe(entry, one);
      entries.push_back(std::move(one));
    }
    object["entries"] = std::move(entries);
  }
  if (!description.states.empty())
    object["states"] = toJson(description.states);
  if (!description.assets.empty()) {
    llvm::json::Array assets;
    for (const auto &[name, bytes] : description.assets)
      assets.push_back(llvm::json::Object{{"name", llvm::json::fixUTF8(name)}, {"bytes", bytes.size()}});
    object["assets"] = std::move(assets);
  }
  if (description.isChecked)
    object["checked"] = true;
  if (description.table.weightsAddress)
    object["process"] = perpend_process_number();
  if (!machines.empty()) {
    llvm::json::Array variants;
    for (const MachineDescription &machine : machines)
      variants.push_back(toJson(machine));
    object["variants"] = std::move(variants);
  }
  if (!description.checksum.empty())
    object["weightsChecksum"] = description.checksum;
  if (!description.parts.empty())
    object["weightsFiles"] = filesOf(description);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

/// Escapes a name for use in a C comment.
static std::string commentOf(StringRef name) {
  std::string text = support::readable(name);
  for (StringRef mark : {"*/", "/*"})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.insert(at + 1, " ");
  return text;
}

void printHeader(const ModelDescription &description, llvm::raw_ostream &stream) {
  const std::string &name = description.table.name;
  std::string guard = "PERPEND_MODEL_" + StringRef(name).upper() + "_H";
  stream << "/* A model compiled by Perpend. Run it with perpend.h: perpend_model_from_module(perpend_module_" << name
         << "(), &model). */\n#ifndef " << guard << "\n#define " << guard << "\n#include <perpend.h>\n\n";
  auto printTensors = [&](const std::string &kind, const std::vector<TensorDescription> &tensors) {
    for (auto [number, tensor] : llvm::enumerate(tensors))
      stream << "/* " << kind << " " << number << ": " << commentOf(tensor.name) << ", " << tensor.type << " ["
             << llvm::join(tensor.shape, ", ") << "] */\n";
  };
  for (const EntryDescription &entry : description.entries) {
    const std::string of = description.entries.size() > 1 ? entry.name + ", " : "";
    printTensors(of + "input", entry.inputs);
    printTensors(of + "output", entry.outputs);
  }
  std::vector<TensorDescription> states;
  for (const StateDescription &state : description.states)
    states.push_back(state.tensor);
  printTensors("state", states);
  stream << "#ifdef __cplusplus\nextern \"C\" {\n#endif\nconst perpend_module *perpend_module_" << name
         << "(void);\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}
} // namespace perpend
