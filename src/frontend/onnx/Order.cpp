//===- Order.cpp - the nodes of an ONNX graph in topological order --------===//

#include "frontend/onnx/Order.h"

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

using Producers = llvm::StringMap<size_t>;

static std::optional<Producers> findProducers(const GraphProto &graph, const llvm::StringSet<> &known,
                                              std::string &error) {
  Producers producers;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (StringRef output : graph.nodes[i].outputs) {
      if (output.empty())
        continue;
      auto [entry, isNew] = producers.try_emplace(output, i);
      if (isNew && !known.contains(output))
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
  return "the graph has a cycle among or before the nodes " + names + (count > 5 ? " ..." : "");
}

std::optional<std::vector<const NodeProto *>> topologicalOrder(const GraphProto &graph, llvm::ArrayRef<StringRef> known,
                                                               std::string &error) {
  llvm::StringSet<> knownNames;
  knownNames.insert(known.begin(), known.end());
  std::optional<Producers> producers = findProducers(graph, knownNames, error);
  if (!producers)
    return std::nullopt;
  std::vector<std::vector<size_t>> users(graph.nodes.size());
  std::vector<size_t> waiting(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (StringRef input : graph.nodes[i].inputs) {
      if (input.empty() || knownNames.contains(input))
        continue;
      auto producer = producers->find(input);
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
