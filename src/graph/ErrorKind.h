//===- ErrorKind.h - whose mistake an error is ------------------*- C++ -*-===//
//
// The kind of an error travels with its diagnostic, as an argument with an empty text. A hint makes an error the
// user's, unless a kind precedes it. An error without a kind that a pass emits counts as a bug of the compiler,
// because passes run only on modules that the verifiers accept.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ERRORKIND_H
#define PERPEND_GRAPH_ERRORKIND_H

#include "mlir/IR/Diagnostics.h"

#include <optional>
#include <string>

namespace perpend::graph {

enum class ErrorKind {
  User,        ///< the model, an option or a file is wrong
  Unsupported, ///< it is right, and more than the compiler can do
  Internal     ///< the compiler is wrong
};

/// The first that was given; nullopt: none.
std::optional<ErrorKind> kindOf(const mlir::Diagnostic &diagnostic);

/// `emitError() << ErrorKind::Unsupported << "..."`
mlir::Diagnostic &operator<<(mlir::Diagnostic &diagnostic, ErrorKind kind);

/// What the user can do: `emitError() << "..." << Hint("...")`. Without another kind before it, the mistake is the
/// user's.
struct Hint {
  explicit Hint(const llvm::Twine &text) : text(text.str()) {}
  std::string text;
};
mlir::Diagnostic &operator<<(mlir::Diagnostic &diagnostic, const Hint &hint);

/// An error of the kind Internal; its text begins with "perpend bug: ".
mlir::InFlightDiagnostic emitInternalError(mlir::Location location);
} // namespace perpend::graph

#endif
