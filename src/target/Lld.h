//===- Lld.h - The linker as a function -------------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_LLD_H
#define PERPEND_TARGET_LLD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace perpend::target {

enum class Linker { Elf, Wasm };

/// Runs the linker with `arguments`; messages call the result `product`. Thread-safe; one link at a time. Errors:
/// the linker's messages without its prefixes.
llvm::Error runLld(llvm::ArrayRef<std::string> arguments, llvm::StringRef product, Linker linker = Linker::Elf);

} // namespace perpend::target

#endif
