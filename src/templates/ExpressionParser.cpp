//===- ExpressionParser.cpp - expressions of templates --------------------===//
//
// Jinja's grammar: if-else, or, and, not, comparisons, + -, ~, * / // %, **,
// signs, then filters and tests, which bind closest.
//
//===----------------------------------------------------------------------===//

#include "templates/Parser.h"

#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace perpend::templates {

static NodePtr pair(NodeKind kind, uint32_t line, NodePtr left, NodePtr right) {
  NodePtr node = std::make_unique<Node>(kind, line);
  node->add(std::move(left));
  node->add(std::move(right));
  return node;
}

bool Parser::endsTuple() const {
  return current().kind == TokenKind::VariableEnd || current().kind == TokenKind::BlockEnd || current().is(")") ||
         current().isName("recursive");
}

/// An expression, or several ones with commas between them.
NodePtr Parser::parseTuple(bool withCondition, bool isInParentheses) {
  const uint32_t line = current().line;
  NodePtr tuple = make(NodeKind::Tuple, line);
  bool isTuple = false;
  while (!problem.has() && !endsTuple()) {
    tuple->add(parseExpression(withCondition));
    if (!skipOperator(","))
      break;
    isTuple = true;
  }
  if (isTuple)
    return tuple;
  if (!tuple->children.empty())
    return std::move(tuple->children[0]);
  return isInParentheses ? std::move(tuple) : fail("expected an expression, got " + describe(current()));
}

NodePtr Parser::parseExpression(bool withCondition) {
  Level level(*this);
  return withCondition ? parseConditional() : parseOr();
}

NodePtr Parser::parseConditional() {
  NodePtr node = parseOr();
  while (!problem.has() && current().isName("if")) {
    NodePtr conditional = make(NodeKind::Conditional, take().line);
    conditional->add(parseOr());
    conditional->add(std::move(node));
    conditional->add(skipName("else") ? parseExpression() : empty(conditional->line));
    node = std::move(conditional);
  }
  return node;
}

NodePtr Parser::parseOr() {
  NodePtr left = parseAnd();
  while (!problem.has() && current().isName("or")) {
    const uint32_t line = take().line;
    left = pair(NodeKind::Or, line, std::move(left), parseAnd());
  }
  return left;
}

NodePtr Parser::parseAnd() {
  NodePtr left = parseNot();
  while (!problem.has() && current().isName("and")) {
    const uint32_t line = take().line;
    left = pair(NodeKind::And, line, std::move(left), parseNot());
  }
  return left;
}

NodePtr Parser::parseNot() {
  if (!current().isName("not") || problem.has())
    return parseCompare();
  Level level(*this);
  NodePtr node = make(NodeKind::Not, take().line);
  node->add(parseNot());
  return node;
}

static Comparison comparisonOf(const Token &token) {
  if (token.kind != TokenKind::Operator)
    return Comparison::End;
  return llvm::StringSwitch<Comparison>(token.text)
      .Case("==", Comparison::Equal)
      .Case("!=", Comparison::NotEqual)
      .Case("<", Comparison::Less)
      .Case("<=", Comparison::LessEqual)
      .Case(">", Comparison::Greater)
      .Case(">=", Comparison::GreaterEqual)
      .Default(Comparison::End);
}

NodePtr Parser::parseCompare() {
  NodePtr left = parseSum();
  NodePtr node = make(NodeKind::Compare, current().line);
  while (!problem.has()) {
    Comparison comparison = comparisonOf(current());
    if (comparison != Comparison::End) {
      take();
    } else if (skipName("in")) {
      comparison = Comparison::In;
    } else if (current().isName("not") && following().isName("in")) {
      take();
      take();
      comparison = Comparison::NotIn;
    } else {
      break;
    }
    NodePtr operand = make(NodeKind::Operand, current().line);
    operand->value = static_cast<uint32_t>(comparison);
    operand->add(parseSum());
    node->add(std::move(operand));
  }
  if (node->children.empty())
    return left;
  node->children.insert(node->children.begin(), std::move(left));
  return node;
}

NodePtr Parser::parseSum() {
  NodePtr left = parseConcat();
  while (!problem.has() && (current().is("+") || current().is("-"))) {
    const Token op = take();
    left = pair(op.text == "+" ? NodeKind::Add : NodeKind::Subtract, op.line, std::move(left), parseConcat());
  }
  return left;
}

