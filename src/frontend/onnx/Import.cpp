//===- Import.cpp - imports ONNX models -----------------------------------===//
//
// Steps: inline the model's functions, read user operators, check the versions of the operator sets, check that every
// operator is supported (reporting all that are not), check every node against its operator's schema, declare the
// inputs with their symbols, import the nodes (GraphImporter), return the outputs. Then inputs that may be repeated
// are declared (graph/Repeats.h), and unused operators erased. The first error ends the import.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Import.h"
#include "frontend/onnx/AttributeNames.h"
#include "frontend/onnx/Domains.h"
#include "frontend/onnx/FileKind.h"
#include "frontend/onnx/Functions.h"
#include "frontend/onnx/GraphImporter.h"
#include "frontend/onnx/InputShapes.h"
#include "frontend/onnx/Maps.h"
#include "frontend/onnx/NodeValues.h"
#include "frontend/onnx/Order.h"
#include "graph/Attributes.h"
#include "graph/Repeats.h"
#include "graph/Requirements.h"
#include "support/MappedFile.h"
#include "support/ReadableText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;

namespace perpend::onnx {
namespace {
class Importer {
public:
  Importer(MLIRContext &context, ModelProto &model, std::shared_ptr<llvm::MemoryBuffer> file, StringRef name,
           StringRef folder, const ImportOptions &options)
      : context(context), model(model), tensors(&context, std::move(file), folder.str()),
        fileLocation(FileLineColLoc::get(&context, name, 0, 0)), operations(&context),
        builder(operations, fileLocation), options(options), inputShapes(options),
        graph(builder, tensors, operatorSets, userOperators, inputShapes.freedDimensions()) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult fail(Location location, const Twine &message) { return emitError(location) << message.str(); }
  LogicalResult readUserOperators(ModuleOp module);
  LogicalResult resolveOperatorSets();
  void addMissingOperatorSets(const GraphProto &graph);
  LogicalResult checkOperators();
  LogicalResult checkNodes(const GraphProto &graph);
  void findUnsupported(const GraphProto &graph, std::map<std::string, std::vector<StringRef>> &found) const;
  Type typeOfInput(const ValueInfo &input, std::string &error);
  LogicalResult declareInputs(func::FuncOp function);
  LogicalResult prepareMaps();
  void checkDeclaredShape(const ValueInfo &output, Value value);
  LogicalResult returnOutputs(func::FuncOp function);

