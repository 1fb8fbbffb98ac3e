//===- Space.h - the space of a kernel's schedules --------------*- C++ -*-===//
//
// A sketch is a trace with decisions: operands that have alternatives. A space is
// a union of sketches; a point first chooses one of them. The consequences of a
// choice are checked by the primitives when the trace is replayed. So a point may
// be refused, but it never computes anything else.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_SPACE_H
#define PERPEND_TUNE_SPACE_H

#include "target/Machine.h"
#include "tile/schedule/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::tune {

/// A place in a trace, with alternative operands. If it is a whole instruction, the empty text omits it.
struct Decision {
  static constexpr size_t wholeInstruction = ~size_t{0}, whichSketch = wholeInstruction - 1;
  /// `whichSketch`: the choices are the sketches.
  size_t instruction = 0, operand = 0;
  /// If the operand is a list: the index of the element.
  size_t element = 0;
  std::vector<std::string> choices;
  /// The choice of the trace itself.
  unsigned given = 0;
  size_t sketch = 0; ///< the sketch that it belongs to
};

/// The index of the choice for each decision.
using Point = std::vector<unsigned>;
using Trace = std::vector<tile::TraceInstruction>;

/// Limit for `sample_compute_location`.
inline constexpr int64_t mostLocations = 16;

class Space {
public:
  /// Makes a space of a trace: its factors and samples are free, its annotations optional. `kernel` consists of
  /// unscheduled blocks and must accept the trace. For each decision, only choices are kept that the kernel accepts one
  /// at a time; lists of more than 64 choices are not tried.
  static Space ofTrace(mlir::func::FuncOp kernel, const target::Machine &target, Trace trace);

  /// A space with this trace only.
  static Space ofOne(Trace trace);
  /// All sketches of the spaces; the given point is that of the first.
  static Space unionOf(std::vector<Space> spaces);

  /// If there are several sketches, the first decision selects one.
  llvm::ArrayRef<Decision> decisions() const { return list; }
  size_t sketches() const { return traces.size(); }
  size_t sketchOf(const Point &point) const { return traces.size() > 1 ? point.front() : 0; }
  /// Whether the decision affects the point's trace.
  bool isUsed(const Point &point, size_t decision) const;
  /// An equivalent point in which unused decisions have their given choice.
  Point reduced(Point point) const;
  /// The number of points, each reduced.
  double size() const;
  /// The point of the first trace itself.
  Point given() const;
  Trace traceAt(const Point &point) const;
  /// nullopt: the trace is not in the space.
  std::optional<Point> pointOf(const Trace &other) const;

private:
  std::optional<Point> pointOf(const Trace &other, size_t sketch) const;

  std::vector<Trace> traces = std::vector<Trace>(1);
  std::vector<Decision> list;
};

/// nullopt: the text is not a trace.
std::optional<Trace> readTrace(llvm::StringRef text);
/// One line per instruction, as in a kernel's attribute.
std::vector<std::string> linesOf(const Trace &trace);
} // namespace perpend::tune

#endif
