//===- Parser.cpp - statements of templates -------------------------------===//

#include "templates/Parser.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace perpend::templates {

static constexpr StringRef knownStatements =
    "known are if, for, set, macro, call, filter, generation, raw, break and continue";

std::string Parser::describe(const Token &token) {
  switch (token.kind) {
  case TokenKind::Data:
  case TokenKind::End:
    return token.kind == TokenKind::End ? "the end of the template" : "text";
  case TokenKind::BlockBegin:
    return "'{%'";
  case TokenKind::BlockEnd:
    return "'%}'";
  case TokenKind::VariableBegin:
    return "'{{'";
  case TokenKind::VariableEnd:
    return "'}}'";
  case TokenKind::String:
    return "a text";
  default:
    return "'" + token.text + "'";
  }
}

NodePtr Parser::fail(const std::string &what, const std::string &hint) {
  problem.report(current().line, what, hint);
  at = tokens.size() - 1; // the end, so that all loops end
  return empty(current().line);
}

Token Parser::take() {
  Token token = current();
  if (at + 1 < tokens.size())
    ++at;
  return token;
}

bool Parser::skipOperator(StringRef op) { return current().is(op) && (take(), true); }
bool Parser::skipName(StringRef name) { return current().isName(name) && (take(), true); }

void Parser::expectOperator(StringRef op) {
  if (!skipOperator(op))
    fail("expected '" + op.str() + "', got " + describe(current()));
}

void Parser::expect(TokenKind kind, const char *what) {
  if (current().kind == kind)
    take();
  else
    fail(std::string("expected ") + what + ", got " + describe(current()));
}

std::string Parser::takeName(const char *what) {
  if (current().kind == TokenKind::Name)
    return take().text;
  fail(std::string("expected ") + what + ", got " + describe(current()));
  return {};
}

NodePtr Parser::parseTemplate() {
  NodePtr function = make(NodeKind::Function, 1);
  function->add(parseBody({}));
  return function;
}

/// Statements up to a block whose name is one of `ends`, which is then the current token; or to the end of all.
NodePtr Parser::parseBody(std::initializer_list<StringRef> ends) {
  Level level(*this);
  NodePtr body = make(NodeKind::Block, current().line);
  while (!problem.has() && current().kind != TokenKind::End) {
    const Token token = take();
    if (token.kind == TokenKind::Data) {
      body->add(make(NodeKind::Text, token.line, token.text));
    } else if (token.kind == TokenKind::VariableBegin) {
      NodePtr output = make(NodeKind::Output, token.line);
      output->add(parseTuple(true));
      expect(TokenKind::VariableEnd, "'}}'");
      body->add(std::move(output));
    } else {
      if (current().kind == TokenKind::Name && llvm::is_contained(ends, StringRef(current().text)))
        return body;
      body->add(parseStatement());
      expect(TokenKind::BlockEnd, "'%}'");
    }
  }
  if (ends.size() && !problem.has())
    fail("the template ends within a block", "expected {% " + (ends.end() - 1)->str() + " %}");
  return body;
}

/// The rest of a block's head, its body, and the name that ends it.
NodePtr Parser::parseBlockOf(std::initializer_list<StringRef> ends) {
  skipOperator(":");
  expect(TokenKind::BlockEnd, "'%}'");
  return parseBody(ends);
}

NodePtr Parser::failStatement(const Token &token) {
  static constexpr StringRef others[] = {"block",      "extends", "include", "import", "from", "with",
                                         "autoescape", "do",      "print",   "trans",  "debug"};
  if (llvm::is_contained(others, StringRef(token.text)))
    return fail("the statement '" + token.text + "' is not known", knownStatements.str());
  return fail("there is no statement '" + token.text + "'", knownStatements.str());
}

NodePtr Parser::parseStatement() {
  const Token &token = current();
  if (token.kind != TokenKind::Name)
    return fail("expected the name of a statement, got " + describe(token), knownStatements.str());
  if (token.text == "if")
    return parseIf();
  if (token.text == "for")
    return parseFor();
  if (token.text == "set")
    return parseSet();
  if (token.text == "macro")
    return parseMacro();
  if (token.text == "call")
    return parseCallBlock();
  if (token.text == "filter")
    return parseFilterBlock();
  if (token.text == "generation")
    return parseGeneration();
  if (token.text == "break" || token.text == "continue")
    return parseLoopControl(token.text == "break" ? NodeKind::Break : NodeKind::Continue);
  return failStatement(token);
}

NodePtr Parser::parseLoopControl(NodeKind kind) {
  if (!loops)
    return fail("'" + current().text + "' is not in a loop");
  return make(kind, take().line);
}

NodePtr Parser::parseIf() {
  Level level(*this);
  NodePtr node = make(NodeKind::If, take().line);
  node->add(parseTuple(false));
  node->add(parseBlockOf({"elif", "else", "endif"}));
  if (current().isName("elif")) {
    node->add(parseIf());
    return node;
  }
  if (skipName("else"))
    node->add(parseBlockOf({"endif"}));
  else
    node->add(empty(node->line));
  take();
  return node;
}

