//===- CompiledModel.h - compiled models for commands -----------*- C++ -*-===//
//
// Owners of the runtime's C objects, with errors printed; and models compiled
// to a temporary file for one command.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_CLI_COMPILEDMODEL_H
#define PERPEND_CLI_COMPILEDMODEL_H

#include "cli/ArrayFiles.h"
#include "cli/Module.h"

#include "llvm/Support/JSON.h"

namespace perpend::cli {

struct FreeModel {
  void operator()(perpend_model *model) const { perpend_model_free(model); }
};
struct FreeSession {
  void operator()(perpend_session *session) const { perpend_session_free(session); }
};
using ModelOwner = std::unique_ptr<perpend_model, FreeModel>;
using SessionOwner = std::unique_ptr<perpend_session, FreeSession>;

/// A folder for temporary files, deleted by the destructor.
class TemporaryFolder {
public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder();
  std::string pathOf(StringRef name) const;

private:
  llvm::SmallString<128> path;
};

// Errors: null, printed.
ModelOwner loadLibrary(StringRef path);
/// A handle for an entry of a model; the model itself if `entry` is empty.
ModelOwner selectEntry(ModelOwner model, StringRef entry);
/// Loads a library that this machine may not support, for queries only; `refusal`: why it does not run here. Null,
/// printed like by loadLibrary: it is invalid for another reason.
ModelOwner describeLibrary(StringRef path, std::string &refusal);
/// A library of another architecture, for queries, and for a runner to run (Runner.h); null: it is of this machine's.
struct ForeignLibrary;
const ForeignLibrary *foreignLibraryOf(const perpend_model *model);
/// Whether an emulator runs it, whose times say nothing.
bool isEmulated(const perpend_model *model);
/// loadLibrary, or describeLibrary where the architecture is another. `variant`: of a library for several machines.
ModelOwner loadOrDescribe(StringRef path, StringRef variant = "");
/// For a model for several machines: its variants that this machine can run, by name (the names of others are printed);
/// otherwise the model itself, without a name. `path`: the library's. `entry`: of the variants. Ignores PERPEND_TARGET.
std::vector<std::pair<std::string, ModelOwner>> comparedVariantsOf(ModelOwner model, StringRef path, StringRef entry);
SessionOwner createSession(perpend_model *model, int64_t threads);
/// Loads a library, or compiles anything else into `folder` first; the entry of the source. What is of another
/// architecture is described only.
ModelOwner loadOrCompile(const ModelSource &source, const CompileOptions &options, const TemporaryFolder &folder,
                         CompileReport *report = nullptr);
/// The path of what loadOrCompile loaded.
std::string artifactPathOf(const ModelSource &source, const CompileOptions &options, const TemporaryFolder &folder);
/// The descriptor as JSON, which has been validated before.
llvm::json::Object descriptionOf(const perpend_model *model);
/// An entry of the descriptor; empty if a damaged file has something other than an object there.
const llvm::json::Object &objectOf(const llvm::json::Value &value);
/// Compiles a module, consumes it, and loads the result, as loadOrCompile does.
ModelOwner loadCompiled(mlir::ModuleOp module, const CompileOptions &options, const TemporaryFolder &folder);

/// Prepared runs for timing: nothing is copied.
class Execution {
public:
  /// `advice`: appended to the hint of a failed run.
  Execution(perpend_model *model, perpend_session *session, ArrayRef<Array> arrays, StringRef advice = "");
  /// Before each run, states that grow lose what earlier runs have added, so that all runs take as long.
  void forgetGrowth() { forgets = true; }
  /// False: printed.
  bool run();
  /// Valid until the next run.
  ArrayRef<perpend_tensor> results() const { return outputs; }

private:
  perpend_session *session;
  std::vector<perpend_tensor> inputs, outputs;
  std::string advice;
  bool forgets = false;
};

/// Runs once. Errors: nullopt, printed.
std::optional<std::vector<Array>> runOnce(perpend_model *model, perpend_session *session, ArrayRef<Array> inputs,
                                          StringRef advice = "");

/// For example "image: f32 [n, 1, 8, 8]".
std::string describeTensor(const perpend_tensor_info &info);
} // namespace perpend::cli

#endif
