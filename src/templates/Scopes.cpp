//===- Scopes.cpp - where the names of a template live --------------------===//

#include "templates/Scopes.h"

namespace perpend::templates {

std::optional<Place> Scope::find(const std::string &name) const {
  for (const Scope *scope = this; scope; scope = scope->parent)
    if (scope->known.count(name))
      return Place{scope->function, scope->slots->at(name)};
  return std::nullopt;
}

void Scope::define(const std::string &name, Variable variable) {
  known.insert(name);
  if (!slots->count(name))
    slots->emplace(name, function->count++);
  starts[name] = variable;
}

void Scope::declareParameter(const std::string &name) {
  stores.insert(name);
  define(name, {Start::Parameter, {}});
}

void Scope::read(const std::string &name) {
  if (!find(name))
    define(name, {Start::Resolve, {}});
}

void Scope::set(const std::string &name) {
  stores.insert(name);
  if (known.count(name))
    return;
  const std::optional<Place> outer = parent ? parent->find(name) : std::nullopt;
  if (outer)
    define(name, {Start::Alias, *outer});
  else
    define(name, {Start::Missing, {}});
}

/// A name that only some branches set begins as the outer one, or as a variable of the caller.
void Scope::merge(const std::vector<Scope> &branches) {
  std::set<std::string> added;
  for (const Scope &branch : branches)
    added.insert(branch.stores.begin(), branch.stores.end());
  for (const std::string &name : stores)
    added.erase(name);
  for (const Scope &branch : branches) {
    known.insert(branch.known.begin(), branch.known.end());
    for (const auto &[name, variable] : branch.starts)
      starts[name] = variable;
    stores.insert(branch.stores.begin(), branch.stores.end());
  }
  for (const std::string &name : added) {
    const std::optional<Place> outer = parent ? parent->find(name) : std::nullopt;
    starts[name] = outer ? Variable{Start::Alias, *outer} : Variable{Start::Resolve, {}};
  }
}

void Scope::visitIf(const Node &node) {
  visit(*node.children[0]);
  std::vector<Scope> branches = {*this, *this};
  branches[0].visit(*node.children[1]);
  branches[1].visit(*node.children[2]);
  merge(branches);
}

void Scope::visit(const Node &node) {
  switch (node.kind) {
  case NodeKind::Name:
    return read(node.text);
  case NodeKind::Store:
    return node.isParameter ? declareParameter(node.text) : set(node.text);
  case NodeKind::If:
    return visitIf(node);
  case NodeKind::Macro:
    return set(node.text);
  case NodeKind::For:
    return visit(*node.children[1]);
  case NodeKind::Set:
    visit(*node.children[1]);
    return visit(*node.children[0]);
  case NodeKind::SetBlock:
  case NodeKind::CallBlock:
    return visit(*node.children[0]);
  case NodeKind::FilterBlock:
    return visit(*node.children[1]);
  case NodeKind::Generation:
    return;
  default:
    for (const NodePtr &child : node.children)
      visit(*child);
  }
}

} // namespace perpend::templates
