//===- LinkScalarCode.h - code for the scalar core ------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_ACCELERATOR_LINKSCALARCODE_H
#define PERPEND_TARGET_ACCELERATOR_LINKSCALARCODE_H

#include "target/accelerator/scalar/ScalarCode.h"

namespace perpend::accelerator {

/// Links objects with the archive of what the core has no instructions for. `entries`: functions that programs call.
/// Errors: undefined symbols, writable data.
llvm::Expected<ScalarCode> linkScalarCode(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> entries,
                                          llvm::StringRef folder);

} // namespace perpend::accelerator

#endif
