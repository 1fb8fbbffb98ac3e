// The main function of `perpend llm compile --exe`: with --prompt or --raw it generates a text, otherwise it is a
// conversation.
#include "include/perpend_module.h"
#include "llm/Conversation.h"
#include "llm/Program.h"
#include <cerrno>
#include <cstdio>
#include <cstring>

extern "C" const perpend_module *perpend_module_main(void);

namespace perpend::llm {
namespace {

void printHelp(const char *program) {
  printf(
      "usage: %s [options]\n\nWith --prompt, prints what the model says to it. Otherwise each line of standard input "
      "is a turn of a conversation.\n\n",
      program);
  for (int32_t i = 0; i < programOptionCount; ++i) {
    const OptionInfo &option = programOptions[i];
    char left[64];
    snprintf(left, sizeof left, "--%s %s", option.flag, option.valueName);
    printf("  %-28s  %s\n", left, option.help);
  }
}

const OptionInfo *findOption(const char *flag, size_t length) {
  for (int32_t i = 0; i < programOptionCount; ++i)
    if (strlen(programOptions[i].flag) == length && !strncmp(programOptions[i].flag, flag, length))
      return &programOptions[i];
  return nullptr;
}

bool complain(const char *format, const char *value, const char *hint) {
  fputs("error: ", stderr);
  fprintf(stderr, format, value);
  fprintf(stderr, "\nhint: %s\n", hint);
  return false;
}

bool parse(int count, char **arguments, ProgramOptions &options, bool &wantsHelp) {
  for (int i = 1; i < count; ++i) {
    const char *argument = arguments[i];
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h"))
      return wantsHelp = true;
    const char *equals = strchr(argument, '=');
    const size_t length = equals ? static_cast<size_t>(equals - argument) : strlen(argument);
    const OptionInfo *option =
        length > 2 && !strncmp(argument, "--", 2) ? findOption(argument + 2, length - 2) : nullptr;
    if (!option)
      return complain("unknown option '%s'", argument, "--help lists the options");
    const bool isSwitch = option->kind == OptionKind::Switch;
    const char *value = equals ? equals + 1 : isSwitch ? "" : i + 1 < count ? arguments[++i] : nullptr;
    if (!value)
      return complain("option '%s': expected a value", argument, "--help lists the options");
    if (!option->set(options, value))
      return false;
  }
  return true;
}

} // namespace
} // namespace perpend::llm

int main(int count, char **arguments) {
  using namespace perpend::llm;
  ProgramOptions options;
  bool wantsHelp = false;
  if (!parse(count, arguments, options, wantsHelp))
    return 2;
  perpend_model *model = nullptr;
  bool isGood = true;
  if (wantsHelp)
    printHelp(arguments[0]);
  else if (perpend_model_from_module(perpend_module_main(), &model))
    isGood = reportError();
  else
    isGood = options.prompt || options.isRaw ? generate(model, options) : converse(model, options);
  perpend_model_free(model);
  if (fflush(stdout))
    isGood = complain("cannot write the output: %s", strerror(errno), "is the disk full, or the output closed?");
  return isGood ? 0 : 1;
}
