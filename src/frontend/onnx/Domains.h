//===- Domains.h - which operators are known by their domain ----*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_DOMAINS_H
#define PERPEND_FRONTEND_ONNX_DOMAINS_H

#include "llvm/ADT/StringRef.h"

namespace perpend::onnx {

/// Whether the table of operators has any of this domain.
bool hasOperators(llvm::StringRef domain);
} // namespace perpend::onnx

#endif
