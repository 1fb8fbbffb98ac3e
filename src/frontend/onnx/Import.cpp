//===- Import.cpp - ONNX models as graph modules --------------------------===//
//
// Order: check that every operator is supported (all failures at once), declare
// the inputs with their symbols, import the nodes in topological order, stop at
// the first error. Initializers become constants when they are first used.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Import.h"
#include "frontend/onnx/InputShapes.h"
#include "frontend/onnx/Operators.h"
#include "frontend/onnx/Order.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;

namespace perpend::onnx {
namespace {
class Importer {
public:
  Importer(MLIRContext &context, const ModelProto &model, std::shared_ptr<llvm::MemoryBuffer> file, StringRef name,
           StringRef folder, const ImportOptions &options)
      : context(context), model(model), tensors(&context, std::move(file), folder.str()),
        fileLocation(FileLineColLoc::get(&context, name, 0, 0)), operations(&context),
        builder(operations, fileLocation), inputShapes(options) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult fail(Location location, const Twine &message) { return emitError(location) << message.str(); }
  LogicalResult resolveOperatorSets();
  LogicalResult checkOperators();
  LogicalResult declareInitializers();
  LogicalResult declareInputs(func::FuncOp function);
  LogicalResult importNodes();
  LogicalResult importNode(const NodeProto &proto);
  LogicalResult bindOutputs(const NodeProto &proto, ArrayRef<Value> results);
  LogicalResult returnOutputs(func::FuncOp function);
  Attributes attributesOf(const NodeProto &proto);
  Value valueOf(StringRef name);
  std::optional<int64_t> operatorSetOf(StringRef domain) const;

