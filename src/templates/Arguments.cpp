//===- Arguments.cpp - filters and tests with their arguments -------------===//
//
// Filters get a child for each of their parameters, so the runtime binds none.
//
//===----------------------------------------------------------------------===//

#include "templates/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace perpend::templates {
namespace {

struct FilterRule {
  size_t least;
  StringRef parameters;
};
constexpr FilterRule filterRules[] = {
#define FILTER(NAME, LEAST, PARAMETERS) {LEAST, PARAMETERS},
#include "template/Filters.def"
};
constexpr std::pair<StringRef, FilterKind> filterNames[] = {
#define FILTER_NAME(TEXT, NAME) {TEXT, FilterKind::NAME},
#include "template/Filters.def"
};
constexpr size_t testArguments[] = {
#define TEST(NAME, ARGUMENTS) ARGUMENTS,
#include "template/Tests.def"
};
constexpr std::pair<StringRef, TestKind> testNames[] = {
#define TEST_NAME(TEXT, NAME) {TEXT, TestKind::NAME},
#include "template/Tests.def"
};
constexpr StringRef methodNames[] = {
#define METHOD(OWNER, NAME, LEAST, PARAMETERS, POSITIONAL) #NAME,
#include "template/Methods.def"
};
constexpr StringRef functionNames[] = {
#define FUNCTION(NAME, TEXT) TEXT,
#include "template/Functions.def"
};

template <typename Names> auto findName(const Names &names, StringRef name) {
  return llvm::find_if(names, [&](const auto &entry) { return entry.first == name; });
}

template <typename Names> std::string listOf(const Names &names) {
  llvm::SmallVector<StringRef> list;
  for (const auto &entry : names)
    list.push_back(entry.first);
  llvm::sort(list);
  return "known are " + llvm::join(list, ", ");
}

NodePtr empty(uint32_t line) { return std::make_unique<Node>(NodeKind::Empty, line); }

/// map('upper'), select('odd'): the first argument names a filter or a test, and the rest are its arguments.
bool bindReference(Node &node, FilterKind filter, ArgumentList &arguments, Problem &problem) {
  const bool ofAttribute = filter == FilterKind::SelectAttribute || filter == FilterKind::RejectAttribute;
  const bool isMap = filter == FilterKind::Map;
  size_t position = ofAttribute ? 1 : 0;
  if (arguments.values.size() <= position) {
    if (!isMap && !arguments.named.empty())
      problem.report(node.line, "an argument '" + arguments.named[0].first + "' without the name of a test");
    return !problem.has(); // bound by name, as others
  }
  NodePtr &named = arguments.values[position];
  if (named->kind != NodeKind::String) {
    problem.report(node.line, isMap ? "the filter of map is no text" : "the test is no text",
                   "write its name in quotes");
    return false;
  }
  ArgumentList rest;
  for (size_t i = position + 1; i < arguments.values.size(); ++i)
    rest.values.push_back(std::move(arguments.values[i]));
  rest.named = std::move(arguments.named);
  const std::string name = named->text;
  NodePtr reference = isMap ? bindFilter(name, node.line, empty(node.line), std::move(rest), problem)
                            : bindTest(name, node.line, empty(node.line), std::move(rest), problem);
  if (problem.has())
    return false;
  reference->kind = isMap ? NodeKind::FilterReference : NodeKind::TestReference;
  if (ofAttribute)
    node.add(std::move(arguments.values[0]));
  node.add(std::move(reference));
  for (size_t i = node.children.size(); isMap && i < 4; ++i)
    node.add(empty(node.line));
  return false;
}

bool isReferring(FilterKind filter) {
  return filter == FilterKind::Map || filter == FilterKind::Select || filter == FilterKind::Reject ||
         filter == FilterKind::SelectAttribute || filter == FilterKind::RejectAttribute;
}

void bindByName(Node &node, const std::string &name, const FilterRule &rule, ArgumentList &arguments,
                Problem &problem) {
  llvm::SmallVector<StringRef> parameters;
  rule.parameters.split(parameters, ' ', -1, /*KeepEmpty=*/false);
  std::vector<NodePtr> bound(parameters.size());
  const std::string takes = parameters.empty() ? "it takes none" : "its arguments are " + llvm::join(parameters, ", ");
  if (arguments.values.size() > parameters.size())
    return problem.report(
        node.line, "the filter '" + name + "' got " + std::to_string(arguments.values.size()) + " arguments", takes);
  for (size_t i = 0; i < arguments.values.size(); ++i)
    bound[i] = std::move(arguments.values[i]);
  for (auto &[key, value] : arguments.named) {
    const size_t index = llvm::find(parameters, StringRef(key)) - parameters.begin();
    if (index == parameters.size() || bound[index])
      return problem.report(node.line, "the filter '" + name + "' does not take an argument '" + key + "' here", takes);
    bound[index] = std::move(value);
  }
  for (size_t i = 0; i < rule.least; ++i)
    if (!bound[i])
      return problem.report(node.line, "the filter '" + name + "' lacks the argument '" + parameters[i].str() + "'",
                            takes);
  for (NodePtr &child : bound)
    node.add(child ? std::move(child) : empty(node.line));
}

} // namespace

bool isKnownMethod(StringRef name) { return llvm::is_contained(methodNames, name); }
bool isKnownFunction(StringRef name) { return llvm::is_contained(functionNames, name); }
std::string knownFunctions() {
  return "known are macros of the template and " + llvm::join(llvm::ArrayRef(functionNames), ", ");
}

NodePtr bindFilter(const std::string &name, uint32_t line, NodePtr operand, ArgumentList arguments, Problem &problem) {
  NodePtr node = std::make_unique<Node>(NodeKind::Filter, line);
  node->add(std::move(operand));
  const auto *found = findName(filterNames, name);
  if (found == std::end(filterNames)) {
    problem.report(line, "there is no filter '" + name + "'", listOf(filterNames));
    return node;
  }
  node->value = static_cast<uint32_t>(found->second);
  if (found->second == FilterKind::Format) {
    if (!arguments.named.empty())
      problem.report(line, "the filter 'format' with named arguments is not known");
    for (NodePtr &value : arguments.values)
      node->add(std::move(value));
    return node;
  }
  if (isReferring(found->second) && !bindReference(*node, found->second, arguments, problem))
    return node;
  if (found->second == FilterKind::Map &&
      llvm::none_of(arguments.named, [](const auto &argument) { return argument.first == "attribute"; })) {
    problem.report(line, "the filter 'map' lacks a filter or attribute");
    return node;
  }
  bindByName(*node, name, filterRules[node->value], arguments, problem);
  return node;
}

NodePtr bindTest(const std::string &name, uint32_t line, NodePtr operand, ArgumentList arguments, Problem &problem) {
  NodePtr node = std::make_unique<Node>(NodeKind::Test, line);
  node->add(std::move(operand));
  const auto *found = findName(testNames, name);
  if (found == std::end(testNames)) {
    problem.report(line, "there is no test '" + name + "'", listOf(testNames));
    return node;
  }
  node->value = static_cast<uint32_t>(found->second);
  if (arguments.values.size() != testArguments[node->value] || !arguments.named.empty())
    problem.report(line, "the test '" + name + "' takes " + std::to_string(testArguments[node->value]) +
                             " arguments, without names");
  for (NodePtr &value : arguments.values)
    node->add(std::move(value));
  return node;
}

} // namespace perpend::templates
