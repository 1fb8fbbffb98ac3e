//===- Program.h - a program that no process loads, to run ------*- C++ -*-===//
#ifndef PERPEND_TARGET_PROGRAM_H
#define PERPEND_TARGET_PROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace perpend::target {

struct ProgramOutput {
  unsigned elementBytes = 0;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

struct ProgramTimes {
  std::string text, json;
};

/// A program of an accelerator, or of a processor without an operating system, with what runs it: a simulator.
class Program {
public:
  virtual ~Program() = default;

  /// The tables of the model (runtime/include/perpend_tables.h).
  virtual llvm::StringRef tables() const = 0;
  /// What runs it, in one line: "simulated, …".
  virtual std::string runner() const = 0;
  /// Errors: nothing here runs it.
  virtual llvm::Error checkRunner() const { return llvm::Error::success(); }
  /// The values have the types and shapes of the tables; `outputs` come with the shapes that are numbers there. Errors:
  /// what the machine or the model has refused, with the node.
  virtual llvm::Error run(llvm::ArrayRef<llvm::ArrayRef<char>> inputs,
                          llvm::MutableArrayRef<ProgramOutput> outputs) = 0;
  /// One run in the machine's own time: where it went, as text and as JSON. Errors: as of run.
  virtual llvm::Expected<ProgramTimes> measure(llvm::ArrayRef<llvm::ArrayRef<char>> inputs) = 0;
};

/// Whether a file is one: an accelerator's ending is that of its name, or it is an object without an operating system.
bool isProgram(llvm::StringRef path);
/// Errors: it cannot be read, or is no program.
llvm::Expected<std::unique_ptr<Program>> loadProgram(llvm::StringRef path);

} // namespace perpend::target

#endif