NodePtr Parser::parseConcat() {
  NodePtr first = parseProduct();
  if (!current().is("~"))
    return first;
  NodePtr node = make(NodeKind::Concat, current().line);
  node->add(std::move(first));
  while (!problem.has() && skipOperator("~"))
    node->add(parseProduct());
  return node;
}

NodePtr Parser::parseProduct() {
  NodePtr left = parsePower();
  while (!problem.has()) {
    const NodeKind kind = current().kind != TokenKind::Operator ? NodeKind::End
                                                                : llvm::StringSwitch<NodeKind>(current().text)
                                                                      .Case("*", NodeKind::Multiply)
                                                                      .Case("/", NodeKind::Divide)
                                                                      .Case("//", NodeKind::FloorDivide)
                                                                      .Case("%", NodeKind::Modulo)
                                                                      .Default(NodeKind::End);
    if (kind == NodeKind::End)
      break;
    const uint32_t line = take().line;
    left = pair(kind, line, std::move(left), parsePower());
  }
  return left;
}

NodePtr Parser::parsePower() {
  NodePtr left = parseUnary(true);
  while (!problem.has() && current().is("**")) {
    const uint32_t line = take().line;
    left = pair(NodeKind::Power, line, std::move(left), parseUnary(true));
  }
  return left;
}

NodePtr Parser::parseUnary(bool withFilter) {
  Level level(*this);
  NodePtr node;
  if (!problem.has() && (current().is("-") || current().is("+"))) {
    const Token sign = take();
    node = make(sign.text == "-" ? NodeKind::Negate : NodeKind::Plus, sign.line);
    node->add(parseUnary(false));
  } else {
    node = parsePrimary();
  }
  node = parsePostfix(std::move(node));
  return withFilter ? parseFilterExpression(std::move(node)) : std::move(node);
}

NodePtr Parser::parseName() {
  const Token token = take();
  const NodeKind kind = llvm::StringSwitch<NodeKind>(token.text)
                            .Cases("true", "True", NodeKind::TrueValue)
                            .Cases("false", "False", NodeKind::FalseValue)
                            .Cases("none", "None", NodeKind::NoneValue)
                            .Default(NodeKind::Name);
  return make(kind, token.line, kind == NodeKind::Name ? token.text : "");
}

NodePtr Parser::parsePrimary() {
  const Token token = current();
  NodePtr node;
  switch (token.kind) {
  case TokenKind::Name:
    return parseName();
  case TokenKind::String:
    node = make(NodeKind::String, token.line);
    while (current().kind == TokenKind::String)
      node->text += take().text;
    return node;
  case TokenKind::Integer:
    node = make(NodeKind::Integer, take().line);
    node->integer = token.integer;
    return node;
  case TokenKind::Float:
    node = make(NodeKind::Float, take().line);
    node->number = token.number;
    return node;
  default:
    break;
  }
  if (token.is("[") || token.is("{"))
    return token.is("[") ? parseList() : parseDict();
  if (!skipOperator("("))
    return fail("expected an expression, got " + describe(token));
  node = parseTuple(true, /*isInParentheses=*/true);
  expectOperator(")");
  return node;
}

NodePtr Parser::parseList() {
  NodePtr list = make(NodeKind::List, take().line);
  while (!problem.has() && !current().is("]")) {
    if (!list->children.empty())
      expectOperator(",");
    if (!current().is("]"))
      list->add(parseExpression());
  }
  expectOperator("]");
  return list;
}

NodePtr Parser::parseDict() {
  NodePtr dict = make(NodeKind::Dict, take().line);
  while (!problem.has() && !current().is("}")) {
    if (!dict->children.empty())
      expectOperator(",");
    if (current().is("}"))
      break;
    dict->add(parseExpression());
    expectOperator(":");
    dict->add(parseExpression());
  }
  expectOperator("}");
  return dict;
}

NodePtr Parser::parsePostfix(NodePtr node) {
  while (!problem.has()) {
    if (current().is(".") || current().is("["))
      node = parseSubscript(std::move(node));
    else if (current().is("("))
      node = parseCall(std::move(node));
    else
      break;
  }
  return node;
}

NodePtr Parser::parseFilterExpression(NodePtr node) {
  while (!problem.has()) {
    if (skipOperator("|"))
      node = parseFilter(std::move(node));
    else if (current().isName("is"))
      node = parseTest(std::move(node));
    else if (current().is("("))
      node = parseCall(std::move(node));
    else
      break;
  }
  return node;
}

