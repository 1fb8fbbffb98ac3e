//===- Scopes.h - the scopes of the names in a template ---------*- C++ -*-===//
//
// While it compiles a template, Jinja decides for each name whether it is a variable of the caller, of this scope or
// of an enclosing one. When a scope begins that may set variables of outer scopes, their values are copied. This file
// implements these rules.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEMPLATES_SCOPES_H
#define PERPEND_TEMPLATES_SCOPES_H

#include "templates/Syntax.h"

#include <map>
#include <memory>
#include <optional>
#include <set>

namespace perpend::templates {

/// The slots of a function while its body is written.
struct FunctionSlots {
  FunctionSlots *outer = nullptr;
  uint32_t count = 0;
};

/// A slot of a function.
struct Place {
  FunctionSlots *function = nullptr;
  uint32_t slot = 0;
};

/// The names that one scope knows. A scope in a function of its own has other slots than the one around it.
class Scope {
public:
  Scope(Scope *parent, FunctionSlots *function)
      : parent(parent), function(function), slots(std::make_shared<std::map<std::string, uint32_t>>()) {}

  /// Notes what a node reads and sets in this scope, in order.
  void visit(const Node &node);
  void declareParameter(const std::string &name);
  void read(const std::string &name);
  std::optional<Place> find(const std::string &name) const;
  FunctionSlots &slotsOfFunction() const { return *function; }

  /// How a variable begins when the scope is entered.
  enum class Start { Parameter, Resolve, Alias, Missing };
  struct Variable {
    Start start;
    Place outer; // of Alias
  };
  const std::map<std::string, Variable> &variables() const { return starts; }

private:
  void set(const std::string &name);
  void define(const std::string &name, Variable variable);
  void visitIf(const Node &node);
  void merge(const std::vector<Scope> &branches);

  Scope *parent;
  FunctionSlots *function;
  std::shared_ptr<std::map<std::string, uint32_t>> slots; // shared by the copies for branches
  std::set<std::string> known, stores;
  std::map<std::string, Variable> starts;
};

} // namespace perpend::templates

#endif
