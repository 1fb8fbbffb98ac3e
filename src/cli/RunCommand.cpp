//===- RunCommand.cpp - perpend run ---------------------------------------===//

#include "cli/Command.h"
#include "cli/CompiledModel.h"
#include "cli/Inputs.h"
#include "cli/Runner.h"
#include "cli/Session.h"
#include "support/ReadableText.h"

#include "llvm/Support/Format.h"

#include <chrono>

namespace perpend::cli {

static bool printOutputs(const perpend_model *model, ArrayRef<Array> outputs, StringRef directory) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    StringRef name = perpend_model_output(model, static_cast<int32_t>(i))->name;
    llvm::outs() << summarize(name, outputs[i]) << "\n";
    if (!directory.empty() && !writeArray(directory, name, outputs[i]))
      return false;
  }
  return true;
}

static bool repeat(perpend_model *model, perpend_session *session, ArrayRef<Array> inputs, int64_t count) {
  std::vector<double> times;
  Execution execution(model, session, inputs);
  for (int64_t i = 0; i < count; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (!execution.run())
      return false;
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  llvm::sort(times);
  llvm::outs() << llvm::format("%lld runs: least %.4f ms, median %.4f ms, most %.4f ms\n",
                               static_cast<long long>(count), times.front(), times[times.size() / 2], times.back());
  return true;
}

int runRun(const Command &command, ArrayRef<StringRef> arguments) {
  ModelSource source;
  CompileOptions options;
  InputOptions inputOptions;
  std::string directory, runner;
  int64_t threads = 0, repetitions = 1;
  OptionList list;
  inputOptions.addTo(list);
  addRunnerOption(list, runner);
  list.addOutputFolder("output-dir", directory, "DIR",
                       "write every output to DIR/NAME.npy; a sequence or optional value to the folder DIR/NAME");
  list.add("threads", threads, "N", "at most N threads (default 0: all usable cores)");
  list.add("repeat", repetitions, "N", "run N times and print the times (default 1: without times)", 1);
  list.add("entry", source.entry, "NAME", "the entry, of a model with several (default: the first)");
  list.add("dim", source.dimensions, "NAME=VALUE", "as in `perpend compile`, for a model that is compiled first");
  list.add("state", source.states, "INPUT=OUTPUT", "as in `perpend compile`");
  list.add("cache", source.cache.tokens, "N", "as in `perpend compile`");
  list.add("cache-type", source.cache.type, "TYPE", "as in `perpend compile`");
  list.add("texts", source.cache.texts, "N", "as in `perpend compile`", 1);
  list.add("operators", source.operators, "FILE.json", "as in `perpend compile`");
  list.addCompiler(options, {"target", "O", "precision", "schedules", "database", "intrinsics", "unpacked",
                             "batch-invariant", "checked"});
  list.needSource({"dim", "operators", "state", "cache", "cache-type", "texts"});
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional))
    return *code;
  if (!list.checkOutputs(positional[0]))
    return UserError;
  useRunner(runner);
  source.path = positional[0];
  std::optional<ModelKind> kind = modelKindOf(source.path);
  if (!kind)
    return UserError;
  source.kind = *kind;
  if (*kind == ModelKind::Library && !list.checkCompiled(source.path))
    return UsageError;
  TemporaryFolder folder;
  ModelOwner model = loadOrCompile(source, options, folder);
  if (!model)
    return UserError;
  if (repetitions > 1 && isEmulated(model.get()))
    return fail("option '--repeat': the model runs on another machine or an emulator, whose times say nothing of it",
                "leave the option out"),
           UserError;
  if (!announceRunner(model.get()))
    return UserError;
  std::optional<Inputs> made = makeInputs(model.get(), source, inputOptions);
  std::unique_ptr<Session> session = made ? Session::create(model.get(), threads) : nullptr;
  if (!session)
    return UserError;
  ArrayRef<Array> inputs = made->arrays;
  made->print(model.get());
  std::optional<std::vector<Array>> outputs = session->run(inputs, made->advice());
  if (!outputs || !printOutputs(model.get(), *outputs, directory))
    return UserError;
  if (repetitions > 1 && foreignLibraryOf(model.get()))
    return fail("option '--repeat': the model runs in another program", "perpend bench measures it there"), UserError;
  if (repetitions > 1 && !repeat(model.get(), session->local(), inputs, repetitions))
    return UserError;
  return Good;
}
} // namespace perpend::cli
