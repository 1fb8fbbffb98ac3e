//===- WasmVariants.h - one module for several engines ----------*- C++ -*-===//
//
// An engine refuses a whole module for one instruction that it does not know. So a module for every engine carries, in
// custom sections, how to make others of it (docs/decisions/0075-several-machines-in-a-module.md).
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_WASMVARIANTS_H
#define PERPEND_TARGET_WASMVARIANTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace perpend::target {

/// A custom section of this name begins with a text, the extensions of a variant with spaces between. Then pieces
/// follow up to its end: a count, so many bytes; an offset in the module in front of its first section of this name,
/// and a count of bytes there. All numbers are LEB128; the pieces joined are the variant.
inline constexpr llvm::StringLiteral variantSection = "perpend.variant";
/// A module that needs extensions names them in this section.
inline constexpr llvm::StringLiteral needsSection = "perpend.needs";

/// Behind these, the last section: its name tells loaders that there are some.
inline constexpr llvm::StringLiteral lastSection = "perpend.more";

struct WasmVariant {
  std::string path; ///< of a module
  std::vector<std::string> extensions;
};

/// How `wanted` is made of `base`: pieces as in variantSection.
std::string piecesOf(llvm::StringRef base, llvm::StringRef wanted);

/// Writes the base, with the variants in the order of preference.
llvm::Error joinWasmModules(llvm::StringRef base, llvm::ArrayRef<WasmVariant> variants, llvm::StringRef output);

/// What a module ends with that needs extensions.
std::string sectionsOfNeeds(llvm::ArrayRef<std::string> extensions);

} // namespace perpend::target

#endif