/// What stands in brackets: an expression or a slice.
NodePtr Parser::parseIndex() {
  const uint32_t line = current().line;
  auto part = [&] {
    return current().is(":") || current().is("]") || current().is(",") ? empty(line) : parseExpression();
  };
  NodePtr first = part();
  if (!current().is(":"))
    return first->kind == NodeKind::Empty ? fail("expected an index, got " + describe(current())) : std::move(first);
  NodePtr slice = make(NodeKind::Slice, line);
  slice->add(std::move(first));
  take();
  slice->add(part());
  slice->add(skipOperator(":") ? part() : empty(line));
  return slice;
}

NodePtr Parser::parseSubscript(NodePtr value) {
  const Token token = take();
  if (token.is(".") && current().kind == TokenKind::Name) {
    NodePtr node = make(NodeKind::Attribute, token.line, take().text);
    node->add(std::move(value));
    return node;
  }
  NodePtr index;
  if (token.is(".") && current().kind == TokenKind::Integer) {
    index = parsePrimary();
  } else if (token.is(".")) {
    return fail("expected a name or a number, got " + describe(current()));
  } else {
    index = parseIndex();
    if (current().is(","))
      return fail("an index of several parts is not known");
    expectOperator("]");
  }
  return pair(NodeKind::Item, token.line, std::move(value), std::move(index));
}

ArgumentList Parser::parseArguments() {
  ArgumentList arguments;
  expectOperator("(");
  bool isFirst = true;
  while (!problem.has() && !current().is(")")) {
    if (!isFirst)
      expectOperator(",");
    isFirst = false;
    if (current().is(")"))
      break;
    if (current().is("*") || current().is("**")) {
      fail("arguments with '" + current().text + "' are not known", "write the arguments out");
    } else if (current().kind == TokenKind::Name && following().is("=")) {
      std::string name = take().text;
      take();
      for (const auto &[other, value] : arguments.named)
        if (other == name)
          fail("the argument '" + name + "' is there twice");
      arguments.named.emplace_back(name, parseExpression());
    } else if (!arguments.named.empty()) {
      fail("an argument without a name stands behind one with a name");
    } else {
      arguments.values.push_back(parseExpression());
    }
  }
  expectOperator(")");
  return arguments;
}

NodePtr Parser::parseCall(NodePtr callee) {
  NodePtr node = make(NodeKind::Call, current().line);
  if (callee->kind == NodeKind::Attribute && !isKnownMethod(callee->text))
    return fail("there is no method '" + callee->text + "'",
                "known are those of texts, lists and dicts that do not change them, such as split, strip, startswith, "
                "replace, get, items and keys (docs/howto/render-a-chat-template.md)");
  node->add(std::move(callee));
  ArgumentList arguments = parseArguments();
  for (NodePtr &value : arguments.values)
    node->add(std::move(value));
  for (auto &[name, value] : arguments.named) {
    NodePtr keyword = make(NodeKind::Keyword, value->line, name);
    keyword->add(std::move(value));
    node->add(std::move(keyword));
  }
  return node;
}

NodePtr Parser::parseFilter(NodePtr operand) {
  const uint32_t line = current().line;
  std::string name = takeName("the name of a filter");
  while (!problem.has() && skipOperator("."))
    name += "." + takeName("the name of a filter");
  ArgumentList arguments = current().is("(") ? parseArguments() : ArgumentList();
  if (problem.has())
    return empty(line);
  return bindFilter(name, line, std::move(operand), std::move(arguments), problem);
}

NodePtr Parser::parseTest(NodePtr operand) {
  const uint32_t line = take().line;
  const bool isNegated = skipName("not");
  std::string name = takeName("the name of a test");
  ArgumentList arguments;
  const TokenKind kind = current().kind;
  const bool startsOperand = kind == TokenKind::Name || kind == TokenKind::String || kind == TokenKind::Integer ||
                             kind == TokenKind::Float || current().is("[") || current().is("{");
  if (current().is("(")) {
    arguments = parseArguments();
  } else if (startsOperand && !current().isName("else") && !current().isName("or") && !current().isName("and")) {
    if (current().isName("is"))
      return fail("several tests with 'is' in a row");
    arguments.values.push_back(parsePostfix(parsePrimary()));
  }
  if (problem.has())
    return empty(line);
  NodePtr test = bindTest(name, line, std::move(operand), std::move(arguments), problem);
  if (!isNegated)
    return test;
  NodePtr negated = make(NodeKind::Not, line);
  negated->add(std::move(test));
  return negated;
}

} // namespace perpend::templates
