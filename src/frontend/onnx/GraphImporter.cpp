//===- GraphImporter.cpp - imports the nodes of ONNX graphs ---------------===//

#include "frontend/onnx/GraphImporter.h"
#include "frontend/onnx/NodeValues.h"
#include "frontend/onnx/Order.h"
#include "graph/ElementTypes.h"
#include "graph/SequenceTypes.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace perpend::onnx {

LogicalResult GraphImporter::enter(const GraphProto &graph) {
  Scope &scope = scopes.emplace_back(Scope{&graph, builder.operations.getInsertionBlock(), {}, {}, {}});
  builder.beginOperator(builder.location, builder.subject);
  for (const TensorProto &tensor : graph.initializers)
    if (!scope.initializers.try_emplace(tensor.name, &tensor).second)
      builder.fail("two initializers have the name '" + tensor.name + "'");
    else if (tensor.dataType == DataType::Undefined && tensor.sparse.empty()) // used or not
      builder.fail("initializer '" + tensor.name + "': it has no element type\nhint: save the model again");
  return failure(builder.hasFailed());
}

/// Creates a constant in the block of its graph, so that all uses in nested graphs can share it.
Value GraphImporter::constantOf(Scope &scope, const TensorProto &tensor) {
  std::string error;
  ElementsAttr elements = tensors.read(tensor, error);
  if (!elements)
    return builder.fail("initializer '" + tensor.name + "': " + error);
  OpBuilder::InsertionGuard guard(builder.operations);
  if (builder.operations.getInsertionBlock() != scope.block)
    builder.operations.setInsertionPointToStart(scope.block);
  Location node = builder.location;
  builder.location = NameLoc::get(StringAttr::get(builder.context(), tensor.name));
  Value constant = builder.constant(elements);
  builder.location = node;
  return scope.values[tensor.name] = constant;
}

Value GraphImporter::valueOf(StringRef name) {
  for (Scope &scope : llvm::reverse(scopes)) {
    if (Value known = scope.values.lookup(name))
      return known;
    if (const TensorProto *tensor = scope.initializers.lookup(name))
      return constantOf(scope, *tensor);
  }
  return builder.fail("output '" + name + "' is not computed by any node");
}

Value GraphImporter::outputOf(const ValueInfo &output) {
  Value value = valueOf(output.name);
  return succeeded(checkDeclared(output, value)) ? value : Value();
}

LogicalResult GraphImporter::checkDeclared(const ValueInfo &declared, Value value) {
  using Kind = TypeProto::Kind;
  bool hasMaps = !declared.element.empty() && declared.element.back().kind == Kind::Map; // they are matrices
  bool isList = declared.kind == Kind::Optional || (declared.kind == Kind::Sequence && !hasMaps);
  if (value && (declared.kind == Kind::Map || (isList && !graph::sequenceTypeOf(value)))) {
    StringRef kind = declared.kind == Kind::Map        ? "a map"
                     : declared.kind == Kind::Sequence ? "a sequence"
                                                       : "an optional value";
    builder.fail("'" + declared.name + "' is declared as " + kind + " and is " + graph::typeText(value) +
                 "\nhint: correct the declaration");
    return failure();
  }
  bool isSaid = declared.kind == TypeProto::Kind::Tensor && declared.elementType != DataType::Undefined;
  if (!value || !isSaid)
    return success(!!value);
  Type said = typeOf(builder.context(), declared), got = cast<TensorType>(value.getType()).getElementType();
  if (said && cast<TensorType>(said).getElementType() == got)
    return success();
  builder.fail("'" + declared.name + "' is declared as " + nameOf(declared.elementType) + " and is " +
               graph::nameOf(got));
  return failure();
}

