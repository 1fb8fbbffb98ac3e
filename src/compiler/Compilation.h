//===- Compilation.h - one module for one machine ---------------*- C++ -*-===//
//
// compile() has two steps: it runs the phases (Compiler.cpp), and then makes objects and links them
// (WriteArtifact.cpp). A Compilation is the state that both use. An artifact for several machines takes one
// Compilation per machine (SeveralMachines.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_COMPILER_COMPILATION_H
#define PERPEND_COMPILER_COMPILATION_H

#include "Pipeline.h"
#include "compiler/Compiler.h"
#include "compiler/Description.h"
#include "graph/passes/FoldedConstants.h"
#include "support/MappedFile.h"
#include "target/ProgramMaker.h"
#include "target/ScratchDirectory.h"
#include "target/SharedWeights.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/KernelTraces.h"
#include "tune/Database.h"

#include "llvm/IR/Module.h"

#include <chrono>

namespace perpend {

/// What an artifact is linked from.
struct ArtifactParts {
  std::vector<std::string> objects;      ///< paths
  std::vector<std::string> users;        ///< paths of object files and archives that the user supplies
  std::string packedWeights;             ///< path of the file that goes beside the artifact; empty: none
  std::vector<std::string> lazyArchives; ///< names of archives of the runtime; linked only if something calls them

  template <typename Names> void add(const Names &names) { addTo(lazyArchives, names); }
  template <typename Names> static void addTo(std::vector<std::string> &list, const Names &names) {
    for (llvm::StringRef name : names)
      if (!llvm::is_contained(list, name))
        list.push_back(name.str());
  }
};

/// Weights of more bytes lie beside an artifact unless --weights says otherwise: to read up to 64 MiB takes some 10 ms,
/// and loads verify as many.
inline constexpr uint64_t mostEmbeddedBytes = uint64_t{64} << 20;

/// Of all constants of a module that are resources.
uint64_t constantBytesOf(mlir::ModuleOp module);

/// A file beside an artifact: "model.weights" for "model.so", "chat-1.1B.weights" for the program "chat-1.1B".
std::string pathBeside(llvm::StringRef output, llvm::StringRef extension);

class Compilation : private PhaseListener {
public:
  Compilation(mlir::ModuleOp module, const CompileOptions &options, const target::TargetInfo &target,
              CompileReport *report);

  /// Runs all phases.
  mlir::LogicalResult lower();
  /// The LLVM IR of the lowered module. It contains the module table if the artifact is for one machine.
  std::unique_ptr<llvm::Module> translate(llvm::LLVMContext &context);
  mlir::LogicalResult write(ArtifactKind kind, llvm::StringRef output);
  bool isStopped() const { return !options.stopAfter.empty(); }
  const target::TargetInfo &machine() const { return target; }
  unsigned llvmLevel() const { return unsigned(options.optLevel); }
  /// Of a shared library for this process alone, whose user keeps what the report has of them.
  void keepWeightsIn(target::WeightMemory *process) { memory = process; }
  /// The module's constants in memory are this compilation's alone.
  void takeOverConstants(graph::FoldedConstants &folded);
  mlir::LogicalResult fail(llvm::Error error);

private:
  friend class MachineCompilations;
  mlir::LogicalResult prepareModule();
  mlir::LogicalResult prepareMachine();
  mlir::LogicalResult prepareGiven();
  mlir::LogicalResult runTo(llvm::StringRef last);

