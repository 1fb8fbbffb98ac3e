//===- Syntax.h - tokens and trees of templates -----------------*- C++ -*-===//

#ifndef PERPEND_TEMPLATES_SYNTAX_H
#define PERPEND_TEMPLATES_SYNTAX_H

#include "template/TableFormat.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace perpend::templates {

enum class TokenKind {
  Data,
  BlockBegin,
  BlockEnd,
  VariableBegin,
  VariableEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End
};

struct Token {
  TokenKind kind;
  uint32_t line;
  std::string text; // of a string: what it stands for
  int64_t integer = 0;
  double number = 0;
  bool is(llvm::StringRef op) const { return kind == TokenKind::Operator && text == op; }
  bool isName(llvm::StringRef name) const { return kind == TokenKind::Name && text == name; }
};

struct Node;
using NodePtr = std::unique_ptr<Node>;
using NodeList = std::vector<NodePtr>;

/// A node of the tree, with names in place of slots. The children are those that Nodes.def lists, except:
/// Function: body, defaults of the last parameters; parameters are names. For: target, iterable, body, else, condition
/// or Empty. Macro: Function; its text is the name.
struct Node {
  Node(NodeKind kind, uint32_t line, std::string text = {}) : kind(kind), line(line), text(std::move(text)) {}
  void add(NodePtr child) { children.push_back(std::move(child)); }

  NodeKind kind;
  uint32_t line;
  std::string text;
  NodeList children;
  int64_t integer = 0;
  double number = 0;
  uint32_t value = 0;       // FilterKind, TestKind or Comparison
  bool isParameter = false; // of a Store: a loop or function gives the value
  std::vector<std::string> parameters;
};

/// The first error of a template: "line 3: ...\nhint: ...".
struct Problem {
  std::string text;
  bool has() const { return !text.empty(); }
  void report(uint32_t line, const std::string &what, const std::string &hint = {}) {
    if (!has())
      text = "line " + std::to_string(line) + ": " + what + (hint.empty() ? "" : "\nhint: " + hint);
  }
};

/// Tokens with white space controlled as trim_blocks and lstrip_blocks do.
std::vector<Token> tokenize(llvm::StringRef text, Problem &problem);

/// The template's Function.
NodePtr parse(std::vector<Token> tokens, Problem &problem);

/// The table of a tree (runtime/template/TableFormat.h).
std::string encode(const Node &root, Problem &problem);

} // namespace perpend::templates

#endif
