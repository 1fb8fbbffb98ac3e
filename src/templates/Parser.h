//===- Parser.h - parses a template's tokens --------------------*- C++ -*-===//

#ifndef PERPEND_TEMPLATES_PARSER_H
#define PERPEND_TEMPLATES_PARSER_H

#include "templates/Syntax.h"

#include <initializer_list>

namespace perpend::templates {

/// Arguments as they are written.
struct ArgumentList {
  NodeList values;
  std::vector<std::pair<std::string, NodePtr>> named;
};

/// Binds arguments to the parameters of a filter or test (Arguments.cpp). `operand` may be Empty, for a reference.
NodePtr bindFilter(const std::string &name, uint32_t line, NodePtr operand, ArgumentList arguments, Problem &problem);
NodePtr bindTest(const std::string &name, uint32_t line, NodePtr operand, ArgumentList arguments, Problem &problem);
bool isKnownMethod(llvm::StringRef name);
bool isKnownFunction(llvm::StringRef name);
std::string knownFunctions();

/// Recursive descent. After a problem every function returns some node, and the caller stops where it loops.
class Parser {
public:
  Parser(std::vector<Token> tokens, Problem &problem) : tokens(std::move(tokens)), problem(problem) {}
  NodePtr parseTemplate();

private:
  // Statements (Parser.cpp)
  NodePtr parseBody(std::initializer_list<llvm::StringRef> ends);
  NodePtr parseStatement();
  NodePtr parseBlockOf(std::initializer_list<llvm::StringRef> ends);
  NodePtr parseIf();
  NodePtr parseFor();
  NodePtr parseSet();
  NodePtr parseMacro();
  NodePtr parseCallBlock();
  NodePtr parseFilterBlock();
  NodePtr parseGeneration();
  NodePtr parseLoopControl(NodeKind kind);
  void parseParameters(Node &function);
  NodePtr parseFunctionBody(NodePtr function, llvm::StringRef end);
  NodePtr parseTarget(bool isLoop);
  NodePtr parseTargetPart(bool isLoop);
  NodePtr parseFilters(NodePtr operand, bool startsInline);
  NodePtr failStatement(const Token &token);

  // Expressions (ExpressionParser.cpp)
  NodePtr parseTuple(bool withCondition, bool isInParentheses = false);
  NodePtr parseExpression(bool withCondition = true);
  NodePtr parseConditional();
  NodePtr parseOr();
  NodePtr parseAnd();
  NodePtr parseNot();
  NodePtr parseCompare();
  NodePtr parseSum();
  NodePtr parseConcat();
  NodePtr parseProduct();
  NodePtr parsePower();
  NodePtr parseUnary(bool withFilter);
  NodePtr parsePrimary();
  NodePtr parseName();
  NodePtr parseList();
  NodePtr parseDict();
  NodePtr parsePostfix(NodePtr node);
  NodePtr parseFilterExpression(NodePtr node);
  NodePtr parseSubscript(NodePtr node);
  NodePtr parseIndex();
  NodePtr parseCall(NodePtr callee);
  NodePtr parseFilter(NodePtr operand);
  NodePtr parseTest(NodePtr operand);
  ArgumentList parseArguments();
  bool endsTuple() const;

  const Token &current() const { return tokens[at]; }
  const Token &following() const { return tokens[at + 1 < tokens.size() ? at + 1 : at]; }
  Token take();
  bool skipOperator(llvm::StringRef op);
  bool skipName(llvm::StringRef name);
  void expectOperator(llvm::StringRef op);
  void expect(TokenKind kind, const char *what);
  std::string takeName(const char *what);
  NodePtr fail(const std::string &what, const std::string &hint = {});
  static std::string describe(const Token &token);
  static NodePtr empty(uint32_t line) { return std::make_unique<Node>(NodeKind::Empty, line); }
  static NodePtr make(NodeKind kind, uint32_t line, std::string text = {}) {
    return std::make_unique<Node>(kind, line, std::move(text));
  }

  /// One level of recursion.
  struct Level {
    explicit Level(Parser &parser) : parser(parser) {
      if (++parser.depth > 120)
        parser.fail("nested deeper than 120");
    }
    ~Level() { --parser.depth; }
    Parser &parser;
  };

  std::vector<Token> tokens;
  Problem &problem;
  size_t at = 0;
  unsigned depth = 0, loops = 0; // loops around, within the function
};

} // namespace perpend::templates

#endif
