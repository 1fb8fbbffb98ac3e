//===- Encode.cpp - writes the table of a template ------------------------===//

#include "templates/Parser.h"
#include "templates/Scopes.h"
#include "templates/Syntax.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using llvm::StringRef;

namespace perpend::templates {
namespace {

/// Whether a function reads `caller`, in itself or in functions within.
bool readsCaller(const Node &node) {
  return (node.kind == NodeKind::Name && node.text == "caller") ||
         llvm::any_of(node.children, [](const NodePtr &child) { return readsCaller(*child); });
}

void collectStored(const Node &node, std::set<std::string> &names) {
  if (node.kind == NodeKind::Store || node.kind == NodeKind::Macro)
    names.insert(node.text);
  names.insert(node.parameters.begin(), node.parameters.end());
  for (const NodePtr &child : node.children)
    collectStored(*child, names);
}

class Encoder {
public:
  explicit Encoder(Problem &problem) : problem(problem) {}
  std::string run(const Node &root);

private:
  using Index = uint32_t;
  Index encode(const Node &node, Scope &scope);
  Index encodeChildren(const Node &node, Scope &scope, uint32_t value = 0);
  Index encodeName(const Node &node, const std::string &name, Scope &scope);
  Index encodeStore(uint32_t line, const std::string &name, Scope &scope);
  Index encodeFor(const Node &node, Scope &scope);
  Index encodeSetBlock(const Node &node, Scope &scope);
  Index encodeFilterBlock(const Node &node, Scope &scope);
  Index encodeFunction(const Node &node, Scope *scope);
  Index encodeBlock(const Node &body, Scope &scope);
  void checkName(const Node &node);
  std::vector<Index> starts(Scope &scope, uint32_t line);
  Index add(NodeKind kind, uint32_t line, llvm::ArrayRef<Index> children, uint32_t value = 0,
            std::optional<std::string> text = std::nullopt, uint16_t detail = 0);
  uint32_t numberIndex(int64_t bits);
  uint32_t textIndex(const std::string &text);
  std::string bytes(Index root) const;

