// The main function of `perpend compile --exe`: runs the linked-in model on .npy files.
#include "Clock.h"
#include "Npy.h"
#include "Types.h"
#include "include/perpend_module.h"
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>

extern "C" const perpend_module *perpend_module_main(void);

namespace perpend::runtime {
namespace {

struct Options {
  const char **inputs; // "file" or "name=file"
  int32_t inputCount = 0;
  const char *outputFolder = nullptr;
  int32_t repeat = 1, threads = 0;
  bool help = false, profile = false;
};

struct Program {
  Options options;
  perpend_model *model = nullptr;
  perpend_session *session = nullptr;
  NpyArray *arrays = nullptr;
  perpend_tensor *inputs = nullptr, *outputs = nullptr;
};

/// Prints an error in the wording of `perpend run`.
[[gnu::format(printf, 1, 2)]] bool complain(const char *format, ...) {
  va_list values;
  va_start(values, format);
  fputs("error: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  return false;
}

/// Prints a message of the runtime about `subject` ("" or a path and a colon), with its hint on a line of its own.
bool complainOf(const char *subject, const char *message) {
  const char *hint = strstr(message, "; hint: ");
  if (!hint)
    return complain("%s%s", subject, message);
  return complain("%s%.*s\n%s", subject, static_cast<int>(hint - message), message, hint + 2);
}

bool check(perpend_status status) { return status == PERPEND_OK || complainOf("", perpend_error_message()); }

bool complainOfFile(const char *path, const NpyError &error) {
  char subject[256];
  snprintf(subject, sizeof subject, "%.250s: ", path);
  return complainOf(strstr(error.message, path) ? "" : subject, error.message);
}

bool parseCount(const char *option, const char *text, int32_t least, int32_t &value) {
  char *end = nullptr;
  long number = strtol(text, &end, 10);
  if (*text == '\0' || *end || number < least || number > 1000000000)
    return complain("option '%s': expected an integer of at least %d, got '%s'", option, least, text);
  value = static_cast<int32_t>(number);
  return true;
}

const char *valueNameOf(const char *option) {
  return !strcmp(option, "--input") ? "[NAME=]FILE.npy" : !strcmp(option, "--output-dir") ? "DIR" : "N";
}

bool parseOptions(int count, char **arguments, Options &options) {
  for (int i = 1; i < count; ++i) {
    const char *option = arguments[i];
    if (!strcmp(option, "--help") || !strcmp(option, "--profile")) {
      (option[2] == 'h' ? options.help : options.profile) = true;
      continue;
    }
    const char *value = i + 1 < count ? arguments[++i] : nullptr;
    bool isKnown = !strcmp(option, "--input") || !strcmp(option, "--output-dir") || !strcmp(option, "--repeat") ||
                   !strcmp(option, "--threads");
    if (!isKnown)
      return complain("unknown option '%s'\nhint: --help lists the options", option);
    if (!value)
      return complain("option '%s': expected a value (%s)", option, valueNameOf(option));
    if (!strcmp(option, "--input"))
      options.inputs[options.inputCount++] = value;
    else if (!strcmp(option, "--output-dir"))
      options.outputFolder = value;
    else if (!parseCount(option, value, option[2] == 'r', option[2] == 'r' ? options.repeat : options.threads))
      return false;
  }
  return true;
}

void printTensor(const char *kind, const perpend_tensor_info &info) {
  printf("  %-6s %s: %s [", kind, info.name, perpend_type_name(info.type));
  for (int32_t i = 0; i < info.rank; ++i)
    printf("%s%s", i ? ", " : "", info.dimTexts[i]);
  printf("]\n");
}

void printHelp(const perpend_model *model, const char *program) {
  printf("usage: %s [--input [NAME=]FILE.npy]... [--output-dir DIR] [--repeat N] [--threads N] [--profile]\n"
         "Runs the model '%s'. Inputs without a name are taken in order.\n"
         "  --output-dir DIR  write every output to DIR/NAME.npy\n"
         "  --repeat N        run N times and print the times (default 1)\n"
         "  --threads N       at most N threads (default 0: all usable cores)\n"
         "  --profile         print the time of each kernel\n",
         program, perpend_model_name(model));
  for (int32_t i = 0; i < perpend_model_input_count(model); ++i)
    printTensor("input", *perpend_model_input(model, i));
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i)
    printTensor("output", *perpend_model_output(model, i));
}

bool readInput(Program &program, const char *argument, int32_t &nextUnnamed) {
  const char *equals = strchr(argument, '=');
  int32_t index = equals ? -1 : nextUnnamed++;
  const char *path = equals ? equals + 1 : argument;
  if (equals) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", static_cast<int>(equals - argument), argument);
    if (!check(perpend_model_find_input(program.model, name, &index)))
      return false;
  }
  if (index >= perpend_model_input_count(program.model))
    return complain("the model has %d input%s, got one more: '%s'", perpend_model_input_count(program.model),
                    perpend_model_input_count(program.model) == 1 ? "" : "s", argument);
  if (program.arrays[index].rank >= 0)
    return complain("input '%s' is given twice", perpend_model_input(program.model, index)->name);
  NpyError error;
  uint8_t *data;
  NpyArray &array = program.arrays[index];
  if (!readNpy(path, array, data, error)) {
    array.rank = -1;
    return complainOfFile(path, error);
  }
  if (array.type == PERPEND_STRING) {
    free(data);
    array.rank = -1;
    return complain("%s: it has texts, but this program reads numbers only\nhint: perpend run reads texts", path);
  }
  perpend_type type = npyTypeFor(array.type, perpend_model_input(program.model, index)->type);
  program.inputs[index] = {data, array.shape, array.rank, type};
  return true;
}

bool readInputs(Program &program) {
  int32_t count = perpend_model_input_count(program.model), nextUnnamed = 0;
  for (int32_t i = 0; i < count; ++i)
    program.arrays[i].rank = -1;
  for (int32_t i = 0; i < program.options.inputCount; ++i)
    if (!readInput(program, program.options.inputs[i], nextUnnamed))
      return false;
  for (int32_t i = 0; i < count; ++i)
    if (program.arrays[i].rank < 0)
      return complain("input '%s' is missing\nhint: --input %s=FILE.npy", perpend_model_input(program.model, i)->name,
                      perpend_model_input(program.model, i)->name);
  return true;
}

int compareTimes(const void *a, const void *b) {
  double first = *static_cast<const double *>(a), second = *static_cast<const double *>(b);
  return (first > second) - (first < second);
}

bool runAll(Program &program) {
  int32_t repeat = program.options.repeat;
  auto *times = static_cast<double *>(malloc(static_cast<size_t>(repeat) * sizeof(double)));
  bool isGood = times || complain("no memory for the times of --repeat");
  for (int32_t i = 0; i < repeat && isGood; ++i) {
    int64_t start = nowNs();
    isGood = check(perpend_session_run(program.session, program.inputs, perpend_model_input_count(program.model),
                                       program.outputs, perpend_model_output_count(program.model)));
    times[i] = static_cast<double>(nowNs() - start) * 1e-6;
  }
  if (isGood) {
    qsort(times, static_cast<size_t>(repeat), sizeof(double), compareTimes); // a kilobyte smaller than std::sort
    printf("runs: %d, time: least %.3f ms, median %.3f ms, most %.3f ms\n", repeat, times[0], times[repeat / 2],
           times[repeat - 1]);
  }
  free(times);
  return isGood;
}

// The value of element i for types that can be summarised; NaN for others, such as 16-bit floats.
double element(const perpend_tensor &tensor, int64_t i) {
  switch (tensor.type) {
  case PERPEND_F32:
    return static_cast<const float *>(tensor.data)[i];
  case PERPEND_F64:
    return static_cast<const double *>(tensor.data)[i];
  case PERPEND_I64:
    return static_cast<double>(static_cast<const int64_t *>(tensor.data)[i]);
  case PERPEND_I32:
    return static_cast<const int32_t *>(tensor.data)[i];
  case PERPEND_I8:
    return static_cast<const int8_t *>(tensor.data)[i];
  case PERPEND_U8:
  case PERPEND_BOOL:
    return static_cast<const uint8_t *>(tensor.data)[i];
  default:
    return NAN;
  }
}

void printOutput(const char *name, const perpend_tensor &tensor) {
  int64_t count = 1;
  printf("%s: %s [", name, perpend_type_name(tensor.type));
  for (int32_t i = 0; i < tensor.rank; ++i) {
    printf("%s%lld", i ? ", " : "", static_cast<long long>(tensor.shape[i]));
    count *= tensor.shape[i];
  }
  printf("]");
  double least = INFINITY, most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = element(tensor, i);
    least = std::fmin(least, value);
    most = std::fmax(most, value);
    sum += value;
  }
  if (least <= most)
    printf(" min %g, mean %g, max %g", least, sum / static_cast<double>(count), most);
  printf("\n");
}

