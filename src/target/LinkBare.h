//===- LinkBare.h - Objects that need no runtime ----------------*- C++ -*-===//
#ifndef PERPEND_TARGET_LINKBARE_H
#define PERPEND_TARGET_LINKBARE_H

#include "target/Link.h"

namespace perpend::target {

struct Board;
class ScratchDirectory;

/// Joins objects to one, which a program for the processor is linked from; where the compiler has no linker, it is one.
llvm::Error linkBareObject(const LinkRequest &request, const TargetInfo &target);

/// The functions that an object takes from the C library or the compiler's, as C names them, sorted. Errors: it cannot
/// be read.
llvm::Expected<std::vector<std::string>> undefinedSymbolsOf(llvm::StringRef object);

/// A program for a board that runs objects by runtime/bare. Errors: functions that are nowhere, too large.
llvm::Error linkBareImage(llvm::ArrayRef<std::string> objects, const TargetInfo &target, const Board &board,
                          const ScratchDirectory &scratch, llvm::StringRef output);

} // namespace perpend::target

#endif
