//===- Scheduler.h - a kernel while it is scheduled, for Python --*- C++ -*-===//
//
// One kernel of a model, as loops around blocks, with its schedule
// (tile/schedule), behind plain C++ types. A primitive is called by its name,
// with operands as a trace writes them: what the primitives are is data, from
// Primitives.def.
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
/// A string as an operand.
std::string quoted(const std::string &text);

/// Every function that can fail fills `error` and returns null, nothing or false. The program outlives it.
class Scheduler {
public:
  ~Scheduler();

  /// The kernel of this name, or the only one if it is empty. isPacked: as the compiler packs operands by default.
  /// intrinsics: a file of them, or empty.
  static std::unique_ptr<Scheduler> open(Program &program, const std::string &kernel, const std::string &target,
                                         bool isPacked, const std::string &intrinsics, std::string &error);

  using Results = std::vector<std::string>;
  /// The names of the results, such as %i0.
  std::optional<Results> apply(const std::string &primitive, const std::vector<std::string> &operands,
                               std::string &error);
  /// All of a trace, or nothing.
  bool replay(const std::string &trace, std::string &error);

  std::string kernelName() const;
  /// The kernel as it is now.
  std::string text() const;
  std::string trace() const;
  /// The trace with the kernel's name, structure and target, as --schedules reads it.
  std::string schedule() const;
  /// A model of this kernel only.
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