bool writeOutput(const char *folder, const char *name, const perpend_tensor &tensor) {
  char path[4096];
  int start = snprintf(path, sizeof path, "%s/", folder);
  if (start < 0 || static_cast<size_t>(start) + strlen(name) + 5 > sizeof path)
    return complain("the path in '%s' is too long", folder);
  snprintf(path + start, sizeof path - static_cast<size_t>(start), "%s.npy", name);
  for (char *at = path + start; *at; ++at)
    *at = *at == '/' ? '_' : *at;
  NpyError error;
  return writeNpy(path, tensor, error) || complain("%s", error.message);
}

bool returnOutputs(const Program &program) {
  const char *folder = program.options.outputFolder;
  if (folder && mkdir(folder, 0777) != 0 && errno != EEXIST)
    return complain("cannot create the folder '%s': %s", folder, strerror(errno));
  for (int32_t i = 0; i < perpend_model_output_count(program.model); ++i) {
    const char *name = perpend_model_output(program.model, i)->name;
    printOutput(name, program.outputs[i]);
    if (folder && !writeOutput(folder, name, program.outputs[i]))
      return false;
  }
  return true;
}

void printProfile(const Program &program) {
  for (int32_t i = 0; i < perpend_model_kernel_count(program.model); ++i) {
    int64_t timeNs = 0, calls = 0;
    perpend_session_kernel_profile(program.session, i, &timeNs, &calls);
    printf("%12.3f ms %8lld calls  %s\n", static_cast<double>(timeNs) * 1e-6, static_cast<long long>(calls),
           perpend_model_kernel_name(program.model, i));
  }
}

