//===- Functions.cpp - inlines functions defined by a model ---------------===//

#include "frontend/onnx/Functions.h"
#include "frontend/onnx/Domains.h"
#include "frontend/onnx/Order.h"
#include "support/ReadableText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

namespace perpend::onnx {

static std::string keyOf(StringRef domain, StringRef name, StringRef overload) {
  return (llvm::Twine(domain == "ai.onnx" ? "" : domain) + "\n" + name + "\n" + overload).str();
}

namespace {
class Inliner {
public:
  Inliner(ModelProto &model, std::string &error) : model(model), error(error) {}

  bool run();

private:
  using Nodes = std::vector<NodeProto>;
  /// What the names inside a call refer to.
  struct Call {
    llvm::StringMap<StringRef> names;
    std::string prefix;
    llvm::StringMap<const AttributeProto *> attributes;
  };

  bool fail(const llvm::Twine &message) {
    error = message.str();
    return false;
  }
  bool expand(Nodes &nodes, int depth);
  bool expandSubgraphs(NodeProto &node, int depth);
  bool expandCall(const NodeProto &node, const FunctionProto &function, int depth, Nodes &result);
  bool checkFunction(const FunctionProto &function);
  bool checkDomains(const FunctionProto &function, const Nodes &nodes);
  bool importOperatorSets(const FunctionProto &function);
  std::optional<Call> bind(const NodeProto &node, const FunctionProto &function, Nodes &result);
  std::string prefixOf(const NodeProto &node);
  StringRef keep(std::string name) { return model.madeNames.emplace_back(std::move(name)); }
  StringRef renamed(const Call &call, StringRef name);
  NodeProto instantiate(const Call &call, NodeProto node);
  void rename(const Call &call, GraphProto &graph);
  void resolveReferences(const Call &call, std::vector<AttributeProto> &attributes);

