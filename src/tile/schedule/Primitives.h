//===- Primitives.h - the table of schedule primitives -----------*- C++ -*-===//
//
// What Primitives.def says of each primitive, as data: for the text of traces, the
// Python module, the page in docs and the tests. KernelSchedule::apply calls a
// primitive by its name, with operands as a trace writes them.
//
// A kind of operand is a C++ type, here, a function that reads it (readOperand in
// Primitives.cpp) and how the page shows it (OperandInfo::str).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_PRIMITIVES_H
#define PERPEND_TILE_SCHEDULE_PRIMITIVES_H

#include "tile/schedule/Schedule.h"

namespace perpend::tile {

/// What the types in Primitives.def are in C++. Operands are passed to the method as they are.
namespace operands {
using Block = KernelSchedule::Block;                       // %name
using Loop = KernelSchedule::Loop;                         // %name
using Place = KernelSchedule::Place;                       // %name
using Loops = llvm::SmallVector<Loop>;                     // %name, %name, … up to the end
using Integer = int64_t;                                   // 8
using String = std::string;                                // "text"
using Factors = llvm::SmallVector<KernelSchedule::Factor>; // [_, 8, %number]
using Integers = llvm::SmallVector<int64_t>;               // [2, 8]
/// (i, j) -> (j floordiv 32, i, j mod 32)
struct Map {
  std::string text;
  operator llvm::StringRef() const { return text; }
};
using Attribute = mlir::Attribute; // as MLIR writes it: 4 : i64, "text", unit, [1, 2]
} // namespace operands

struct OperandInfo {
  /// The type and the name in Primitives.def.
  llvm::StringRef kind, name;
  /// Written `name = value`, or not at all.
  bool isOptional = false;

  /// It takes all operands that are left.
  bool isList() const { return kind == "Loops"; }
  /// For people: loop, [factors], "scope".
  std::string str() const;
};

/// The operands of one instruction, while they are read.
struct OperandTexts {
  KernelSchedule &schedule;
  llvm::ArrayRef<OperandInfo> infos;
  llvm::ArrayRef<std::string> texts;
  /// Which one is read next, of either.
  unsigned info = 0, text = 0;
  /// What is wrong with `texts[text]`; empty: nothing.
  std::string error;
};

struct PrimitiveInfo {
  llvm::StringRef name;
  /// None, Block, Loop, Number, Blocks, Loops or Numbers.
  llvm::StringRef results;
  llvm::SmallVector<OperandInfo, 3> operands;
  llvm::StringRef sentence;
  /// Reads the operands and calls the method, unless one is wrong.
  void (*call)(OperandTexts &operands);

  /// For people: `loop, [factors]`.
  std::string operandList() const;
  /// For people: block, loops.
  std::string resultList() const;
};

llvm::ArrayRef<PrimitiveInfo> primitives();
/// 16 digits, which change with a primitive's name, operands or results: a trace of another version may be refused.
std::string versionOf(llvm::ArrayRef<PrimitiveInfo> table);
/// Null when there is none.
const PrimitiveInfo *findPrimitive(llvm::StringRef name);
/// What to say of a name that is not in the table, with the nearest.
std::string unknownPrimitive(llvm::StringRef name);

/// A string as an operand, and back; nullopt when it is none.
std::string quotedText(llvm::StringRef text);
std::optional<std::string> unquotedText(llvm::StringRef text);
} // namespace perpend::tile

#endif