  MLIRContext &context;
  ModelProto &model;
  TensorReader tensors;
  Location fileLocation;
  OpBuilder operations;
  Builder builder;
  const ImportOptions &options;
  InputShapes inputShapes;
  OperatorSets operatorSets;
  UserOperators userOperators;
  GraphImporter graph;
  llvm::StringMap<ArrayAttr> labels; ///< of outputs that are sequences of maps
};
} // namespace

/// Notes on the module which object files artifacts must be linked with.
LogicalResult Importer::readUserOperators(ModuleOp module) {
  for (const std::string &path : options.operators) {
    std::string error;
    if (!userOperators.read(&context, path, error))
      return fail(fileLocation, error);
  }
  if (!userOperators.objects().empty())
    module->setAttr(graph::objectsAttribute,
                    operations.getStrArrayAttr(llvm::map_to_vector(
                        userOperators.objects(), [](const std::string &path) { return StringRef(path); })));
  return success();
}

/// Those of ONNX 1.23, which the table of operators covers.
static constexpr int64_t newestIrVersion = 14, newestOperatorSet = 28;

LogicalResult Importer::resolveOperatorSets() {
  if (model.irVersion > newestIrVersion)
    return fail(fileLocation, "the file has IR version " + Twine(model.irVersion) + ", the newest that is known is " +
                                  Twine(newestIrVersion) + "\nhint: save it with an older IR version");
  if (model.irVersion < 1)
    return fail(fileLocation, "expected an IR version of at least 1, got " + Twine(model.irVersion) +
                                  "\nhint: the file may be incomplete; save it again");
  for (const OperatorSet &set : model.operatorSets) {
    int64_t version = operatorSets.add(set);
    if (version != set.version)
      return fail(fileLocation, "the model imports two versions of the operator set '" + set.domain +
                                    "': " + Twine(version) + " and " + Twine(set.version));
  }
  if (model.operatorSets.empty() && model.irVersion >= 3)
    return fail(fileLocation, "the model imports no operator set; the file may be incomplete");
  operatorSets.add({"", 1}); // IR version 1 and 2 have no list
  addMissingOperatorSets(model.graph);
  int64_t version = *operatorSets.versionOf("");
  if (version >= 1 && version <= newestOperatorSet)
    return success();
  return fail(fileLocation, "the model imports version " + Twine(version) + " of ONNX's operator set, expected 1 to " +
                                Twine(newestOperatorSet) + "\nhint: export it with one of these");
}

/// Other domains than ONNX's whose operators are known: some programs leave them out of the list, and ONNX Runtime
/// takes version 1 of them.
void Importer::addMissingOperatorSets(const GraphProto &graph) {
  for (const NodeProto &node : graph.nodes) {
    for (const AttributeProto &attribute : node.attributes)
      for (const GraphProto &inner : attribute.graphs)
        addMissingOperatorSets(inner);
    if (operatorSets.versionOf(node.domain) || !(hasOperators(node.domain) || userOperators.hasDomain(node.domain)))
      continue;
    operatorSets.add({node.domain, 1});
    emitWarning(fileLocation) << "node '" << nodeName(node) << "' (" << node.operation
                              << "): the model does not import its domain, '" << node.domain
                              << "'; version 1 is taken\nhint: add the domain to opset_import";
  }
}

void Importer::findUnsupported(const GraphProto &graph, std::map<std::string, std::vector<StringRef>> &found) const {
  for (const NodeProto &node : graph.nodes) {
    for (const AttributeProto &attribute : node.attributes)
      for (const GraphProto &inner : attribute.graphs)
        findUnsupported(inner, found);
    std::optional<int64_t> version = operatorSets.versionOf(node.domain);
    if (version && (lookupOperator(node.domain, node.operation, *version) ||
                    userOperators.find(node.domain, node.operation, *version)))
      continue;
    std::string label = (node.domain.empty() ? "" : node.domain + ".").str() + node.operation.str();
    found[label + (version ? "-" + std::to_string(*version) : "")].push_back(nodeName(node));
  }
}

/// Reports every operator that is not in the table, with its nodes.
LogicalResult Importer::checkOperators() {
  std::map<std::string, std::vector<StringRef>> unsupported;
  findUnsupported(model.graph, unsupported);
  if (unsupported.empty())
    return success();
  std::string list;
  for (const auto &[label, nodes] : unsupported) {
    list += "\n  " + label + " (" + support::counted(nodes.size(), "node") + "):";
    for (StringRef name : ArrayRef(nodes).take_front(3))
      list += " '" + name.str() + "'";
    list += nodes.size() > 3 ? " and " + std::to_string(nodes.size() - 3) + " more" : "";
  }
  StringRef rest = unsupported.size() == 1 ? " operator of this model is" : " operators of this model are";
  return fail(fileLocation, Twine(unsupported.size()) + rest + " not supported:" + list +
                                "\nhint: export with another operator set, replace these operators, or bring them "
                                "(--operators)");
}

/// Checks every node against its operator's schema; user operators against their descriptions.
LogicalResult Importer::checkNodes(const GraphProto &graph) {
  for (const NodeProto &node : graph.nodes) {
    for (const AttributeProto &attribute : node.attributes)
      for (const GraphProto &inner : attribute.graphs)
        if (failed(checkNodes(inner)))
          return failure();
    int64_t version = *operatorSets.versionOf(node.domain);
    if (userOperators.find(node.domain, node.operation, version))
      continue;
    const Operator &entry = *lookupOperator(node.domain, node.operation, version);
    std::string complaint = complaintAboutValues(node, entry);
    if (complaint.empty())
      complaint = complaintAboutAttributes(node, entry, version);
    if (!complaint.empty())
      return fail(NameLoc::get(StringAttr::get(&context, nodeName(node))),
                  "node '" + nodeName(node) + "' (" + node.operation + "): " + complaint);
  }
  return success();
}

/// Errors: null, with a message without the input's name.
Type Importer::typeOfInput(const ValueInfo &input, std::string &error) {
  bool isTensor = input.kind == TypeProto::Kind::Tensor;
  Type declared = typeOf(&context, input);
  if (!declared) {
    error = "expected a tensor, sequence or optional value, got " + (isTensor ? nameOf(input.elementType) : "a map");
    return {};
  }
  if (!isTensor)
    return inputShapes.resolveList(input.name, cast<RankedTensorType>(declared), error);
  std::optional<Shape> shape = inputShapes.resolve(input, error);
  return shape ? graph::tensorType(*shape, cast<TensorType>(declared).getElementType()) : Type();
}

static constexpr StringRef notUtf8 = "': its name is not UTF-8\nhint: rename it";

LogicalResult Importer::declareInputs(func::FuncOp function) {
  for (const ValueInfo &input : model.graph.inputs) {
    if (graph.isInitializer(input.name))
      continue; // IR version 3 lists weights as inputs too
    Location location = NameLoc::get(StringAttr::get(&context, input.name));
    if (!llvm::json::isUTF8(input.name))
      return fail(location, "input '" + input.name + notUtf8);
    std::string error;
    Type type = typeOfInput(input, error);
    if (!type)
      return fail(location, "input '" + input.name + "': " + error);
    unsigned index = function.getNumArguments();
    NamedAttrList attributes;
    attributes.set(graph::nameAttribute, operations.getStringAttr(input.name));
    if (!input.map.empty())
      attributes.set(graph::mapAttribute, operations.getStringAttr(input.map));
    function.insertArgument(index, type, attributes.getDictionary(&context), location);
    if (!graph.define(input.name, function.getArgument(index)))
      return fail(location, "two inputs have the name '" + input.name + "'");
  }
  if (std::string error = inputShapes.unusedOptions(); !error.empty())
    return fail(fileLocation, error);
  return success();
}

LogicalResult Importer::prepareMaps() {
  std::string error;
  if (!splitMapInputs(model, error))
    return fail(fileLocation, error);
  auto found = labelsOfMaps(context, model.graph, error);
  if (!found)
    return fail(fileLocation, error);
  labels = std::move(*found);
  return success();
}

/// Compares ranks and constant extents that a model declares for an output with the actual ones, unless options have
/// changed the exported shapes. Differences are only warnings: files keep extents of another batch, ONNX's shape
/// inference has errors for windows, and ONNX Runtime accepts such files.
void Importer::checkDeclaredShape(const ValueInfo &output, Value value) {
  if (!output.dims || output.kind != TypeProto::Kind::Tensor || !options.dimensions.empty())
    return;
  Shape computed = graph::shapeOf(value);
  bool agrees = computed.size() == output.dims->size();
  std::string declared;
  for (auto [index, dimension] : llvm::enumerate(*output.dims)) {
    declared += (index ? ", " : "") + (dimension.value ? std::to_string(*dimension.value) : dimension.parameter.str());
    agrees &= index >= computed.size() || dimension.value.value_or(-1) < 0 ||
              !graph::provablyDiffer(computed[index], SymbolicInt(*dimension.value));
  }
  if (agrees)
    return;
  emitWarning(fileLocation) << "output '" << output.name << "': its declared shape is [" << declared
                            << "], the computed one is " << graph::toString(computed)
                            << "\nhint: correct the declaration, or export the model again";
}

LogicalResult Importer::returnOutputs(func::FuncOp function) {
  SmallVector<Value> results;
  builder.subject.clear();
  builder.operands.clear();
  builder.location = fileLocation;
  SmallVector<Attribute> names;
  for (const ValueInfo &output : model.graph.outputs) {
    if (!llvm::json::isUTF8(output.name))
      return fail(fileLocation, "output '" + output.name + notUtf8);
    results.push_back(graph.outputOf(output));
    if (!results.back())
      return failure();
    checkDeclaredShape(output, results.back());
    NamedAttrList attributes;
    attributes.set(graph::nameAttribute, operations.getStringAttr(output.name));
    if (ArrayAttr own = labels.lookup(output.name))
      attributes.set(graph::labelsAttribute, own);
    names.push_back(attributes.getDictionary(&context));
  }
  if (results.empty())
    return fail(fileLocation, "the model has no outputs");
  operations.create<func::ReturnOp>(fileLocation, results);
  auto type = FunctionType::get(&context, function.getArgumentTypes(), TypeRange(ValueRange(results)));
  function.setFunctionType(type);
  function.setAllResultAttrs(names);
  return success();
}

namespace {
/// Erases shape computations that have become symbolic shapes, and other unused operators. If a shape was taken from
/// the result of such an operator, the extents that it assumes to be equal must still be equal: they become
/// requirements of main.
class UnusedOperators {
public:
  explicit UnusedOperators(func::FuncOp main) : main(main), requirements(main) {}