Attributes GraphImporter::attributesOf(const NodeProto &proto) {
  using Kind = AttributeProto::Kind;
  NamedAttrList list;
  for (const AttributeProto &attribute : proto.attributes) {
    Attribute value;
    std::string error;
    switch (attribute.kind) {
    case Kind::Float:
      value = builder.operations.getF32FloatAttr(attribute.number);
      break;
    case Kind::Int:
      value = builder.operations.getI64IntegerAttr(attribute.integer);
      break;
    case Kind::String:
      value = builder.operations.getStringAttr(attribute.text);
      break;
    case Kind::Floats:
      value = builder.operations.getDenseF32ArrayAttr(attribute.floats);
      break;
    case Kind::Ints:
      value = builder.operations.getDenseI64ArrayAttr(attribute.integers);
      break;
    case Kind::Strings:
      value =
          builder.operations.getStrArrayAttr(SmallVector<StringRef>(attribute.texts.begin(), attribute.texts.end()));
      break;
    case Kind::Tensor:
      if (!attribute.tensors.empty() && !(value = tensors.read(attribute.tensors.back(), error)))
        builder.fail("attribute '" + attribute.name + "': " + error);
      break;
    case Kind::Other:
      if (attribute.types.empty())
        builder.fail("attribute '" + attribute.name +
                     "' does not have the type that it declares, or has a type that is not supported");
      break;
    case Kind::Graph:
    case Kind::Undefined:
      break;
    }
    if (Type type = attribute.types.empty() ? Type() : typeOf(builder.context(), attribute.types.back()))
      value = TypeAttr::get(type);
    if (value)
      list.set(attribute.name, value);
  }
  return Attributes(list.getDictionary(builder.context()));
}

LogicalResult GraphImporter::bindOutputs(const NodeProto &proto, ArrayRef<Value> results) {
  for (auto [index, name] : llvm::enumerate(proto.outputs)) {
    if (name.empty())
      continue;
    if (index >= results.size() || !results[index]) {
      builder.fail("the output " + Twine(index) + " ('" + name + "') is not supported");
      return failure();
    }
    scopes.back().values[name] = results[index];
  }
  return success();
}

/// The first inputs of a node with their types, for error messages.
static std::string describeInputs(const Node &node) {
  static constexpr size_t most = 8;
  std::string text;
  for (auto [name, value] : llvm::zip(node.proto.inputs, ArrayRef(node.inputs).take_front(most)))
    if (value)
      text += ((text.empty() ? "inputs: '" : ", '") + name + "' " + graph::typeText(value)).str();
  return text + (node.inputs.size() > most ? " and " + std::to_string(node.inputs.size() - most) + " more" : "");
}

/// ONNX Runtime computes f16 in f32 and goes on with that, from node to node of a graph, until a Cast; bodies of ONNX's
/// functions count on it. Values of bf16 are rounded.
static bool roundsBetweenNodes(Value input) { return input && graph::tensorTypeOf(input).getElementType().isBF16(); }

LogicalResult GraphImporter::importNode(const NodeProto &proto) {
  builder.location = NameLoc::get(StringAttr::get(builder.context(), nodeName(proto)));
  builder.subject = "node '" + nodeName(proto).str() + "' (" + proto.operation.str() + "): ";
  builder.operands.clear();
  Node node{builder, proto, {}, attributesOf(proto), freedDimensions, *this};
  for (StringRef name : proto.inputs)
    node.inputs.push_back(name.empty() ? Value() : valueOf(name));
  if (builder.hasFailed())
    return failure();
  if (llvm::any_of(node.inputs, roundsBetweenNodes))
    builder.beginOperator(builder.location, builder.subject);
  int64_t version = *operatorSets.versionOf(proto.domain);
  const UserOperator *own = userOperators.find(proto.domain, proto.operation, version);
  const Operator *entry = own ? nullptr : lookupOperator(proto.domain, proto.operation, version);
  builder.operands = describeInputs(node);
  if (std::string complaint = own ? "" : complaintAboutTypes(node, *entry); !complaint.empty()) {
    builder.fail(complaint);
    return failure();
  }
  Results results = own               ? importUserOperator(node, *own)
                    : entry->function ? entry->function(node)
                                      : node.composite(entry->composite, node.inputs);
  if (!builder.hasFailed() && (results.empty() || !results[0]))
    builder.fail("a required input is missing");
  return failure(builder.hasFailed() || failed(bindOutputs(proto, results)));
}

LogicalResult GraphImporter::importNodes() {
  const Scope &scope = scopes.back();
  std::string error;
  auto order = topologicalOrder(
      *scope.graph, [&](StringRef name) { return scope.values.contains(name) || scope.initializers.contains(name); },
      [&](StringRef name) {
        return llvm::any_of(scopes, [&](const Scope &outer) {
          return outer.values.contains(name) || outer.initializers.contains(name);
        });
      },
      error);
  if (!order) {
    builder.subject.clear();
    builder.operands.clear();
    builder.fail(error);
    return failure();
  }
  scopes.back().order = *order;
  for (const NodeProto *node : *order)
    if (failed(importNode(*node)))
      return failure();
  return success();
}

