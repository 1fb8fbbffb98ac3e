//===- Primitives.h - the table of schedule primitives ----------*- C++ -*-===//
//
// Primitives.def as data, for the text of traces, the Python module, the generated
// page and the tests. KernelSchedule::apply calls a primitive by name, with
// operands as text.
//
// A kind of operand consists of a C++ type here, a function that reads it
// (readOperand in Primitives.cpp), and its form on the generated page
// (OperandInfo::str).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_PRIMITIVES_H
#define PERPEND_TILE_SCHEDULE_PRIMITIVES_H

#include "tile/schedule/Schedule.h"

namespace perpend::tile {

/// The C++ types of the operand types in Primitives.def. Operands are passed to the method as they are.
namespace operands {
using Block = KernelSchedule::Block;                       // %name
using Loop = KernelSchedule::Loop;                         // %name
using Place = KernelSchedule::Place;                       // %name
using Loops = llvm::SmallVector<Loop>;                     //  %name, %name, … to the end
using Integer = int64_t;                                   // 8
using String = std::string;                                // "text"
using Factors = llvm::SmallVector<KernelSchedule::Factor>; // [_, 8, %number]
using Integers = llvm::SmallVector<int64_t>;               // [2, 8]
/// For example (i, j) -> (j floordiv 32, i, j mod 32).
struct Map {
  std::string text;
  operator llvm::StringRef() const { return text; }
};
using Attribute = mlir::Attribute; // as MLIR writes it: 4 : i64, "text", unit, [1, 2]
} // namespace operands

struct OperandInfo {
  /// Type and name, as in Primitives.def.
  llvm::StringRef kind, name;
  /// Written `name = value`, and may be omitted.
  bool isOptional = false;

  /// It takes all remaining operands.
  bool isList() const { return kind == "Loops"; }
  /// As shown to users: loop, [factors], "scope".
  std::string str() const;
};

/// The operands of one instruction while they are read.
struct OperandTexts {
  KernelSchedule &schedule;
  llvm::ArrayRef<OperandInfo> infos;
  llvm::ArrayRef<std::string> texts;
  /// Indices of the next description and the next text.
  unsigned info = 0, text = 0;
  /// What is wrong with `texts[text]`; empty if nothing.
  std::string error;
};

struct PrimitiveInfo {
  llvm::StringRef name;
  /// None, Block, Loop, Number, Blocks, Loops or Numbers.
  llvm::StringRef results;
  llvm::SmallVector<OperandInfo, 3> operands;
  llvm::StringRef sentence;
  /// Reads the operands and, if all are valid, calls the method.
  void (*call)(OperandTexts &operands);

  /// As shown to users: `loop, [factors]`.
  std::string operandList() const;
  /// As shown to users: block, loops.
  std::string resultList() const;
};

llvm::ArrayRef<PrimitiveInfo> primitives();
/// A hash of 16 digits of all primitives' names, operands and results. A trace of another version may be refused.
std::string versionOf(llvm::ArrayRef<PrimitiveInfo> table);
/// Null if there is no such primitive.
const PrimitiveInfo *findPrimitive(llvm::StringRef name);
/// An error for an unknown name, with the nearest known one.
std::string unknownPrimitive(llvm::StringRef name);

/// Quotes a string as an operand; and the inverse, nullopt if the text is no quoted string.
std::string quotedText(llvm::StringRef text);
std::optional<std::string> unquotedText(llvm::StringRef text);
} // namespace perpend::tile

#endif
