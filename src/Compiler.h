//===- Compiler.h - from a module to an artifact -----------------*- C++ -*-===//

#ifndef PERPEND_COMPILER_H
#define PERPEND_COMPILER_H

#include "KernelFacts.h"
#include "Precision.h"
#include "target/WeightMemory.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace perpend {

/// The options of Options.def.
struct CompileOptions {
#define OPTION(member, flag, type, defaultValue, valueName, help) type member = defaultValue;
#include "Options.def"
};

enum class ArtifactKind { SharedLibrary, StaticLibrary, Executable };

/// ".so" a shared library, ".a" a static library, anything else an executable only if asked for.
ArtifactKind artifactKindOf(llvm::StringRef path, bool wantsExecutable);

struct PhaseTime {
  std::string phase;
  double seconds;
};

/// What an artifact for several machines has for one of them.
struct MachineReport {
  std::string target;
  std::vector<KernelFacts> kernels;
  uint64_t codeBytes = 0, weightsBytes = 0;
  uint64_t addedWeightsBytes = 0; ///< that those before it in the list have not
  int64_t arenaBytes = -1;
};

/// What a database has said of a kernel that no schedule is given for.
struct RecordUse {
  enum Kind {
    Used,
    UsedOfOther, ///< another compiler, or one with other primitives, has found it
    NoGain,      ///< none of its records is faster than the compiler's own trace, over all extents
    None,
    OfOtherTarget, ///< there are records, for other machines
    Refused        ///< by a primitive, or its memory is too large
  } kind = None;
  std::string kernel;
  std::string reason; ///< what it gains, or why it is not used
};

/// What a compilation reports besides the file.
struct CompileReport {
  std::vector<PhaseTime> times;
  std::string descriptor; ///< JSON, see perpend_module.h
  std::vector<KernelFacts> kernels;
  uint64_t artifactBytes = 0, weightsBytes = 0;
  int64_t arenaBytes = -1; ///< -1: depends on symbols or threads
  PrecisionFacts precision;
  std::vector<RecordUse> recordUses; ///< of kernels, with a database
  /// For one machine: empty. For several: in the order in which they are preferred; `kernels` is empty, descriptor and
  /// precision are those of the first, and arenaBytes is the most.
  std::vector<MachineReport> machines;
  /// Of an artifact without weights of its own: those in the process, which its user keeps.
  std::vector<target::WeightMemory::Piece> weights;
};

/// Compiles a module with a graph-level `main` (as front ends make it) and writes the artifact to `output`, with a C
/// header beside it for libraries. The module is consumed. `report` may be null. With stopAfter, nothing is written:
/// the module is left as it is after that phase. Errors: diagnostics on the module's context; nothing is left
/// half-written. memory: the artifact is for this process alone and has its weights there; of one for several machines
/// it stays as it is.
mlir::LogicalResult compile(mlir::ModuleOp module, const CompileOptions &options, ArtifactKind kind,
                            llvm::StringRef output, CompileReport *report = nullptr,
                            target::WeightMemory *memory = nullptr);

/// The phase that a compilation starts with: that of the option, or `schedule` where a kernel is of blocks; empty: the
/// first.
llvm::StringRef firstPhase(mlir::ModuleOp module, const CompileOptions &options);

/// The optimised LLVM IR and the assembly of a module at graph level, for inspection.
mlir::LogicalResult printLlvm(mlir::ModuleOp module, const CompileOptions &options, llvm::raw_ostream *ir,
                              llvm::raw_ostream *assembly);
} // namespace perpend

#endif
