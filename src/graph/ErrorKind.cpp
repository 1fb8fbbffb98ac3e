//===- ErrorKind.cpp - whose mistake an error is --------------------------===//

#include "graph/ErrorKind.h"

using namespace mlir;

namespace perpend::graph {

/// Empty texts, of which a diagnostic keeps the address.
static constexpr char marks[3][1] = {"", "", ""};

Diagnostic &operator<<(Diagnostic &diagnostic, ErrorKind kind) { return diagnostic << &marks[size_t(kind)][0]; }

Diagnostic &operator<<(Diagnostic &diagnostic, const Hint &hint) {
  return diagnostic << ErrorKind::User << "\nhint: " << hint.text;
}

std::optional<ErrorKind> kindOf(const Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getArguments())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::String)
      for (ErrorKind kind : {ErrorKind::User, ErrorKind::Unsupported, ErrorKind::Internal})
        if (argument.getAsString().data() == marks[size_t(kind)])
          return kind;
  return std::nullopt;
}

InFlightDiagnostic emitInternalError(Location location) {
  return emitError(location) << ErrorKind::Internal << "perpend bug: ";
}
} // namespace perpend::graph