  void erase() {
    erase(main.getBody().front());
    requirements.declare();
  }

private:
  void erase(Block &block) {
    for (Operation &operation : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &region : operation.getRegions())
        erase(region.front());
      if (!isOpTriviallyDead(&operation))
        continue;
      if (isa<graph::BroadcastOp, graph::ContractOp, graph::ConcatOp>(operation) && operation.getParentOp() == main)
        requirements.addOfOperands(cast<graph::RequirementInterface>(operation));
      operation.erase();
    }
  }

  func::FuncOp main;
  graph::BindingRequirements requirements;
};
} // namespace

static void warnOfBranchesLeftOut(ModuleOp module) {
  module.walk([](graph::RequireOp op) {
    if (auto text = dyn_cast_if_present<StringAttr>(op->removeAttr(graph::leftOutAttribute)))
      emitWarning(op.getLoc()) << text.getValue();
  });
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(fileLocation);
  StringRef name = model.graph.name.empty() ? "model" : model.graph.name;
  (*module)->setAttr(graph::modelNameAttribute, operations.getStringAttr(name));
  operations.setInsertionPointToEnd(module->getBody());
  auto function = operations.create<func::FuncOp>(fileLocation, "main", operations.getFunctionType({}, {}));
  operations.setInsertionPointToStart(function.addEntryBlock());
  builder.leavesOutBranches = true;
  if (failed(readUserOperators(*module)) || failed(resolveOperatorSets()) || failed(checkOperators()) ||
      failed(checkNodes(model.graph)) || failed(prepareMaps()) || failed(graph.enter(model.graph)) ||
      failed(declareInputs(function)) || failed(graph.importNodes()) || failed(returnOutputs(function)))
    return {};
  graph::inferRepeats(function);
  UnusedOperators(function).erase();
  warnOfBranchesLeftOut(*module);
  if (failed(verify(*module)))
    return {};
  return module;
}

