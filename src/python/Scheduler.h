//===- Scheduler.h - schedules a kernel for Python --------------*- C++ -*-===//
//
// One kernel of a model, as loops around blocks, with its schedule
// (tile/schedule), behind plain C++ types. Primitives are called by name, with
// operands as in a trace; Primitives.def describes them as data.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_SCHEDULER_H
#define PERPEND_PYTHON_SCHEDULER_H

#include "python/Program.h"

#include <optional>

namespace perpend::python {

struct OperandDescription {
  std::string name, kind;
  bool isOptional = false, isList = false;
};

struct PrimitiveDescription {
  std::string name, results, sentence;
  std::vector<OperandDescription> operands;
};

std::vector<PrimitiveDescription> describePrimitives();
/// Quotes a string as an operand.
std::string quoted(const std::string &text);

/// Functions that can fail fill `error` and return null, nothing or false. The program must outlive the scheduler.
class Scheduler {
public:
  ~Scheduler();

  /// The kernel of this name, or the only one if the name is empty. isPacked: pack operands, as the compiler does by
  /// default. intrinsics: a file, or empty.
  static std::unique_ptr<Scheduler> open(Program &program, const std::string &kernel, const std::string &target,
                                         bool isPacked, const std::string &intrinsics, std::string &error);

  using Results = std::vector<std::string>;
  /// Applies a primitive; returns the names of its results, such as %i0.
  std::optional<Results> apply(const std::string &primitive, const std::vector<std::string> &operands,
                               std::string &error);
  /// Applies all of a trace, or nothing.
  bool replay(const std::string &trace, std::string &error);

  std::string kernelName() const;
  /// The kernel's current text.
  std::string text() const;
  std::string trace() const;
  /// The trace with the kernel's name, structure and target, in the format of --schedules.
  std::string schedule() const;
  /// Compiles a model that consists of this kernel only.
  bool compile(const OptionValues &options, const std::string &output, Report &report, std::string &error) const;

  Program &of() const { return program; }

private:
  struct State;
  Scheduler(Program &program, std::unique_ptr<State> state);

  Program &program;
  std::unique_ptr<State> state;
};
} // namespace perpend::python

#endif