bool runProgram(Program &program, int count, char **arguments) {
  if (!parseOptions(count, arguments, program.options) ||
      !check(perpend_model_from_module(perpend_module_main(), &program.model)))
    return false;
  if (program.options.help) {
    printHelp(program.model, arguments[0]);
    return true;
  }
  size_t inputCount = static_cast<size_t>(perpend_model_input_count(program.model));
  size_t outputCount = static_cast<size_t>(perpend_model_output_count(program.model));
  program.arrays = static_cast<NpyArray *>(calloc(inputCount + 1, sizeof(NpyArray)));
  program.inputs = static_cast<perpend_tensor *>(calloc(inputCount + 1, sizeof(perpend_tensor)));
  program.outputs = static_cast<perpend_tensor *>(calloc(outputCount + 1, sizeof(perpend_tensor)));
  perpend_session_options options{program.options.threads};
  if (!program.arrays || !program.inputs || !program.outputs)
    return complain("no memory for the tables of inputs and outputs");
  if (!readInputs(program) || !check(perpend_session_create(program.model, &options, &program.session)))
    return false;
  perpend_session_profile(program.session, program.options.profile);
  if (!runAll(program) || !returnOutputs(program))
    return false;
  if (program.options.profile)
    printProfile(program);
  return true;
}

void freeProgram(Program &program) {
  perpend_session_free(program.session);
  int32_t inputCount = program.inputs ? perpend_model_input_count(program.model) : 0;
  for (int32_t i = 0; i < inputCount; ++i)
    free(program.inputs[i].data);
  perpend_model_free(program.model);
  free(program.arrays);
  free(program.inputs);
  free(program.outputs);
  free(program.options.inputs);
}

} // namespace
} // namespace perpend::runtime

int main(int count, char **arguments) {
  perpend::runtime::Program program;
  program.options.inputs = static_cast<const char **>(calloc(static_cast<size_t>(count) + 1, sizeof(char *)));
  bool isGood = program.options.inputs && perpend::runtime::runProgram(program, count, arguments);
  perpend::runtime::freeProgram(program);
  if (fflush(stdout))
    isGood = perpend::runtime::complain("cannot write the output: %s", strerror(errno));
  return isGood ? 0 : 1;
}
