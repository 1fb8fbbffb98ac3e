//===- Accelerator.h - a machine that runs programs of its own --*- C++ -*-===//
//
// An artifact for a processor is a library, whose code the runtime calls. One for an accelerator is a program: it holds
// a whole model, and a simulator or a driver runs it. Each accelerator is one description: a folder beside this file,
// and a line in Accelerators.def; or it is part of a
// tool of its own, which adds it.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_H
#define PERPEND_TARGET_ACCELERATOR_H

#include "target/TargetInfo.h"

namespace perpend::target {

/// A unit (Machine::units) that multiplies floats of 16 bits, and adds the products in f32: operands of products keep
/// the bits that the model gives them.
inline constexpr llvm::StringLiteral productUnit = "products";

/// A unit that takes windows partly outside of an image: pools need no copy of it with a border.
inline constexpr llvm::StringLiteral windowUnit = "windows";

/// A unit that computes nests of loops around one value; all else is left to a slow core.
inline constexpr llvm::StringLiteral nestUnit = "nests";

/// A decision: results lie where operands did that are read no later.
inline constexpr llvm::StringLiteral sharingDecision = "sharing";

/// What a machine does at most in one cycle, all its units together. 0: not known.
struct Rates {
  double products = 0; ///< of matrices, each with its sum
  double farBytes = 0; ///< to and from the memory that is not near
};

struct Accelerator {
  llvm::StringRef name;                               ///< of its targets, before the colon: "quoin:t1"
  llvm::ArrayRef<llvm::StringLiteral> configurations; ///< behind it
  llvm::StringRef ending;                             ///< of the names of its programs
  /// Everything but the name of the target and of the accelerator.
  TargetInfo (*describe)(llvm::StringRef configuration);
  /// What `quoin:c8,-parts` can leave out (Machine::leftOut), those of Machine.h included.
  llvm::ArrayRef<llvm::StringLiteral> decisions = {};
  Rates (*rates)(llvm::StringRef configuration) = nullptr;
};

/// Those of Accelerators.def, then those that were added.
llvm::ArrayRef<const Accelerator *> accelerators();
/// Before any other function here is called: one that only this process has. See addAccelerator of ProgramMaker.h.
void listAccelerator(const Accelerator &accelerator);
/// Of the accelerator that the machine is.
Rates ratesOf(const Machine &machine);
/// Whose programs artifacts of this code are; null: code of a processor.
const Accelerator *acceleratorOf(const CodeGenerator &code);
/// By the ending of a file's name; null: none.
const Accelerator *acceleratorOfFile(llvm::StringRef path);

/// "quoin:t1", ...
std::vector<std::string> acceleratorTargets();
/// `quoin:c8`, or `quoin:c8,-parts,-residency` without these decisions. nullopt: the text names no accelerator. Errors:
/// unknown configuration, unknown decision, anything else behind it.
std::optional<llvm::Expected<TargetInfo>> resolveAccelerator(llvm::StringRef text);

} // namespace perpend::target

#endif
