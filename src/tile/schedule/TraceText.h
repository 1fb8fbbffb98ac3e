//===- TraceText.h - the text form of traces --------------------*- C++ -*-===//
//
// A trace has one line per instruction, as TraceInstruction::str prints it:
//
//   %map = get_block "map"                  // results, the primitive, operands
//   %i0, %i1 = get_loops %map
//   %i0_0, %i0_1 = split %i0, [_, 8]        // a list is one operand
//   parallel %i0_0
//
// A file of schedules gives for each trace its kernel, identified by what it computes (docs/decisions/0014),
// and the machine that it is for:
//
//   schedule @reduce_map_88e5 structure "88e5f1..." for "some-machine" { ... }
//
// An optional `where "n <= 16"` restricts it to a range of a symbol; a schedule without one covers all other
// values.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_TRACETEXT_H
#define PERPEND_TILE_SCHEDULE_TRACETEXT_H

#include "tile/schedule/Schedule.h"

namespace perpend::tile {

/// Line and column in bytes, from 1.
struct TextPosition {
  unsigned line = 1, column = 1;
};

struct TextError {
  TextPosition position;
  /// May end with a hint.
  std::string message;
};

struct TraceLine {
  TraceInstruction instruction;
  /// Positions of the primitive and of each operand.
  TextPosition position;
  llvm::SmallVector<TextPosition, 4> operands;
};

/// Errors: syntax, unknown primitive (with the nearest known one).
std::optional<std::vector<TraceLine>> parseTrace(llvm::StringRef text, TextError &error);

/// Applies all of it or nothing. Errors: an invalid operand, an undefined value, a refusal by a primitive.
mlir::LogicalResult replay(KernelSchedule &schedule, llvm::ArrayRef<TraceLine> trace, TextError &error);

/// One section of a file of schedules.
struct ScheduleText {
  std::string kernel;
  /// If empty: any kernel of the name; all values of the symbol that no other schedule of the kernel covers; any
  /// machine.
  std::string structure, range, target;
  TextPosition position;
  /// The text between the braces, and the line where it begins.
  std::string trace;
  unsigned firstLine = 0;

  std::string str() const;
};

/// Errors: those of parseTrace; two schedules for the same kernel and range, unless `mayBeSeveral`.
std::optional<std::vector<ScheduleText>> parseSchedules(llvm::StringRef text, TextError &error,
                                                        bool mayBeSeveral = false);
} // namespace perpend::tile

#endif
