//===- Module.h - loads models as modules, and reports errors ---*- C++ -*-===//
//
// Loads models (compiler/ModelFile.h), compiles them, and prints errors as one message.
// An internal error ("perpend bug:", or a crash) leaves a reproducer.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_CLI_MODULE_H
#define PERPEND_CLI_MODULE_H

#include "cli/Options.h"
#include "compiler/ModelFile.h"
#include "graph/ErrorKind.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace perpend::cli {

/// As perpend::modelKindOf. Errors: printed, nullopt.
std::optional<ModelKind> modelKindOf(StringRef path, bool mayBeCompiled = true);

/// A model file with the options that affect loading.
struct ModelSource {
  std::string path;
  std::vector<std::string> dimensions;
  std::vector<std::string> operators; ///< descriptions of the user's operators
  std::vector<std::string> states;    ///< inputs and outputs that become states (graph/MakeStates.h)
  checkpoint::CacheOptions cache;     ///< of a checkpoint
  ModelKind kind = ModelKind::Onnx;
  std::string entry; ///< the one to look at; empty: the first
  /// Of a compilation of several models as entries of one artifact: name and file of each, in place of `path`.
  std::vector<std::pair<std::string, std::string>> entries;
  /// False for modules that were dumped after the graph level.
  bool isGraphLevel = true;
};

/// A context with all dialects that prints errors as `error: ...` and `hint: ...`; only the first, because others
/// follow from it. Warnings are printed as `warning: ...`.
class Workspace {
public:
  explicit Workspace(bool isSilent = false);

  mlir::MLIRContext context;

  /// Errors: null, printed.
  mlir::OwningOpRef<mlir::ModuleOp> load(const ModelSource &source);
  /// The same with the entry of the source alone, as `main`.
  mlir::OwningOpRef<mlir::ModuleOp> loadEntry(const ModelSource &source);
  bool hasFailed() const { return !firstError.empty(); }
  /// The first error says that the compiler is wrong, not the model.
  bool hasFoundBug() const { return kind == graph::ErrorKind::Internal; }

private:
  mlir::LogicalResult report(mlir::Diagnostic &diagnostic);
  mlir::OwningOpRef<mlir::ModuleOp> loadEntries(const ModelSource &source);

  bool isSilent;
  std::string firstError;
  std::optional<graph::ErrorKind> kind; ///< of the first error
  mlir::ScopedDiagnosticHandler handler;
};

/// "node 'conv1'", or a position in a file; empty if unknown.
std::string describeLocation(mlir::Location location);

/// Loads and compiles the model. False: printed, with a reproducer if it is a bug of the compiler.
bool compileModel(const ModelSource &source, const CompileOptions &options, ArtifactKind kind, StringRef output,
                  CompileReport *report = nullptr);

/// Prints sizes, files and times of a compilation.
void printReport(const CompileReport &report, const CompileOptions &options, StringRef output, double seconds,
                 bool wantsReasons);

/// Compiles a module of a workspace; a crash counts as a failure. ownsConstants: as compile() has it. False: printed.
bool compileGuarded(mlir::ModuleOp module, const CompileOptions &options, ArtifactKind kind, StringRef output,
                    CompileReport *report = nullptr, bool ownsConstants = false);

/// The folder of a file, for memory (support/ZeroedMemory.h).
std::string folderOf(StringRef path);

/// After an internal error: finds the phase, writes perpend-repro.mlir and prints how to replay it.
void writeReproducer(const ModelSource &source, const CompileOptions &options);

/// Omits large weights.
void printElided(mlir::Operation *op, llvm::raw_ostream &out);
} // namespace perpend::cli

#endif