/// The error for a file that is not a model; reading it ended with `error`.
static std::string unreadable(StringRef bytes, StringRef error) {
  if (bytes.empty())
    return "not an ONNX model: the file is empty\nhint: download or export it again";
  if (const FileKind *kind = kindOfFile(bytes))
    return ("not an ONNX model: it seems to be " + kind->name + "\nhint: " + kind->hint).str();
  return (error + "\nhint: the file may be damaged or cut off; download or export it again").str();
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, std::shared_ptr<llvm::MemoryBuffer> buffer, StringRef name,
                                 StringRef folder, const ImportOptions &options) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  std::string error;
  std::optional<ModelProto> model = parseModel(buffer->getBuffer(), error);
  if (model && inlineFunctions(*model, error))
    return Importer(context, *model, buffer, name, folder, options).run();
  emitError(FileLineColLoc::get(&context, name, 0, 0)) << (model ? error : unreadable(buffer->getBuffer(), error));
  return {};
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, StringRef path, const ImportOptions &options) {
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && status.type() == llvm::sys::fs::file_type::character_file) {
    emitError(FileLineColLoc::get(&context, path, 0, 0))
        << "cannot read the model '" << path << "': this is a device, which has no end";
    return {};
  }
  support::FileWatch watch;
  auto file = support::mapFile(path.str());
  if (!file) {
    emitError(FileLineColLoc::get(&context, path, 0, 0))
        << "cannot read the model '" << path << "': " << file.getError().message();
    return {};
  }
  StringRef folder = llvm::sys::path::parent_path(path);
  OwningOpRef<ModuleOp> module;
  {
    // If the file has changed meanwhile, errors of the importer are meaningless.
    ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &) { return success(watch.changedFile().has_value()); });
    module = importOnnx(context, std::shared_ptr<llvm::MemoryBuffer>(std::move(*file)), path,
                        folder.empty() ? "." : folder, options);
  }
  std::optional<std::string> changed = watch.changedFile();
  if (!changed)
    return module;
  emitError(FileLineColLoc::get(&context, path, 0, 0)) << support::changedText(*changed);
  return {};
}
} // namespace perpend::onnx