  MLIRContext &context;
  const ModelProto &model;
  TensorReader tensors;
  Location fileLocation;
  OpBuilder operations;
  Builder builder;
  InputShapes inputShapes;
  std::map<std::string, int64_t> operatorSets;
  llvm::StringMap<const TensorProto *> initializers;
  llvm::StringMap<Value> values;
};
} // namespace

static std::string domainName(StringRef domain) { return domain == "ai.onnx" ? "" : domain.str(); }

std::optional<int64_t> Importer::operatorSetOf(StringRef domain) const {
  auto found = operatorSets.find(domainName(domain));
  return found == operatorSets.end() ? std::nullopt : std::optional(found->second);
}

LogicalResult Importer::resolveOperatorSets() {
  for (const OperatorSet &set : model.operatorSets) {
    auto [entry, isNew] = operatorSets.try_emplace(domainName(set.domain), set.version);
    if (!isNew && entry->second != set.version)
      return fail(fileLocation, "the model imports two versions of the operator set '" + set.domain +
                                    "': " + Twine(entry->second) + " and " + Twine(set.version));
  }
  if (operatorSets.empty() && model.irVersion >= 3)
    return fail(fileLocation, "the model imports no operator set; the file may be incomplete");
  operatorSets.try_emplace("", 1); // IR version 1 and 2 have no list
  return success();
}

/// Lists every operator that is not in the table, with its nodes.
LogicalResult Importer::checkOperators() {
  std::map<std::string, std::vector<StringRef>> unsupported;
  for (const NodeProto &node : model.graph.nodes) {
    std::optional<int64_t> version = operatorSetOf(node.domain);
    if (version && lookupOperator(node.domain, node.operation, *version))
      continue;
    std::string label = (node.domain.empty() ? "" : node.domain + ".").str() + node.operation.str();
    unsupported[label + (version ? "-" + std::to_string(*version) : "")].push_back(nodeName(node));
  }
  if (unsupported.empty())
    return success();
  std::string list;
  for (const auto &[label, nodes] : unsupported) {
    list += "\n  " + label + " (" + std::to_string(nodes.size()) + (nodes.size() == 1 ? " node" : " nodes") + "): ";
    for (StringRef name : ArrayRef(nodes).take_front(3))
      list += "'" + name.str() + "' ";
    list += nodes.size() > 3 ? "..." : "";
  }
  StringRef rest = unsupported.size() == 1 ? " operator of this model is" : " operators of this model are";
  return fail(fileLocation, Twine(unsupported.size()) + rest + " not supported:" + list +
                                "\nhint: export with another operator set, or replace these operators");
}

LogicalResult Importer::declareInitializers() {
  if (model.graph.hasSparseInitializers)
    return fail(fileLocation, "sparse initializers are not supported");
  for (const TensorProto &tensor : model.graph.initializers)
    if (!initializers.try_emplace(tensor.name, &tensor).second)
      return fail(fileLocation, "two initializers have the name '" + tensor.name + "'");
  return success();
}

LogicalResult Importer::declareInputs(func::FuncOp function) {
  for (const ValueInfo &input : model.graph.inputs) {
    if (initializers.count(input.name))
      continue; // IR version 3 lists weights as inputs too
    Location location = NameLoc::get(StringAttr::get(&context, input.name));
    Type elementType = elementTypeOf(&context, input.elementType);
    std::string error;
    if (!input.isTensor || !elementType)
      return fail(location, "input '" + input.name + "': expected a tensor of numbers, got " +
                                (input.isTensor ? nameOf(input.elementType) : "a sequence, map or optional"));
    std::optional<Shape> shape = inputShapes.resolve(input, error);
    if (!shape)
      return fail(location, "input '" + input.name + "': " + error);
    unsigned index = function.getNumArguments();
    auto name = operations.getNamedAttr("graph.name", operations.getStringAttr(input.name));
    function.insertArgument(index, graph::tensorType(*shape, elementType), operations.getDictionaryAttr(name),
                            location);
    if (!values.try_emplace(input.name, function.getArgument(index)).second)
      return fail(location, "two inputs have the name '" + input.name + "'");
  }
  if (std::string error = inputShapes.unusedOptions(); !error.empty())
    return fail(fileLocation, error);
  return success();
}

Value Importer::valueOf(StringRef name) {
  if (Value known = values.lookup(name))
    return known;
  const TensorProto *tensor = initializers.lookup(name);
  assert(tensor && "names are checked before");
  std::string error;
  ElementsAttr elements = tensors.read(*tensor, error);
  if (!elements)
    return builder.fail("initializer '" + name + "': " + error);
  Location node = builder.location;
  builder.location = NameLoc::get(StringAttr::get(&context, name));
  Value constant = builder.constant(elements);
  builder.location = node;
  return values[name] = constant;
}

Attributes Importer::attributesOf(const NodeProto &proto) {
  using Kind = AttributeProto::Kind;
  NamedAttrList list;
  for (const AttributeProto &attribute : proto.attributes) {
    Attribute value;
    std::string error;
    switch (attribute.kind) {
    case Kind::Float:
      value = operations.getF32FloatAttr(attribute.number);
      break;
    case Kind::Int:
      value = operations.getI64IntegerAttr(attribute.integer);
      break;
    case Kind::String:
      value = operations.getStringAttr(attribute.text);
      break;
    case Kind::Floats:
      value = operations.getDenseF32ArrayAttr(attribute.floats);
      break;
    case Kind::Ints:
      value = operations.getDenseI64ArrayAttr(attribute.integers);
      break;
    case Kind::Tensor:
      if (!attribute.tensors.empty() && !(value = tensors.read(attribute.tensors.back(), error)))
        builder.fail("attribute '" + attribute.name + "': " + error);
      break;
    default:
      break;
    }
    if (value)
      list.set(attribute.name, value);
  }
  return Attributes(list.getDictionary(&context));
}

LogicalResult Importer::bindOutputs(const NodeProto &proto, ArrayRef<Value> results) {
  for (auto [index, name] : llvm::enumerate(proto.outputs)) {
    if (name.empty())
      continue;
    if (index >= results.size() || !results[index]) {
      builder.fail("the output " + Twine(index) + " ('" + name + "') is not supported");
      return failure();
    }
    values[name] = results[index];
  }
  return success();
}

LogicalResult Importer::importNode(const NodeProto &proto) {
  builder.location = NameLoc::get(StringAttr::get(&context, nodeName(proto)));
  builder.subject = "node '" + nodeName(proto).str() + "' (" + proto.operation.str() + "): ";
  Node node{builder, proto, {}, attributesOf(proto), inputShapes.freedDimensions()};
  for (StringRef name : proto.inputs)
    node.inputs.push_back(name.empty() ? Value() : valueOf(name));
  if (builder.hasFailed())
    return failure();
  const Operator *entry = lookupOperator(proto.domain, proto.operation, *operatorSetOf(proto.domain));
  Results results = entry->function ? entry->function(node) : node.composite(entry->composite, node.inputs);
  if (!builder.hasFailed() && (results.empty() || !results[0]))
    builder.fail("a required input is missing");
  return failure(builder.hasFailed() || failed(bindOutputs(proto, results)));
}

LogicalResult Importer::importNodes() {
  SmallVector<StringRef> known;
  for (const auto &entry : values)
    known.push_back(entry.getKey());
  for (const auto &entry : initializers)
    known.push_back(entry.getKey());
  std::string error;
  std::optional<std::vector<const NodeProto *>> order = topologicalOrder(model.graph, known, error);
  if (!order)
    return fail(fileLocation, error);
  for (const NodeProto *node : *order)
    if (failed(importNode(*node)))
      return failure();
  return success();
}

LogicalResult Importer::returnOutputs(func::FuncOp function) {
  SmallVector<Value> results;
  builder.subject.clear();
  builder.location = fileLocation;
  SmallVector<Attribute> names;
  for (const ValueInfo &output : model.graph.outputs) {
    if (!values.count(output.name) && !initializers.count(output.name))
      return fail(fileLocation, "output '" + output.name + "' is not computed by any node");
    results.push_back(valueOf(output.name));
    if (!results.back())
      return failure();
    auto name = operations.getNamedAttr("graph.name", operations.getStringAttr(output.name));
    names.push_back(operations.getDictionaryAttr(name));
  }
  if (results.empty())
    return fail(fileLocation, "the model has no outputs");
  operations.create<func::ReturnOp>(fileLocation, results);
  auto type = FunctionType::get(&context, function.getArgumentTypes(), TypeRange(ValueRange(results)));
  function.setFunctionType(type);
  function.setAllResultAttrs(names);
  return success();
}

/// Shape computations that became shapes are not needed any more.
static void eraseUnused(Block &block) {
  for (Operation &operation : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&operation))
      operation.erase();
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(fileLocation);
  StringRef name = model.graph.name.empty() ? "model" : model.graph.name;
  (*module)->setAttr("graph.model_name", operations.getStringAttr(name));
  operations.setInsertionPointToEnd(module->getBody());
  auto function = operations.create<func::FuncOp>(fileLocation, "main", operations.getFunctionType({}, {}));
  operations.setInsertionPointToStart(function.addEntryBlock());
  if (failed(resolveOperatorSets()) || failed(checkOperators()) || failed(declareInitializers()) ||
      failed(declareInputs(function)) || failed(importNodes()) || failed(returnOutputs(function)))
    return {};
  eraseUnused(function.getBody().front());
  if (failed(verify(*module)))
    return {};
  return module;
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, std::shared_ptr<llvm::MemoryBuffer> buffer, StringRef name,
                                 StringRef folder, const ImportOptions &options) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  std::string error;
  std::optional<ModelProto> model = parseModel(buffer->getBuffer(), error);
  if (model)
    return Importer(context, *model, buffer, name, folder, options).run();
  emitError(FileLineColLoc::get(&context, name, 0, 0)) << error;
  return {};
}

OwningOpRef<ModuleOp> importOnnx(MLIRContext &context, StringRef path, const ImportOptions &options) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    emitError(FileLineColLoc::get(&context, path, 0, 0)) << "cannot read the model: " << file.getError().message();
    return {};
  }
  StringRef folder = llvm::sys::path::parent_path(path);
  return importOnnx(context, std::move(*file), path, folder.empty() ? "." : folder, options);
}
} // namespace perpend::onnx
