//===- Order.cpp - sorts the nodes of an ONNX graph topologically ---------===//

#include "frontend/onnx/Order.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <queue>

namespace perpend::onnx {

StringRef nodeName(const NodeProto &node) {
  if (!node.name.empty() || node.outputs.empty())
    return node.name;
  return node.outputs.front();
}

static std::string describe(const NodeProto &node) {
  return "node '" + nodeName(node).str() + "' (" + node.operation.str() + ")";
}

bool namesValues(const NodeProto &node, const AttributeProto &attribute) {
  return node.operation == "Gradient" && node.domain == "ai.onnx.preview.training" &&
         (attribute.name == "xs" || attribute.name == "zs" || attribute.name == "y");
}

using Producers = llvm::StringMap<size_t>;

llvm::SmallVector<StringRef> usedNames(const NodeProto &node) {
  llvm::SmallVector<StringRef> used(node.inputs.begin(), node.inputs.end());
  for (const AttributeProto &attribute : node.attributes) {
    if (namesValues(node, attribute)) {
      used.insert(used.end(), attribute.texts.begin(), attribute.texts.end());
      used.push_back(attribute.text);
    }
    for (const GraphProto &graph : attribute.graphs) {
      llvm::StringSet<> own;
      for (const ValueInfo &input : graph.inputs)
        own.insert(input.name);
      for (const TensorProto &tensor : graph.initializers)
        own.insert(tensor.name);
      for (const NodeProto &inner : graph.nodes)
        own.insert(inner.outputs.begin(), inner.outputs.end());
      auto add = [&](StringRef name) {
        if (!own.contains(name))
          used.push_back(name);
      };
      for (const NodeProto &inner : graph.nodes)
        for (StringRef name : usedNames(inner))
          add(name);
      for (const ValueInfo &output : graph.outputs)
        add(output.name);
    }
  }
  return used;
}

static std::optional<Producers> findProducers(const GraphProto &graph, NamePredicate isKnown, std::string &error) {
  Producers producers;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (StringRef output : graph.nodes[i].outputs) {
      if (output.empty())
        continue;
      auto [entry, isNew] = producers.try_emplace(output, i);
      if (isNew && !isKnown(output))
        continue;
      error = describe(graph.nodes[i]) + ": its output '" + output.str() + "' is already defined by " +
              (isNew ? "an input or initializer" : describe(graph.nodes[entry->second]));
      return std::nullopt;
    }
  return producers;
}

static std::string describeCycle(const GraphProto &graph, llvm::ArrayRef<size_t> waiting) {
  std::string names;
  size_t count = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (waiting[i] > 0 && ++count <= 5)
      names += (count > 1 ? ", " : "") + ("'" + nodeName(graph.nodes[i]).str() + "'");
  return "the graph has a cycle among or before the nodes " + names +
         (count > 5 ? " and " + std::to_string(count - 5) + " more" : "");
}

std::optional<std::vector<const NodeProto *>> topologicalOrder(const GraphProto &graph, NamePredicate isKnown,
                                                               NamePredicate isOuter, std::string &error) {
  std::optional<Producers> producers = findProducers(graph, isKnown, error);
  if (!producers)
    return std::nullopt;
  std::vector<std::vector<size_t>> users(graph.nodes.size());
  std::vector<size_t> waiting(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (StringRef input : usedNames(graph.nodes[i])) {
      auto producer = producers->find(input);
      if (input.empty() || (producer == producers->end() && (isKnown(input) || isOuter(input))))
        continue;
      if (producer == producers->end()) {
        error = describe(graph.nodes[i]) + ": its input '" + input.str() + "' is not defined anywhere";
        return std::nullopt;
      }
      users[producer->second].push_back(i);
      ++waiting[i];
    }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0)
      ready.push(i);
  std::vector<const NodeProto *> order;
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    order.push_back(&graph.nodes[next]);
    for (size_t user : users[next])
      if (--waiting[user] == 0)
        ready.push(user);
  }
  if (order.size() == graph.nodes.size())
    return order;
  error = describeCycle(graph, waiting);
  return std::nullopt;
}
} // namespace perpend::onnx
