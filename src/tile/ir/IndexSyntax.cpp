//===- IndexSyntax.cpp - syntax of expressions over index values ----------===//

#include "tile/ir/IndexExpressions.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Prints in the syntax of SymbolicInt, with operands in place of "%k". A minus is always followed by a number, because
/// MLIR's lexer needs that.
static void printExpression(OpAsmPrinter &printer, const SymbolicInt &expression, ValueRange operands) {
  std::string text = expression.str();
  for (StringRef rest = text; !rest.empty();) {
    if (rest.consume_front("\"%")) {
      unsigned number = 0;
      if (rest.consumeInteger(10, number) || number >= operands.size() || !rest.consume_front("\"")) {
        printer << "<invalid>";
        continue;
      }
      printer.printOperand(operands[number]);
      continue;
    }
    char c = rest.front();
    rest = rest.drop_front();
    printer << c;
    if (c != '-')
      continue;
    if (rest.consume_front(" "))
      printer << ' ';
    if (rest.empty() || !llvm::isDigit(rest.front()))
      printer << "1*";
  }
}

void perpend::tile::printExpressions(OpAsmPrinter &printer, ArrayRef<SymbolicInt> expressions, ValueRange operands) {
  llvm::interleaveComma(expressions, printer,
                        [&](const SymbolicInt &expression) { printExpression(printer, expression, operands); });
}

namespace {
/// Collects the tokens of one expression as text for SymbolicInt::parse.
///   sum := product {("+" product | negative number ["*" product])}
///   product := primary {"*" primary}
///   primary := %operand | number | name ["(" sum {"," sum} ")"] | "quoted name" | "(" sum ")"
class ExpressionReader {
public:
  ExpressionReader(AsmParser &parser, OpAsmParser *operations, UnresolvedOperands *operands)
      : parser(parser), operations(operations), operands(operands) {}

  ParseResult read(SymbolicInt &expression) {
    SMLoc loc = parser.getCurrentLocation();
    std::string error;
    if (sum(0))
      return failure();
    std::optional<SymbolicInt> value = SymbolicInt::parse(text, &error);
    if (!value || value->isPoison())
      return parser.emitError(loc, "not a symbolic integer: ") << error;
    expression = *value;
    return success();
  }

private:
  static constexpr unsigned maxDepth = 64;

  ParseResult sum(unsigned depth) {
    if (depth > maxDepth)
      return parser.emitError(parser.getCurrentLocation(), "expected nesting of at most ") << maxDepth;
    if (product(depth))
      return failure();
    while (true) {
      int64_t number = 0;
      if (succeeded(parser.parseOptionalPlus())) {
        text += " + ";
        if (product(depth))
          return failure();
        continue;
      }
      SMLoc loc = parser.getCurrentLocation();
      OptionalParseResult negative = parser.parseOptionalInteger(number);
      if (!negative.has_value())
        return success();
      if (*negative)
        return failure();
      if (number >= 0)
        return parser.emitError(loc, "expected an operator before ") << number;
      text += " + " + std::to_string(number);
      if (factors(depth))
        return failure();
    }
  }

  ParseResult product(unsigned depth) { return failure(primary(depth) || factors(depth)); }

  ParseResult factors(unsigned depth) {
    while (succeeded(parser.parseOptionalStar())) {
      text += "*";
      if (succeeded(parser.parseOptionalStar()))
        text += "*";
      if (primary(depth))
        return failure();
    }
    return success();
  }

  ParseResult primary(unsigned depth) {
    int64_t number = 0;
    if (OptionalParseResult isNumber = parser.parseOptionalInteger(number); isNumber.has_value()) {
      text += number < 0 ? "(" + std::to_string(number) + ")" : std::to_string(number);
      return *isNumber;
    }
    if (OptionalParseResult isOperand = operand(); isOperand.has_value())
      return *isOperand;
    std::string quoted;
    if (succeeded(parser.parseOptionalString(&quoted))) {
      if (StringRef(quoted).starts_with("%"))
        return parser.emitError(parser.getCurrentLocation(), "expected the name of a symbol, got '") << quoted << "'";
      text += SymbolicInt::symbol(quoted).str();
      return success();
    }
    if (succeeded(parser.parseOptionalLParen()))
      return list(depth);
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name)))
      return parser.emitError(parser.getCurrentLocation(), "expected a number, a symbol or an index value");
    text += name;
    return succeeded(parser.parseOptionalLParen()) ? list(depth) : success();
  }

  ParseResult list(unsigned depth) {
    text += "(";
    do {
      if (text.back() != '(')
        text += ", ";
      if (sum(depth + 1))
        return failure();
    } while (succeeded(parser.parseOptionalComma()));
    text += ")";
    return parser.parseRParen();
  }

  OptionalParseResult operand() {
    if (!operations)
      return std::nullopt;
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult result = operations->parseOptionalOperand(operand);
    if (!result.has_value() || *result)
      return result;
    auto isSame = [&](const OpAsmParser::UnresolvedOperand &known) {
      return known.name == operand.name && known.number == operand.number;
    };
    auto known = llvm::find_if(*operands, isSame);
    unsigned number = known - operands->begin();
    if (known == operands->end())
      operands->push_back(operand);
    text += SymbolicInt::symbol("%" + std::to_string(number)).str();
    return success();
  }

  AsmParser &parser;
  OpAsmParser *operations;
  UnresolvedOperands *operands;
  std::string text;
};
} // namespace

ParseResult perpend::tile::parseExpression(OpAsmParser &parser, UnresolvedOperands &operands, SymbolicInt &expression) {
  return ExpressionReader(parser, &parser, &operands).read(expression);
}

ParseResult perpend::tile::parseExpression(AsmParser &parser, SymbolicInt &expression) {
  return ExpressionReader(parser, nullptr, nullptr).read(expression);
}
