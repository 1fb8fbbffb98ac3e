//===- Compiler.h - from a module to an artifact ----------------*- C++ -*-===//

#ifndef PERPEND_COMPILER_COMPILER_H
#define PERPEND_COMPILER_COMPILER_H

#include "compiler/KernelFacts.h"
#include "compiler/Precision.h"
#include "target/WeightMemory.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <vector>

namespace perpend {

/// The options of Options.def.
struct CompileOptions {
#define OPTION(member, flag, type, defaultValue, valueName, help) type member = defaultValue;
#include "Options.def"
};

enum class ArtifactKind { SharedLibrary, StaticLibrary, Executable };

/// ".so" is a shared library, ".a" a static library; any other name is an executable, but only if requested.
ArtifactKind artifactKindOf(llvm::StringRef path, bool wantsExecutable);

struct PhaseTime {
  std::string phase;
  double seconds;
};

/// Part of the report on an artifact for several machines: what one machine adds.
struct MachineReport {
  std::string target;
  std::vector<KernelFacts> kernels;
  uint64_t codeBytes = 0, weightsBytes = 0;
  uint64_t addedWeightsBytes = 0; ///< weights that no earlier machine in the list has
  int64_t arenaBytes = -1;
};

/// The outcome of looking up a kernel in the database, for kernels without a given schedule.
struct RecordUse {
  enum Kind {
    Used,
    UsedOfOther, ///< found by another compiler or with other primitives
    NoGain,      ///< over all extents, no record is faster than the compiler's own trace
    None,
    OfOtherTarget, ///< there are records, but for other machines
    Refused        ///< a primitive refused it, or it needs too much memory
  } kind = None;
  std::string kernel;
  std::string reason; ///< the gain, or why the record is not used
};

/// What a compilation reports besides the file it writes.
struct CompileReport {
  /// Is called where a phase begins, if it is set; the last one is "emit". Not for several machines.
  std::function<void(llvm::StringRef phase)> started;
  std::vector<PhaseTime> times;
  std::string descriptor; ///< JSON, see perpend_module.h
  std::vector<KernelFacts> kernels;
  uint64_t artifactBytes = 0, weightsBytes = 0;
  std::vector<std::pair<std::string, uint64_t>> weightsFiles; ///< that the artifact needs: paths, bytes
  int64_t arenaBytes = -1;                                    ///< -1: depends on symbols or threads
  std::optional<uint64_t> stackBytes;                         ///< of a model without an operating system
  PrecisionFacts precision;
  std::vector<RecordUse> recordUses; ///< one per kernel, if a database is used
  /// Empty for one machine. For several: one entry each, in order of preference; then `kernels` is empty, descriptor
  /// and precision are those of the first machine, and arenaBytes is the maximum.
  std::vector<MachineReport> machines;
  std::vector<std::string> units; ///< of an accelerator's program: what its units compute, and what they do not
  /// Of an artifact without weights of its own: those in the process, which its user keeps.
  std::vector<target::WeightMemory::Piece> weights;
};

/// Compiles a module with a graph-level `main` (as front ends make it) and writes the artifact to `output`, with a C
/// header beside it for libraries. The module is consumed. `report` may be null. With stopAfter, nothing is written:
/// the module is left as it is after that phase. Errors: diagnostics on the module's context; nothing is left
/// half-written. memory: the artifact is for this process alone and has its weights there; of one for several machines
/// it stays as it is. ownsConstants: no other module has the constants of this one, so that those in memory are freed
/// as soon as they are folded or written.
mlir::LogicalResult compile(mlir::ModuleOp module, const CompileOptions &options, ArtifactKind kind,
                            llvm::StringRef output, CompileReport *report = nullptr,
                            target::WeightMemory *memory = nullptr, bool ownsConstants = false);

/// The first phase of a compilation: that of the option, or `schedule` if a kernel is already made of blocks; empty
/// means the first of the table.
llvm::StringRef firstPhase(mlir::ModuleOp module, const CompileOptions &options);

/// The optimised LLVM IR and the assembly of a module at graph level, for inspection.
mlir::LogicalResult printLlvm(mlir::ModuleOp module, const CompileOptions &options, llvm::raw_ostream *ir,
                              llvm::raw_ostream *assembly);
} // namespace perpend

#endif