  ModelProto &model;
  std::string &error;
  llvm::StringMap<const FunctionProto *> functions;
  llvm::StringSet<> prefixes;
  size_t nodeCount = 0;
};
} // namespace

/// Limits of nested calls and of nodes; a model beyond them cannot be meant to be run.
static constexpr int deepestCalls = 64;
static constexpr size_t mostNodes = 1 << 20;

std::string Inliner::prefixOf(const NodeProto &node) {
  std::string prefix = nodeName(node).str() + "::";
  for (size_t i = 1; !prefixes.insert(prefix).second; ++i)
    prefix = nodeName(node).str() + "#" + std::to_string(i) + "::";
  return prefix;
}

StringRef Inliner::renamed(const Call &call, StringRef name) {
  if (name.empty())
    return name;
  auto known = call.names.find(name);
  return known == call.names.end() ? keep(call.prefix + name.str()) : known->second;
}

void Inliner::resolveReferences(const Call &call, std::vector<AttributeProto> &attributes) {
  std::vector<AttributeProto> resolved;
  for (AttributeProto &attribute : attributes) {
    if (attribute.reference.empty()) {
      resolved.push_back(std::move(attribute));
      continue;
    }
    const AttributeProto *given = call.attributes.lookup(attribute.reference);
    if (!given)
      continue; // an optional attribute that the call lacks
    resolved.push_back(*given);
    resolved.back().name = attribute.name;
  }
  attributes = std::move(resolved);
}

NodeProto Inliner::instantiate(const Call &call, NodeProto node) {
  node.name = keep(call.prefix + nodeName(node).str());
  for (StringRef &input : node.inputs)
    input = renamed(call, input);
  for (StringRef &output : node.outputs)
    output = renamed(call, output);
  // Graphs inside the function use its names; those passed by the call use the caller's.
  for (AttributeProto &attribute : node.attributes) {
    for (GraphProto &graph : attribute.graphs)
      rename(call, graph);
    if (!namesValues(node, attribute))
      continue;
    attribute.text = renamed(call, attribute.text);
    for (StringRef &name : attribute.texts)
      name = renamed(call, name);
  }
  resolveReferences(call, node.attributes);
  return node;
}

void Inliner::rename(const Call &call, GraphProto &graph) {
  for (ValueInfo &input : graph.inputs)
    input.name = renamed(call, input.name);
  for (ValueInfo &output : graph.outputs)
    output.name = renamed(call, output.name);
  for (TensorProto &tensor : graph.initializers)
    tensor.name = renamed(call, tensor.name);
  for (NodeProto &node : graph.nodes)
    node = instantiate(call, std::move(node));
}

/// A function may return one of its inputs, which requires an Identity node.
static NodeProto identity(StringRef from, StringRef to) {
  NodeProto node;
  node.operation = "Identity";
  node.name = to;
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

std::optional<Inliner::Call> Inliner::bind(const NodeProto &node, const FunctionProto &function, Nodes &result) {
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    fail("node '" + nodeName(node) + "': the function '" + function.name + "' has " +
         support::counted(function.inputs.size(), "input") + " and " +
         support::counted(function.outputs.size(), "output") + ", got " + llvm::Twine(node.inputs.size()) + " and " +
         llvm::Twine(node.outputs.size()) + "\nhint: call it with at most as many");
    return std::nullopt;
  }
  Call call;
  call.prefix = prefixOf(node);
  for (size_t i = 0; i < function.inputs.size(); ++i)
    call.names[function.inputs[i]] = i < node.inputs.size() ? node.inputs[i] : StringRef();
  for (auto [formal, actual] : llvm::zip(function.outputs, node.outputs)) {
    if (actual.empty())
      continue;
    auto [entry, isNew] = call.names.try_emplace(formal, actual);
    if (!isNew)
      result.push_back(identity(entry->second, actual));
  }
  for (const AttributeProto &attribute : function.defaults)
    call.attributes[attribute.name] = &attribute;
  for (const AttributeProto &attribute : node.attributes)
    call.attributes[attribute.name] = &attribute;
  return call;
}

static bool imports(const std::vector<OperatorSet> &sets, StringRef domain) {
  return llvm::any_of(sets, [&](const OperatorSet &set) { return keyOf(set.domain, "", "") == keyOf(domain, "", ""); });
}

bool Inliner::importOperatorSets(const FunctionProto &function) {
  for (const OperatorSet &wanted : function.operatorSets) {
    auto sameDomain = [&](const OperatorSet &set) { return keyOf(set.domain, "", "") == keyOf(wanted.domain, "", ""); };
    auto known = llvm::find_if(model.operatorSets, sameDomain);
    if (known == model.operatorSets.end())
      model.operatorSets.push_back(wanted);
    else if (known->version != wanted.version)
      return fail("the function '" + function.name + "' imports version " + llvm::Twine(wanted.version) +
                  " of the operator set '" + wanted.domain + "', the model version " + llvm::Twine(known->version) +
                  "\nhint: convert the model to one version of each operator set");
  }
  return true;
}

bool Inliner::expandCall(const NodeProto &node, const FunctionProto &function, int depth, Nodes &result) {
  if (depth > deepestCalls)
    return fail("the function '" + function.name + "': calls are nested more than " + llvm::Twine(deepestCalls) +
                " deep\nhint: a function that calls itself is not supported; write the repetition as a Loop");
  if (!imports(model.operatorSets, node.domain))
    return fail("node '" + nodeName(node) + "' (" + node.operation + "): the model imports no operator set of '" +
                node.domain + "'\nhint: add the domain of the function to opset_import");
  if (!importOperatorSets(function))
    return false;
  std::optional<Call> call = bind(node, function, result);
  if (!call)
    return false;
  Nodes body;
  for (const NodeProto &inner : function.nodes)
    body.push_back(instantiate(*call, inner));
  if (!expand(body, depth + 1))
    return false;
  llvm::move(body, std::back_inserter(result));
  return true;
}

bool Inliner::expandSubgraphs(NodeProto &node, int depth) {
  for (AttributeProto &attribute : node.attributes)
    for (GraphProto &graph : attribute.graphs)
      if (!expand(graph.nodes, depth))
        return false;
  return true;
}

bool Inliner::expand(Nodes &nodes, int depth) {
  Nodes result;
  nodeCount += nodes.size();
  if (nodeCount > mostNodes)
    return fail("the model's functions expand to more than " + llvm::Twine(mostNodes) +
                " nodes\nhint: write what repeats as a Loop");
  for (NodeProto &node : nodes) {
    const FunctionProto *function = functions.lookup(keyOf(node.domain, node.operation, node.overload));
    if (function) {
      if (!expandCall(node, *function, depth, result))
        return false;
      continue;
    }
    if (!expandSubgraphs(node, depth))
      return false;
    result.push_back(std::move(node));
  }
  nodes = std::move(result);
  return true;
}

bool Inliner::checkFunction(const FunctionProto &function) {
  if (llvm::is_contained(function.inputs, "") || llvm::is_contained(function.outputs, ""))
    return fail(
        "the function '" + function.name +
        "': an input or output has no name\nhint: name all of them; what is optional may be left out of a call");
  llvm::StringSet<> names;
  names.insert(function.inputs.begin(), function.inputs.end());
  for (const NodeProto &node : function.nodes)
    names.insert(node.outputs.begin(), node.outputs.end());
  for (StringRef output : function.outputs)
    if (!names.contains(output))
      return fail("the function '" + function.name + "': output '" + output +
                  "' is not computed by any node\nhint: leave it out of the outputs, or add the node");
  return checkDomains(function, function.nodes);
}

/// For the nodes of a function and of the graphs in them.
bool Inliner::checkDomains(const FunctionProto &function, const Nodes &nodes) {
  for (const NodeProto &node : nodes) {
    // Of others than ONNX's that are known, the model takes version 1, and says so.
    const bool isKnown = keyOf(node.domain, "", "") != keyOf("", "", "") && hasOperators(node.domain);
    if (!isKnown && !imports(function.operatorSets, node.domain))
      return fail("the function '" + function.name + "', node '" + nodeName(node) + "' (" + node.operation +
                  "): the function imports no operator set of '" + node.domain +
                  "'\nhint: add the domain to its opset_import");
    for (const AttributeProto &attribute : node.attributes)
      for (const GraphProto &graph : attribute.graphs)
        if (!checkDomains(function, graph.nodes))
          return false;
  }
  return true;
}

bool Inliner::run() {
  for (const FunctionProto &function : model.functions) {
    if (!functions.try_emplace(keyOf(function.domain, function.name, function.overload), &function).second)
      return fail("two functions have the name '" + function.name + "'\nhint: rename one, or give it an overload");
    if (!checkFunction(function))
      return false;
  }
  return functions.empty() || expand(model.graph.nodes, 0);
}

bool inlineFunctions(ModelProto &model, std::string &error) { return Inliner(model, error).run(); }
} // namespace perpend::onnx
