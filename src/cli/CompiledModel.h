//===- CompiledModel.h - compiled models in the tool -------------*- C++ -*-===//
//
// The C API of the runtime with owners and printed errors, and models that are
// compiled into a temporary file for one command.
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

/// A folder for temporary files, deleted with the object.
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
/// A library that this machine may not run, to be asked and not to be run; `refusal`: why it does not run here.
/// Null: it is refused for another reason, printed, as by loadLibrary.
ModelOwner describeLibrary(StringRef path, std::string &refusal);
/// A model for several machines as it is on each of those that this one runs, by their names (others are printed); else
/// the model itself, without a name. `path`: of the library. Also where PERPEND_TARGET says which.
std::vector<std::pair<std::string, ModelOwner>> comparedVariantsOf(ModelOwner model, StringRef path);
SessionOwner createSession(perpend_model *model, int64_t threads);
/// A library is loaded; anything else is compiled into `folder` first.
ModelOwner loadOrCompile(const ModelSource &source, const CompileOptions &options, const TemporaryFolder &folder,
                         CompileReport *report = nullptr);
/// The library that loadOrCompile loaded.
std::string libraryPathOf(const ModelSource &source, const TemporaryFolder &folder);
/// The descriptor as JSON; it has been read before.
llvm::json::Object descriptionOf(const perpend_model *model);
/// An entry of it: empty where a damaged file has something else than an object.
const llvm::json::Object &objectOf(const llvm::json::Value &value);
/// Compiles a module, which is consumed.
ModelOwner loadCompiled(mlir::ModuleOp module, const CompileOptions &options, const TemporaryFolder &folder);

/// Runs that can be timed: nothing is copied.
class Execution {
public:
  /// `advice`: for the hint of a run that fails.
  Execution(perpend_model *model, perpend_session *session, ArrayRef<Array> arrays, StringRef advice = "");
  /// False: printed.
  bool run();
  /// Valid until the next run.
  ArrayRef<perpend_tensor> results() const { return outputs; }

private:
  perpend_session *session;
  std::vector<perpend_tensor> inputs, outputs;
  std::string advice;
};

/// One run. Errors: nullopt, printed.
std::optional<std::vector<Array>> runOnce(perpend_model *model, perpend_session *session, ArrayRef<Array> inputs,
                                          StringRef advice = "");

/// "image: f32 [n, 1, 8, 8]"
std::string describeTensor(const perpend_tensor_info &info);
} // namespace perpend::cli

#endif
