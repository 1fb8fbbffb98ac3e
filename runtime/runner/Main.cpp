// perpend-runner MODEL.so [ENTRY [THREADS]]: runs a model for a program on another machine, which sends requests to the
// standard input and reads replies from the standard output (Wire.h). The runner ends with its input.
#include "runner/Wire.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/// Emulators execute more than they can be asked for. What they are known to execute is in the environment, separated
/// by colons (Isa.cpp).
extern "C" __attribute__((visibility("default"))) bool perpend_executes(const char *instructionSet) {
  const size_t length = strlen(instructionSet);
  for (const char *at = getenv("PERPEND_EXECUTES"); at; at = strchr(at, ':')) {
    at += *at == ':';
    if (!strncmp(at, instructionSet, length) && (at[length] == ':' || !at[length]))
      return true;
  }
  return false;
}

namespace perpend::runtime {
namespace {

constexpr int input = STDIN_FILENO, output = STDOUT_FILENO;

struct Runner {
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
};

bool replyError(perpend_status status) {
  const char *message = perpend_error_message();
  return sendWord(output, status) && sendText(output, message, strlen(message));
}

bool reply(const perpend_tensor *tensors, int32_t count) {
  bool isGood = sendWord(output, PERPEND_OK) && sendWord(output, static_cast<uint64_t>(count));
  for (int32_t i = 0; isGood && i < count; ++i)
    isGood = sendTensor(output, tensors[i]);
  return isGood;
}

perpend_status open(Runner &runner, int count, char **arguments) {
  perpend_status status = perpend_model_load(arguments[1], &runner.model);
  if (status == PERPEND_OK && count > 2 && *arguments[2]) {
    perpend_model *entry = nullptr;
    status = perpend_model_entry(runner.model, arguments[2], &entry);
    perpend_model_free(runner.model);
    runner.model = entry;
  }
  perpend_session_options options{count > 3 ? atoi(arguments[3]) : 0};
  return status == PERPEND_OK ? perpend_session_create(runner.model, &options, &runner.session) : status;
}

// tensors: room for outputs and states.
perpend_status run(Runner &runner, const perpend_tensor *inputs, int32_t inputCount, perpend_tensor *tensors) {
  int32_t outputs = perpend_model_output_count(runner.model);
  perpend_status status = perpend_session_run(runner.session, inputs, inputCount, tensors, outputs);
  for (int32_t i = 0; status == PERPEND_OK && i < perpend_model_state_count(runner.model); ++i)
    status = perpend_session_state(runner.session, i, &tensors[outputs + i]);
  return status;
}

perpend_status askShapes(Runner &runner, const perpend_tensor *inputs, int32_t inputCount, perpend_tensor *tensors,
                         int64_t *shapes) {
  for (int32_t i = 0; i < perpend_model_output_count(runner.model); ++i) {
    const perpend_tensor_info &info = *perpend_model_output(runner.model, i);
    int64_t *shape = shapes + i * PERPEND_MAX_RANK;
    for (int32_t dim = 0; dim < info.rank; ++dim)
      shape[dim] = 1;
    perpend_status status = perpend_session_output_shape(runner.session, inputs, inputCount, i, shape);
    if (status != PERPEND_OK && status != PERPEND_SHAPE_UNKNOWN)
      return status;
    tensors[i] = {nullptr, shape, info.rank, info.type};
  }
  return PERPEND_OK;
}

bool answer(Runner &runner, uint64_t request, const perpend_tensor *inputs, int32_t inputCount) {
  const int32_t outputs = perpend_model_output_count(runner.model);
  const int32_t all = outputs + (request == RequestRun ? perpend_model_state_count(runner.model) : 0);
  auto *tensors = static_cast<perpend_tensor *>(calloc(static_cast<size_t>(all) + 1, sizeof(perpend_tensor)));
  auto *shapes = static_cast<int64_t *>(calloc((static_cast<size_t>(outputs) + 1) * PERPEND_MAX_RANK, sizeof(int64_t)));
  bool isGood = tensors && shapes;
  if (isGood) {
    perpend_status status = request == RequestRun ? run(runner, inputs, inputCount, tensors)
                                                  : askShapes(runner, inputs, inputCount, tensors, shapes);
    isGood = status == PERPEND_OK ? reply(tensors, all) : replyError(status);
  }
  free(tensors);
  free(shapes);
  return isGood;
}

// False: the program has gone.
bool serve(Runner &runner) {
  uint64_t request = 0, count = 0;
  if (!receiveWord(input, request) || !receiveWord(input, count) || count > INT32_MAX)
    return false;
  auto *inputs = static_cast<perpend_tensor *>(calloc(count + 1, sizeof(perpend_tensor)));
  bool isGood = inputs;
  for (uint64_t i = 0; isGood && i < count; ++i)
    isGood = receiveTensor(input, inputs[i]);
  isGood = isGood && answer(runner, request, inputs, static_cast<int32_t>(count));
  for (uint64_t i = 0; inputs && i < count; ++i)
    freeTensor(inputs[i]);
  free(inputs);
  return isGood;
}

} // namespace
} // namespace perpend::runtime

int main(int count, char **arguments) {
  using namespace perpend::runtime;
  if (count < 2 || count > 4) {
    fprintf(stderr, "usage: %s MODEL.so [ENTRY [THREADS]]\nServes requests from the standard input, for perpend.\n",
            arguments[0]);
    return 2;
  }
  Runner runner;
  perpend_status status = open(runner, count, arguments);
  bool isGood = status == PERPEND_OK ? reply(nullptr, 0) : replyError(status) && false;
  while (isGood)
    isGood = serve(runner);
  perpend_session_free(runner.session);
  perpend_model_free(runner.model);
  return status == PERPEND_OK ? 0 : 1;
}
