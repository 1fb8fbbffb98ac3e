//===- Session.h - runs of a model, wherever it runs ------------*- C++ -*-===//

#ifndef PERPEND_CLI_SESSION_H
#define PERPEND_CLI_SESSION_H

#include "cli/CompiledModel.h"

namespace perpend::cli {

/// A session of a model in this process, or in a runner where it is of another architecture.
class Session {
public:
  virtual ~Session() = default;
  /// Null, printed.
  static std::unique_ptr<Session> create(perpend_model *model, int64_t threads);

  /// The outputs. Errors: nullopt, printed with `advice` in the hint.
  virtual std::optional<std::vector<Array>> run(ArrayRef<Array> inputs, StringRef advice = "") = 0;
  /// The states after the last run. Errors: nullopt, printed.
  virtual std::optional<std::vector<Array>> states() = 0;
  /// The shapes of the outputs for inputs of these shapes, with extents of 1 where only a run tells. nullopt: the model
  /// refuses the inputs.
  virtual std::optional<std::vector<llvm::SmallVector<int64_t>>> outputShapes(ArrayRef<perpend_tensor> inputs) = 0;
  /// Of a runner on this machine's own processor, the times of runs in ms, for so many ms. Errors: nullopt, printed.
  virtual std::optional<std::vector<double>> times(ArrayRef<Array> inputs, double milliseconds, StringRef advice);
  /// For timing; null: in a runner.
  virtual perpend_session *local() { return nullptr; }
};

/// Prints a model's refusal of a run, with the advice in its hint.
void failRun(std::string message, StringRef advice);
} // namespace perpend::cli

#endif
