// The syntax tree of symbolic integers before any simplification; shared by SymbolicInt::parse, the rewriting rules and
// their fuzzer.
//
//   sum     := product {("+" | "-") product}
//   product := unary {("*" | "//" | "%") unary}          from left to right
//   unary   := "-" unary | primary ["**" unary]
//   primary := number | name | "quoted name" | "(" sum ")"
//            | function "(" sum {"," sum} ")"
#ifndef PERPEND_SUPPORT_SYMBOLICINTSYNTAX_H
#define PERPEND_SUPPORT_SYMBOLICINTSYNTAX_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perpend::support {

enum class SymbolicSyntaxKind : uint8_t {
  Number,
  Name,
  Add,
  Negate,
  Multiply,
  Power, // of the operand, to `number`
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
};

struct SymbolicSyntax {
  SymbolicSyntaxKind kind;
  int64_t number = 0;
  std::string name;
  std::vector<SymbolicSyntax> operands;
};

enum class SymbolicRelation : uint8_t { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

struct SymbolicComparison {
  SymbolicRelation relation;
  SymbolicSyntax left;
  SymbolicSyntax right;
};

/// Errors: nullopt, and a message with the offset in *error.
std::optional<SymbolicSyntax> parseSymbolicSyntax(llvm::StringRef text, std::string *error = nullptr);

/// Comparisons separated by commas; the empty text is the empty list.
std::optional<std::vector<SymbolicComparison>> parseSymbolicComparisons(llvm::StringRef text,
                                                                        std::string *error = nullptr);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SYMBOLICINTSYNTAX_H