  mlir::LogicalResult checkOptions();
  mlir::LogicalResult describe();
  mlir::LogicalResult afterPhase(const Phase &phase, double seconds);
  mlir::LogicalResult afterKernelsAreMade() override;
  mlir::LogicalResult afterKernelsAreScheduled() override;
  mlir::LogicalResult afterMemoryIsPlanned() override;
  PhaseContext context() const {
    return {target, options.optLevel, options.checked, options.unpacked, options.precision, options.plan};
  }
  mlir::LogicalResult dump(const Phase &phase);
  void lowerMain();
  mlir::LogicalResult checkProgramOptions();
  mlir::LogicalResult replaceModule(llvm::StringRef file);
  mlir::LogicalResult checkGiven(const Phase &last);
  mlir::LogicalResult readSchedules();
  mlir::LogicalResult readIntrinsics();
  mlir::LogicalResult openDatabase();
  mlir::LogicalResult attachRecords();
  mlir::FailureOr<RecordUse> attachRecordsOf(mlir::func::FuncOp kernel, llvm::StringRef structure);
  void noteRefusedRecords();
  void attachSchedules() { tile::attachTraces(module, schedules, options.schedules); }
  mlir::LogicalResult inferRequirements();

  /// Fails if a file that holds weights has changed since it was opened.
  mlir::LogicalResult checkFiles();
  /// Whether constants lie in files.
  bool keepsWeightsOutside() const;
  mlir::LogicalResult writeWeights(const target::ScratchDirectory &scratch, llvm::StringRef output,
                                   ArtifactParts &parts);
  mlir::LogicalResult describeFiles(llvm::StringRef output);
  mlir::LogicalResult writeCode(const target::ScratchDirectory &scratch, ArtifactParts &parts);
  /// The scalar code of an accelerator's program.
  mlir::LogicalResult writeScalarCode(const target::ScratchDirectory &scratch, ArtifactParts &parts);
  mlir::LogicalResult writeProgram(llvm::StringRef output);
  void noteArtifact(llvm::StringRef output, std::chrono::steady_clock::time_point start);
  mlir::LogicalResult writeHeader(const target::ScratchDirectory &scratch, llvm::StringRef output,
                                  llvm::StringRef text);
  mlir::LogicalResult writeLoader(const target::ScratchDirectory &scratch, llvm::StringRef output);
  mlir::LogicalResult link(ArtifactKind kind, llvm::StringRef output, const ArtifactParts &parts);
  /// Links the artifact, and writes its C header and the file of its weights.
  mlir::LogicalResult finish(const target::ScratchDirectory &scratch, const ArtifactParts &parts, ArtifactKind kind,
                             llvm::StringRef output);
  /// For an architecture without a runtime (BareModel.cpp): what a model must be; its functions; object and header.
  bool isBare() const;
  mlir::LogicalResult checkBare();
  void addBareFunctions(llvm::Module &ir);
  /// Notes the stack that the function takes (nullopt: unknown); fails if the target has less memory than the model
  /// needs.
  mlir::LogicalResult checkBareMemory(std::optional<uint64_t> stackBytes);
  mlir::LogicalResult writeBare(const target::ScratchDirectory &scratch, const ArtifactParts &parts, ArtifactKind kind,
                                llvm::StringRef output);
  /// Gives constants, first values of states included, other offsets than memory planning did.
  void moveConstants(llvm::function_ref<int64_t(int64_t)> offsetOf);
  void shareWeights();
  mlir::LogicalResult keepWeights();

  mlir::ModuleOp module;
  const CompileOptions &options;
  const target::TargetInfo target;
  CompileReport *report;
  llvm::StringRef first; ///< the first phase to run; empty: all phases
  std::string dumpFolder;
  std::vector<tile::ScheduleText> schedules;
  std::optional<tune::Database> database;
  std::optional<tile::IntrinsicScope> intrinsics;
  ModelDescription description;
  target::SharedWeights *shared = nullptr;     ///< where there are several machines
  std::string weightsFile;                     ///< packed, of an object that contains them
  size_t number = 0;                           ///< of this one among them
  target::WeightMemory *memory = nullptr;      ///< where the weights stay in the process
  std::unique_ptr<target::ProgramMaker> maker; ///< of an accelerator's program; null: the artifact is code
  /// Weights are read where the model's file has them.
  support::FileWatch watch;
  /// The constants of the caller's module. Other modules cloned from it may still use them.
  llvm::DenseSet<mlir::AsmResourceBlob *> original;
};
} // namespace perpend

#endif
