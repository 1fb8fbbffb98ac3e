//===- Maps.cpp - maps at a model's interface -----------------------------===//

#include "frontend/onnx/Maps.h"

#include "frontend/onnx/Order.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace perpend::onnx {

using Labels = llvm::StringMap<ArrayAttr>;

static bool isZipMap(const NodeProto &node) { return node.domain == "ai.onnx.ml" && node.operation == "ZipMap"; }

static ArrayAttr labelsOf(MLIRContext &context, const NodeProto &node) {
  Builder builder(&context);
  for (const AttributeProto &attribute : node.attributes) {
    if (attribute.name == "classlabels_strings" && !attribute.texts.empty())
      return builder.getStrArrayAttr(ArrayRef<StringRef>(attribute.texts));
    if (attribute.name == "classlabels_int64s" && !attribute.integers.empty())
      return builder.getI64ArrayAttr(attribute.integers);
  }
  return {};
}

static bool hasZipMap(const GraphProto &graph) {
  return llvm::any_of(graph.nodes, [](const NodeProto &node) {
    return isZipMap(node) || llvm::any_of(node.attributes, [](const AttributeProto &attribute) {
             return llvm::any_of(attribute.graphs, hasZipMap);
           });
  });
}

static bool isIdentity(const NodeProto &node) {
  return node.domain.empty() && node.operation == "Identity" && node.inputs.size() == 1 && node.outputs.size() == 1;
}

/// Propagates labels through nodes, such as the Identity of a function's result that is returned twice.
static void passOn(const GraphProto &graph, Labels &labels) {
  for (size_t before = 0; before != labels.size();) { // nodes may be in any order
    before = labels.size();
    for (const NodeProto &node : graph.nodes)
      if (isIdentity(node))
        if (ArrayAttr known = labels.lookup(node.inputs[0]))
          labels.try_emplace(node.outputs[0], known);
  }
}

/// Whether a map is used by anything other than an output of the model.
static bool usesMap(const NodeProto &node, const Labels &labels) {
  for (const AttributeProto &attribute : node.attributes)
    if (llvm::any_of(attribute.graphs, hasZipMap))
      return true;
  return !isIdentity(node) && llvm::any_of(usedNames(node), [&](StringRef name) { return labels.contains(name); });
}

std::optional<Labels> labelsOfMaps(MLIRContext &context, const GraphProto &graph, std::string &error) {
  Labels labels;
  for (const NodeProto &node : graph.nodes)
    if (isZipMap(node) && !node.outputs.empty())
      if (ArrayAttr own = labelsOf(context, node))
        labels.try_emplace(node.outputs[0], own);
  passOn(graph, labels);
  for (const NodeProto &node : graph.nodes)
    if (usesMap(node, labels)) {
      error = "node '" + nodeName(node).str() + "' (" + node.operation.str() +
              "): expected no maps here: a sequence of maps can only be an output of the model\nhint: convert the "
              "model with the option zipmap=False";
      return std::nullopt;
    }
  return labels;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The names of the keys and the values, by map.
using Parts = llvm::StringMap<std::pair<StringRef, StringRef>>;

static bool takesMaps(const NodeProto &node) {
  return node.domain == "ai.onnx.ml" && (node.operation == "CastMap" || node.operation == "DictVectorizer");
}

static bool splitUses(NodeProto &node, const Parts &maps, std::string &error) {
  auto used = llvm::find_if(node.inputs, [&](StringRef name) { return maps.contains(name); });
  if (used == node.inputs.end())
    return true;
  if (takesMaps(node) && node.inputs.size() == 1) {
    auto [keys, values] = maps.find(*used)->second;
    node.inputs = {keys, values};
    return true;
  }
  error = "node '" + nodeName(node).str() + "' (" + node.operation.str() + "): expected no map, got the input '" +
          used->str() + "'\nhint: only CastMap and DictVectorizer take a map, as their one input";
  return false;
}

static bool splitUses(GraphProto &graph, const Parts &maps, std::string &error) {
  for (NodeProto &node : graph.nodes) {
    for (AttributeProto &attribute : node.attributes)
      for (GraphProto &inner : attribute.graphs)
        if (!splitUses(inner, maps, error))
          return false;
    if (!splitUses(node, maps, error))
      return false;
  }
  for (const ValueInfo &output : graph.outputs)
    if (maps.contains(output.name)) {
      error = "output '" + output.name.str() +
              "': expected a tensor or list, got a map that is an input\nhint: leave "
              "it out of the outputs";
      return false;
    }
  return true;
}

/// Both are vectors; a common name for their length makes it one symbol.
static std::pair<ValueInfo, ValueInfo> partsOf(ModelProto &model, const ValueInfo &map) {
  auto keep = [&](const char *part) -> StringRef { return model.madeNames.emplace_back(map.name.str() + part); };
  ValueInfo keys;
  keys.kind = TypeProto::Kind::Tensor;
  keys.map = map.name;
  keys.dims.emplace().push_back({std::nullopt, keep(".size")});
  ValueInfo values = keys;
  keys.name = keep(".keys"), values.name = keep(".values");
  keys.elementType = map.elementType, values.elementType = map.element[0].elementType;
  return {keys, values};
}

bool splitMapInputs(ModelProto &model, std::string &error) {
  Parts maps;
  std::vector<ValueInfo> inputs;
  for (const ValueInfo &input : model.graph.inputs) {
    bool isMap = input.kind == TypeProto::Kind::Map && !input.element.empty() &&
                 input.element[0].kind == TypeProto::Kind::Tensor;
    if (!isMap) {
      inputs.push_back(input);
      continue;
    }
    auto [keys, values] = partsOf(model, input);
    maps.try_emplace(input.name, keys.name, values.name);
    inputs.push_back(keys);
    inputs.push_back(values);
  }
  model.graph.inputs = std::move(inputs);
  return maps.empty() || splitUses(model.graph, maps, error);
}
} // namespace perpend::onnx
