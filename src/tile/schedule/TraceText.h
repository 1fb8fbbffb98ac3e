//===- TraceText.h - traces as text ------------------------------*- C++ -*-===//
//
// A trace is a line for each instruction, as TraceInstruction::str writes them:
//
//   %map = get_block "map"                  // results, the primitive, operands
//   %i0, %i1 = get_loops %map
//   %i0_0, %i0_1 = split %i0, [_, 8]        // a list is one operand
//   parallel %i0_0
//
// A file of schedules names the kernel of each trace, by what it computes
// (docs/decisions/0014), and the machine that it is for:
//
//   schedule @reduce_map_88e5 structure "88e5f1..." for "x86-64-v3" { ... }
//
// and may say for which values of a symbol it is, `where "n <= 16"`; one that says nothing is for all others.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_TRACETEXT_H
#define PERPEND_TILE_SCHEDULE_TRACETEXT_H

#include "tile/schedule/Schedule.h"

namespace perpend::tile {

/// From 1, in bytes.
struct TextPosition {
  unsigned line = 1, column = 1;
};

struct TextError {
  TextPosition position;
  /// It may end in a hint.
  std::string message;
};

struct TraceLine {
  TraceInstruction instruction;
  /// Of the primitive, and of each operand.
  TextPosition position;
  llvm::SmallVector<TextPosition, 4> operands;
};

/// Errors: of syntax, a primitive that there is not (with the nearest).
std::optional<std::vector<TraceLine>> parseTrace(llvm::StringRef text, TextError &error);

/// Does all of it, or nothing. Errors: a wrong operand, a value that is not defined, what the primitive refuses.
mlir::LogicalResult replay(KernelSchedule &schedule, llvm::ArrayRef<TraceLine> trace, TextError &error);

/// One section of a file of schedules.
struct ScheduleText {
  std::string kernel;
  /// Empty: any kernel of the name; all values that no other schedule of the kernel is for; any machine.
  std::string structure, range, target;
  TextPosition position;
  /// What stands between the braces, and the line on which it begins.
  std::string trace;
  unsigned firstLine = 0;

  std::string str() const;
};

/// Errors: those of parseTrace, two schedules for one kernel and one range unless there `mayBeSeveral`.
std::optional<std::vector<ScheduleText>> parseSchedules(llvm::StringRef text, TextError &error,
                                                        bool mayBeSeveral = false);
} // namespace perpend::tile

#endif