NodePtr Parser::parseTargetPart(bool isLoop) {
  Level level(*this);
  const uint32_t line = current().line;
  if (!problem.has() && skipOperator("(")) {
    NodePtr target = parseTarget(isLoop);
    expectOperator(")");
    return target;
  }
  if (current().kind != TokenKind::Name)
    return fail("expected a name to set, got " + describe(current()));
  if (current().isName("loop"))
    return fail("'loop' cannot be set");
  std::string name = take().text;
  static constexpr StringRef constants[] = {"true", "false", "none", "True", "False", "None", "caller"};
  if (llvm::is_contained(constants, StringRef(name)))
    return fail("'" + name + "' cannot be set");
  if (!isLoop && skipOperator(".")) {
    NodePtr target = make(NodeKind::StoreAttribute, line, takeName("the name of an attribute"));
    target->add(make(NodeKind::Name, line, name));
    return target;
  }
  NodePtr target = make(NodeKind::Store, line, name);
  target->isParameter = isLoop;
  return target;
}

/// A name, several ones, or an attribute of a namespace.
NodePtr Parser::parseTarget(bool isLoop) {
  const uint32_t line = current().line;
  NodePtr first = parseTargetPart(isLoop);
  if (!current().is(","))
    return first;
  NodePtr tuple = make(NodeKind::StoreTuple, line);
  tuple->add(std::move(first));
  while (!problem.has() && skipOperator(",")) {
    if (current().kind != TokenKind::Name && !current().is("("))
      break;
    if (current().isName("in") && isLoop)
      break;
    tuple->add(parseTargetPart(isLoop));
  }
  return tuple;
}

NodePtr Parser::parseFor() {
  NodePtr node = make(NodeKind::For, take().line);
  node->add(parseTarget(true));
  if (!skipName("in"))
    fail("expected 'in', got " + describe(current()));
  node->add(parseTuple(false));
  NodePtr condition = empty(node->line);
  if (skipName("if"))
    condition = parseExpression();
  if (current().isName("recursive"))
    return fail("recursive loops are not known", "use a macro that calls itself");
  ++loops;
  node->add(parseBlockOf({"else", "endfor"}));
  --loops;
  if (skipName("else"))
    node->add(parseBlockOf({"endfor"}));
  else
    node->add(empty(node->line));
  take();
  node->add(std::move(condition));
  return node;
}

NodePtr Parser::parseFilters(NodePtr operand, bool startsInline) {
  bool isFirst = startsInline;
  while (!problem.has() && (isFirst || skipOperator("|"))) {
    operand = parseFilter(std::move(operand));
    isFirst = false;
  }
  return operand;
}

NodePtr Parser::parseSet() {
  const uint32_t line = take().line;
  NodePtr target = parseTarget(false);
  if (skipOperator("=")) {
    NodePtr node = make(NodeKind::Set, line);
    node->add(std::move(target));
    node->add(parseTuple(true));
    return node;
  }
  NodePtr node = make(NodeKind::SetBlock, line);
  NodePtr filters = parseFilters(make(NodeKind::Captured, line), false);
  node->add(std::move(target));
  node->add(parseBlockOf({"endset"}));
  node->add(std::move(filters));
  take();
  return node;
}

NodePtr Parser::parseFilterBlock() {
  NodePtr node = make(NodeKind::FilterBlock, take().line);
  NodePtr filters = parseFilters(make(NodeKind::Captured, node->line), true);
  node->add(parseBlockOf({"endfilter"}));
  node->add(std::move(filters));
  take();
  return node;
}

void Parser::parseParameters(Node &function) {
  expectOperator("(");
  while (!problem.has() && !current().is(")")) {
    if (!function.parameters.empty())
      expectOperator(",");
    std::string name = takeName("the name of a parameter");
    if (name == "caller" || name == "varargs" || name == "kwargs" || name == "loop")
      fail("a parameter cannot be called '" + name + "'");
    if (llvm::is_contained(function.parameters, name))
      fail("the parameter '" + name + "' is there twice");
    function.parameters.push_back(name);
    if (skipOperator("="))
      function.add(parseExpression());
    else if (function.children.size() > 1)
      fail("the parameter '" + name + "' has no default, but one before it has");
  }
  expectOperator(")");
}

/// A function's children are its body and its defaults; the body, which comes last in the text, has its place already.
NodePtr Parser::parseFunctionBody(NodePtr function, StringRef end) {
  const unsigned outer = std::exchange(loops, 0);
  function->children[0] = parseBlockOf({end});
  loops = outer;
  take();
  return function;
}

NodePtr Parser::parseMacro() {
  const uint32_t line = take().line;
  NodePtr node = make(NodeKind::Macro, line, takeName("the name of a macro"));
  NodePtr function = make(NodeKind::Function, line, node->text);
  function->add(empty(line));
  parseParameters(*function);
  node->add(parseFunctionBody(std::move(function), "endmacro"));
  return node;
}

NodePtr Parser::parseCallBlock() {
  NodePtr node = make(NodeKind::CallBlock, take().line);
  NodePtr function = make(NodeKind::Function, node->line, "caller");
  function->add(empty(node->line));
  if (current().is("("))
    parseParameters(*function);
  NodePtr call = parseExpression();
  if (call->kind != NodeKind::Call && !problem.has())
    return fail("expected a call of a macro in a call block");
  node->add(std::move(call));
  node->add(parseFunctionBody(std::move(function), "endcall"));
  return node;
}

NodePtr Parser::parseGeneration() {
  NodePtr node = make(NodeKind::Generation, take().line);
  NodePtr function = make(NodeKind::Function, node->line, "generation");
  function->add(empty(node->line));
  node->add(parseFunctionBody(std::move(function), "endgeneration"));
  return node;
}

NodePtr parse(std::vector<Token> tokens, Problem &problem) {
  return Parser(std::move(tokens), problem).parseTemplate();
}

} // namespace perpend::templates
