//===- Maps.cpp - maps at the boundary of a model -------------------------===//

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

/// The use of a map by anything but an output of the model.
static bool usesMap(const NodeProto &node, const Labels &labels) {
  for (const AttributeProto &attribute : node.attributes)
    if (llvm::any_of(attribute.graphs, hasZipMap))
      return true;
  return llvm::any_of(usedNames(node), [&](StringRef name) { return labels.contains(name); });
}

std::optional<Labels> labelsOfMaps(MLIRContext &context, const GraphProto &graph, std::string &error) {
  Labels labels;
  for (const NodeProto &node : graph.nodes)
    if (isZipMap(node) && !node.outputs.empty())
      if (ArrayAttr own = labelsOf(context, node))
        labels.try_emplace(node.outputs[0], own);
  for (const NodeProto &node : graph.nodes)
    if (usesMap(node, labels)) {
      error = "node '" + nodeName(node).str() + "' (" + node.operation.str() +
              "): expected no maps here: a sequence of maps can only be an output of the model\nhint: convert the "
              "model with the option zipmap=False";
      return std::nullopt;
    }
  return labels;
}
} // namespace perpend::onnx