std::optional<Results> GraphImporter::importSubgraph(const GraphProto &graph, ArrayRef<Value> inputs) {
  if (graph.inputs.size() != inputs.size()) {
    builder.fail("its graph '" + graph.name + "' has " + Twine(graph.inputs.size()) + " inputs, expected " +
                 Twine(inputs.size()));
    return std::nullopt;
  }
  llvm::SaveAndRestore location(builder.location);
  llvm::SaveAndRestore subject(builder.subject), operands(builder.operands);
  std::optional<Results> results;
  if (succeeded(enter(graph))) {
    for (auto [input, value] : llvm::zip_equal(graph.inputs, inputs))
      if (succeeded(checkDeclared(input, value)))
        define(input.name, value);
    if (!builder.hasFailed() && succeeded(importNodes()))
      results = llvm::map_to_vector<4>(graph.outputs, [&](const ValueInfo &output) { return outputOf(output); });
  }
  scopes.pop_back();
  return builder.hasFailed() ? std::nullopt : results;
}

/// The nodes that compute `to` and depend on the names `from`, in topological order.
std::vector<const NodeProto *> GraphImporter::nodesBetween(const llvm::StringMap<Value> &from, StringRef to) const {
  std::vector<const NodeProto *> dependent, needed;
  llvm::StringSet<> reached, wanted;
  for (const auto &entry : from)
    reached.insert(entry.getKey());
  for (const Scope &scope : scopes)
    for (const NodeProto *node : scope.order)
      if (llvm::any_of(usedNames(*node), [&](StringRef name) { return reached.contains(name); })) {
        dependent.push_back(node);
        reached.insert(node->outputs.begin(), node->outputs.end());
      }
  wanted.insert(to);
  for (const NodeProto *node : llvm::reverse(dependent)) {
    auto isWanted = [&](StringRef name) { return wanted.contains(name) && !from.contains(name); };
    if (!llvm::any_of(node->outputs, isWanted))
      continue;
    needed.push_back(node);
    for (StringRef name : usedNames(*node))
      wanted.insert(name);
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

/// Limit for reimports: each order of a derivative doubles the import.
static constexpr int mostAnew = 8;

Value GraphImporter::importAnew(StringRef name, const llvm::StringMap<Value> &replacements) {
  if (llvm::count_if(scopes, [](const Scope &scope) { return !scope.graph; }) >= mostAnew)
    return builder.fail("expected derivatives of at most order " + Twine(mostAnew) +
                        "\nhint: compute derivatives of derivatives of lower order");
  llvm::SaveAndRestore location(builder.location);
  llvm::SaveAndRestore subject(builder.subject), operands(builder.operands);
  std::vector<const NodeProto *> nodes = nodesBetween(replacements, name);
  scopes.push_back(Scope{nullptr, builder.operations.getInsertionBlock(), replacements, {}, {}});
  bool isDone = llvm::all_of(nodes, [&](const NodeProto *node) {
    bool isImported = succeeded(importNode(*node));
    for (const auto &entry : replacements) // a node may have other outputs that are needed
      scopes.back().values[entry.getKey()] = entry.getValue();
    return isImported;
  });
  Value result = isDone ? valueOf(name) : Value();
  scopes.pop_back();
  return result;
}

const ValueInfo *GraphImporter::declared(StringRef name) const {
  auto inner = llvm::find_if(llvm::reverse(scopes), [](const Scope &scope) { return scope.graph; });
  for (const std::vector<ValueInfo> *list : {&inner->graph->inputs, &inner->graph->outputs, &inner->graph->values})
    for (const ValueInfo &value : *list)
      if (value.name == name && value.dims && value.kind == TypeProto::Kind::Tensor)
        return &value;
  return nullptr;
}

std::string GraphImporter::labelOf(mlir::Operation *op) const {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  StringRef node = name ? name.getName().getValue() : StringRef();
  for (const Scope &scope : scopes)
    for (const NodeProto *proto : scope.order)
      if (nodeName(*proto) == node)
        return "node '" + node.str() + "' (" + proto->operation.str() + ")";
  return "node '" + node.str() + "'";
}
} // namespace perpend::onnx
