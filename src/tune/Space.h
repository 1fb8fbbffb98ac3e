//===- Space.h - the schedules of a kernel that a search chooses from -*- C++ -*-===//
//
// A sketch is a trace with decisions: numbers in it that may be others. A space
// is some sketches, of which a point chooses one first. What follows from a
// choice the primitives check when the trace is replayed, so a point of the space
// may be refused; it never computes something else.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_SPACE_H
#define PERPEND_TUNE_SPACE_H

#include "target/TargetInfo.h"
#include "tile/schedule/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::tune {

/// What stands in one place of a trace: one of these operands. Where it is a whole instruction, the empty text leaves
/// it out.
struct Decision {
  static constexpr size_t wholeInstruction = ~size_t{0}, whichSketch = wholeInstruction - 1;
  /// `whichSketch`: the choices are the sketches.
  size_t instruction = 0, operand = 0;
  /// Where the operand is a list: of its elements.
  size_t element = 0;
  std::vector<std::string> choices;
  /// What stands there in the trace itself.
  unsigned given = 0;
  size_t sketch = 0; ///< of which it is
};

/// The number of the choice of each decision.
using Point = std::vector<unsigned>;
using Trace = std::vector<tile::TraceInstruction>;

/// Of `sample_compute_location`.
inline constexpr int64_t mostLocations = 16;

class Space {
public:
  /// The trace with its factors and what it samples free, and with what it annotates there or not. `kernel` is of plain
  /// blocks, and the trace is one that it takes; of each decision, only choices that it takes alone are left, where
  /// there are at most 64: others are not tried.
  static Space ofTrace(mlir::func::FuncOp kernel, const target::TargetInfo &target, Trace trace);

  /// The trace, and nothing else.
  static Space ofOne(Trace trace);
  /// All of their sketches; the given point is that of the first.
  static Space unionOf(std::vector<Space> spaces);

  /// Where there are several sketches, the first decision is which.
  llvm::ArrayRef<Decision> decisions() const { return list; }
  size_t sketches() const { return traces.size(); }
  size_t sketchOf(const Point &point) const { return traces.size() > 1 ? point.front() : 0; }
  /// Whether the decision says something about the point's trace.
  bool isUsed(const Point &point, size_t decision) const;
  /// The same trace, with what is not used as given.
  Point reduced(Point point) const;
  /// How many points there are, each reduced.
  double size() const;
  /// The first trace itself.
  Point given() const;
  Trace traceAt(const Point &point) const;
  /// nullopt: the trace is none of the space.
  std::optional<Point> pointOf(const Trace &other) const;

private:
  std::optional<Point> pointOf(const Trace &other, size_t sketch) const;

  std::vector<Trace> traces = std::vector<Trace>(1);
  std::vector<Decision> list;
};

/// nullopt: the text is none.
std::optional<Trace> readTrace(llvm::StringRef text);
/// A line for each instruction, as a kernel's attribute has them.
std::vector<std::string> linesOf(const Trace &trace);
} // namespace perpend::tune

#endif
