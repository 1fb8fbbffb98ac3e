//===- ProgramState.h - the MLIR side of a program --------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_PROGRAMSTATE_H
#define PERPEND_PYTHON_PROGRAMSTATE_H

#include "compiler/Compiler.h"
#include "python/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/StringRef.h"

namespace perpend::python {

struct Program::State {
  /// Without threads: the modules are too small for parallel verification.
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Guards the context, which has no locks. Recursive, because a kernel in Python may use the program that calls it.
  std::recursive_mutex mutex;
  std::string path; ///< path of the model's file, for error messages; may be empty
};

/// Collects the errors of a context as text during its lifetime.
class ErrorText {
public:
  explicit ErrorText(mlir::MLIRContext &context);
  /// Returns the collected text, or `otherwise`.
  std::string take(llvm::StringRef otherwise);
  std::vector<std::string> warnings;

private:
  void add(const std::string &warning); ///< once, although several phases may notice the same
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

inline const char *typeNameOf(bool) { return "bool"; }
inline const char *typeNameOf(int64_t) { return "int"; }
inline const char *typeNameOf(const std::string &) { return "str"; }

/// False, with an error, if the value has another type.
template <typename T>
bool assignOption(T &member, const std::string &name, const OptionValue &value, std::string &error) {
  if (const T *given = std::get_if<T>(&value)) {
    member = *given;
    return true;
  }
  error = "option '" + name + "': expected " + typeNameOf(T()) + ", got " +
          std::visit([](const auto &other) { return typeNameOf(other); }, value);
  return false;
}

/// False after an error.
bool setCompileOptions(CompileOptions &options, const OptionValues &values, std::string &error);

/// Compiles the module, which is consumed, to a file. False after an error, whose text begins with `path` if known.
bool compileModule(mlir::ModuleOp module, const std::string &path, const OptionValues &options,
                   const std::string &output, bool wantsExecutable, Report &report, std::string &error,
                   target::WeightMemory *memory = nullptr);
} // namespace perpend::python

#endif
