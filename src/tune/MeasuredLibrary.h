//===- MeasuredLibrary.h - a library under measurement ----------*- C++ -*-===//

#ifndef PERPEND_TUNE_MEASUREDLIBRARY_H
#define PERPEND_TUNE_MEASUREDLIBRARY_H

#include "perpend.h"

#include <sys/types.h>
#include <vector>

namespace perpend::tune {

/// Isolates this process, and makes it exit with the process `parent`. False: the parent has exited already.
bool isolateFrom(pid_t parent);

/// A compiled model with a session. Errors: false, with perpend_error_message().
class Library {
public:
  Library() = default;
  Library(const Library &) = delete;
  ~Library() {
    perpend_session_free(session);
    perpend_model_free(model);
  }
  bool load(const char *path, int threads) {
    perpend_session_options options = {threads};
    return perpend_model_load(path, &model) == PERPEND_OK &&
           perpend_session_create(model, &options, &session) == PERPEND_OK;
  }
  /// False if the shape depends on data.
  bool shapeOf(const std::vector<perpend_tensor> &inputs, int32_t output, std::vector<int64_t> &shape) const {
    const perpend_tensor_info *info = perpend_model_output(model, output);
    shape.assign(static_cast<size_t>(info->rank) + 1, 0); // never null
    return perpend_session_output_shape(session, inputs.data(), static_cast<int32_t>(inputs.size()), output,
                                        shape.data()) == PERPEND_OK;
  }
  int32_t outputCount() const { return perpend_model_output_count(model); }
  perpend_type typeOf(int32_t output) const { return perpend_model_output(model, output)->type; }
  int32_t kernelCount() const { return perpend_model_kernel_count(model); }
  const char *kernelName(int32_t kernel) const { return perpend_model_kernel_name(model, kernel); }
  /// Starts to record the time of each kernel.
  bool startProfile() { return perpend_session_profile(session, 1) == PERPEND_OK; }
  /// The time since startProfile(), summed over all calls; negative: unknown.
  double secondsOf(int32_t kernel) const {
    int64_t nanoseconds = 0, calls = 0;
    bool isKnown = perpend_session_kernel_profile(session, kernel, &nanoseconds, &calls) == PERPEND_OK;
    return isKnown ? static_cast<double>(nanoseconds) * 1e-9 : -1;
  }
  bool run(const std::vector<perpend_tensor> &inputs, std::vector<perpend_tensor> &outputs) {
    return perpend_session_run(session, inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                               static_cast<int32_t>(outputs.size())) == PERPEND_OK;
  }

private:
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
};
} // namespace perpend::tune

#endif