  Problem &problem;
  std::set<std::string> stored;
  std::vector<NodeRecord> nodes;
  std::vector<uint32_t> depths;
  std::vector<uint32_t> children;
  std::vector<std::string> texts;
  std::map<std::string, uint32_t> textIndexes;
  std::vector<int64_t> numbers;
};

uint32_t Encoder::textIndex(const std::string &text) {
  const auto [place, isNew] = textIndexes.try_emplace(text, texts.size());
  if (isNew)
    texts.push_back(text);
  return place->second;
}

uint32_t Encoder::numberIndex(int64_t bits) {
  const auto found = llvm::find(numbers, bits);
  if (found != numbers.end())
    return found - numbers.begin();
  numbers.push_back(bits);
  return numbers.size() - 1;
}

Encoder::Index Encoder::add(NodeKind kind, uint32_t line, llvm::ArrayRef<Index> list, uint32_t value,
                            std::optional<std::string> text, uint16_t detail) {
  NodeRecord record = {};
  record.kind = static_cast<uint16_t>(kind);
  record.detail = detail;
  record.line = line;
  record.value = value;
  record.text = text ? textIndex(*text) : 0;
  record.first = children.size();
  record.count = list.size();
  uint32_t depth = 0;
  for (Index child : list)
    depth = std::max(depth, depths[child] + 1);
  if (depth >= maxTreeDepth)
    problem.report(line, "nested deeper than " + std::to_string(maxTreeDepth));
  children.insert(children.end(), list.begin(), list.end());
  nodes.push_back(record);
  depths.push_back(depth);
  return nodes.size() - 1;
}

Encoder::Index Encoder::encodeName(const Node &node, const std::string &name, Scope &scope) {
  std::optional<Place> place = scope.find(name);
  if (!place) { // a name that Jinja's rules do not look at in advance
    scope.read(name);
    place = scope.find(name);
  }
  uint16_t outwards = 0;
  for (const FunctionSlots *function = &scope.slotsOfFunction(); function != place->function;
       function = function->outer)
    ++outwards;
  return add(NodeKind::Name, node.line, {}, place->slot, name, outwards);
}

Encoder::Index Encoder::encodeStore(uint32_t line, const std::string &name, Scope &scope) {
  return add(NodeKind::Store, line, {}, scope.find(name)->slot, name);
}

/// What gives the variables of a scope their first values.
std::vector<Encoder::Index> Encoder::starts(Scope &scope, uint32_t line) {
  std::vector<Index> statements;
  for (const auto &[name, variable] : scope.variables()) {
    if (variable.start == Scope::Start::Parameter)
      continue;
    const Index target = encodeStore(line, name, scope);
    if (variable.start == Scope::Start::Resolve) {
      statements.push_back(add(NodeKind::Resolve, line, {target}, 0, name));
    } else if (variable.start == Scope::Start::Missing) {
      statements.push_back(add(NodeKind::Missing, line, {target}));
    } else {
      uint16_t outwards = 0;
      for (const FunctionSlots *at = &scope.slotsOfFunction(); at != variable.outer.function; at = at->outer)
        ++outwards;
      const Index source = add(NodeKind::Name, line, {}, variable.outer.slot, name, outwards);
      statements.push_back(add(NodeKind::Alias, line, {target, source}));
    }
  }
  return statements;
}

/// A scope's body, after what its variables begin with. The scope has visited it.
Encoder::Index Encoder::encodeBlock(const Node &body, Scope &scope) {
  std::vector<Index> statements;
  if (body.kind != NodeKind::Empty)
    for (const NodePtr &child : body.children)
      statements.push_back(encode(*child, scope));
  std::vector<Index> first = starts(scope, 0);
  first.insert(first.end(), statements.begin(), statements.end());
  return add(NodeKind::Block, body.line, first);
}

Encoder::Index Encoder::encodeFor(const Node &node, Scope &scope) {
  const Index iterable = encode(*node.children[1], scope);
  FunctionSlots *slots = &scope.slotsOfFunction();
  Scope body(&scope, slots), otherwise(&scope, slots), condition(&scope, slots);
  body.declareParameter("loop");
  body.visit(*node.children[0]);
  body.visit(*node.children[2]);
  const Index target = encode(*node.children[0], body);
  const Index bodyIndex = encodeBlock(*node.children[2], body);
  otherwise.visit(*node.children[3]);
  const Index elseIndex = encodeBlock(*node.children[3], otherwise);
  Index filter = 0;
  if (node.children[4]->kind != NodeKind::Empty) {
    condition.visit(*node.children[0]);
    condition.visit(*node.children[4]);
    const Index filterTarget = encode(*node.children[0], condition);
    const Index holds = encode(*node.children[4], condition);
    const Index first = add(NodeKind::Block, 0, starts(condition, 0));
    filter = add(NodeKind::LoopFilter, node.line, {first, filterTarget, holds});
  } else {
    filter = add(NodeKind::Empty, node.line, {});
  }
  return add(NodeKind::For, node.line, {target, iterable, bodyIndex, elseIndex, filter}, body.find("loop")->slot);
}

Encoder::Index Encoder::encodeSetBlock(const Node &node, Scope &scope) {
  Scope body(&scope, &scope.slotsOfFunction());
  body.visit(*node.children[1]);
  body.visit(*node.children[2]);
  const Index filter = encode(*node.children[2], body);
  const Index block = encodeBlock(*node.children[1], body);
  return add(NodeKind::SetBlock, node.line, {encode(*node.children[0], scope), block, filter});
}

Encoder::Index Encoder::encodeFilterBlock(const Node &node, Scope &scope) {
  Scope body(&scope, &scope.slotsOfFunction());
  body.visit(*node.children[0]);
  body.visit(*node.children[1]);
  const Index filter = encode(*node.children[1], body);
  return add(NodeKind::FilterBlock, node.line, {encodeBlock(*node.children[0], body), filter});
}

/// scope: around the function; null for the template.
Encoder::Index Encoder::encodeFunction(const Node &node, Scope *scope) {
  FunctionSlots slots;
  slots.outer = scope ? &scope->slotsOfFunction() : nullptr;
  Scope inner(scope, &slots);
  for (const std::string &name : node.parameters)
    inner.declareParameter(name);
  for (size_t i = 1; i < node.children.size(); ++i)
    inner.visit(*node.children[i]);
  const bool takesCaller = scope && readsCaller(*node.children[0]);
  if (takesCaller)
    inner.declareParameter("caller");
  inner.visit(*node.children[0]);
  std::vector<Index> list = {0, 0};
  const size_t firstDefault = node.parameters.size() - (node.children.size() - 1);
  for (size_t i = 0; i < node.parameters.size(); ++i) {
    std::vector<Index> value;
    if (i >= firstDefault)
      value.push_back(encode(*node.children[1 + i - firstDefault], inner));
    list.push_back(
        add(NodeKind::Parameter, node.line, value, inner.find(node.parameters[i])->slot, node.parameters[i]));
  }
  if (takesCaller)
    list.push_back(add(NodeKind::Parameter, node.line, {}, inner.find("caller")->slot, "caller"));
  std::vector<Index> statements;
  for (const NodePtr &child : node.children[0]->children)
    statements.push_back(encode(*child, inner));
  list[1] = add(NodeKind::Block, node.line, statements);
  list[0] = add(NodeKind::Block, 0, starts(inner, 0)); // before the defaults, which may use them
  if (slots.count > maxSlots)
    problem.report(node.line, "more than " + std::to_string(maxSlots) + " variables in one function");
  return add(NodeKind::Function, node.line, list, slots.count, node.text, takesCaller ? usesCaller : 0);
}

void Encoder::checkName(const Node &node) {
  static constexpr StringRef unknown[] = {"lipsum", "cycler", "joiner", "varargs", "kwargs", "self", "super"};
  if (!stored.count(node.text) && llvm::is_contained(unknown, StringRef(node.text)))
    problem.report(node.line, "'" + node.text + "' is not known", knownFunctions());
}

Encoder::Index Encoder::encodeChildren(const Node &node, Scope &scope, uint32_t value) {
  std::vector<Index> list;
  for (const NodePtr &child : node.children)
    list.push_back(encode(*child, scope));
  static constexpr NodeKind withText[] = {NodeKind::Text, NodeKind::String, NodeKind::Attribute, NodeKind::Keyword,
                                          NodeKind::StoreAttribute};
  const bool hasText = llvm::is_contained(withText, node.kind);
  const bool isOperand = node.kind == NodeKind::Operand;
  return add(node.kind, node.line, list, isOperand ? 0 : value, hasText ? std::optional(node.text) : std::nullopt,
             isOperand ? node.value : 0);
}

Encoder::Index Encoder::encode(const Node &node, Scope &scope) {
  switch (node.kind) {
  case NodeKind::Name:
    checkName(node);
    return encodeName(node, node.text, scope);
  case NodeKind::Store:
    return encodeStore(node.line, node.text, scope);
  case NodeKind::For:
    return encodeFor(node, scope);
  case NodeKind::SetBlock:
    return encodeSetBlock(node, scope);
  case NodeKind::FilterBlock:
    return encodeFilterBlock(node, scope);
  case NodeKind::Function:
    return encodeFunction(node, &scope);
  case NodeKind::Macro: {
    const Index function = encode(*node.children[0], scope);
    return add(NodeKind::Macro, node.line, {encodeStore(node.line, node.text, scope), function});
  }
  case NodeKind::Integer:
    return encodeChildren(node, scope, numberIndex(node.integer));
  case NodeKind::Float: {
    int64_t bits;
    std::memcpy(&bits, &node.number, sizeof bits);
    return encodeChildren(node, scope, numberIndex(bits));
  }
  case NodeKind::Call: {
    const Node &callee = *node.children[0];
    const bool isUnknown = callee.kind == NodeKind::Name && !stored.count(callee.text) && callee.text != "caller" &&
                           !isKnownFunction(callee.text);
    if (isUnknown)
      problem.report(node.line, "there is no function '" + callee.text + "'", knownFunctions());
    return encodeChildren(node, scope);
  }
  default:
    return encodeChildren(node, scope, node.value);
  }
}

std::string Encoder::bytes(Index root) const {
  TableHead head = {};
  std::string result(sizeof head, '\0');
  auto append = [&](const auto &list) {
    result.resize((result.size() + 7) / 8 * 8);
    const uint32_t position = result.size();
    result.append(reinterpret_cast<const char *>(list.data()), list.size() * sizeof list[0]);
    return position;
  };
  head.magic = tableMagic;
  head.version = tableVersion;
  head.root = root;
  head.nodes = append(nodes);
  head.nodeCount = nodes.size();
  head.children = append(children);
  head.childCount = children.size();
  head.numbers = append(numbers);
  head.numberCount = numbers.size();
  std::vector<TextRecord> records;
  std::string characters;
  const uint32_t textsStart = (result.size() + 7) / 8 * 8 + texts.size() * sizeof(TextRecord);
  for (const std::string &text : texts) {
    records.push_back({static_cast<uint32_t>(textsStart + characters.size()), static_cast<uint32_t>(text.size())});
    characters += text;
  }
  head.texts = append(records);
  head.textCount = records.size();
  result += characters;
  result.resize((result.size() + 8) / 8 * 8);
  head.bytes = result.size();
  std::memcpy(result.data(), &head, sizeof head);
  return result;
}

std::string Encoder::run(const Node &root) {
  collectStored(root, stored);
  const Index index = encodeFunction(root, nullptr);
  return problem.has() ? std::string() : bytes(index);
}

} // namespace

std::string encode(const Node &root, Problem &problem) { return Encoder(problem).run(root); }

} // namespace perpend::templates
