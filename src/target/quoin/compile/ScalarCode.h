//===- ScalarCode.h - code for the scalar core ------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_SCALARCODE_H
#define PERPEND_TARGET_QUOIN_COMPILE_SCALARCODE_H

#include "target/quoin/Program.h"

namespace perpend::quoin {

/// Links objects with the archive of what the core has no instructions for. `entries`: functions that programs call.
/// Errors: undefined symbols, writable data.
llvm::Expected<ScalarCode> linkScalarCode(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> entries,
                                          llvm::StringRef folder);

} // namespace perpend::quoin

#endif
