//===- Command.cpp - the commands of the perpend tool ---------------------===//

#include "cli/Command.h"
#include "support/WriteFile.h"
#include "target/Accelerator.h"
#include "target/Link.h"
#include "target/cpu/Architecture.h"

#include "perpend.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::cli {

static constexpr StringRef dimensionHelp = R"(
A model is an .onnx file, .mlir text of a module with a graph-level @main, or a checkpoint of a language model: a .gguf
file, or a folder with config.json and safetensors files. --dim acts on the dimensions of the inputs:
  --dim batch=4           the dimension 'batch' is 4
  --dim image:0=n         dimension 0 of the input 'image' is the symbol n, whatever the model says
)";

static constexpr Command table[] = {
    {"compile", "compile a model into a native library or program", "perpend compile MODEL… -o OUTPUT [options]",
     R"(
OUTPUT ending in .so: a shared library; in .a: a static one (a C header is written beside both); with --exe: a program.
Several models, NAME=FILE each, become entries of one artifact that share weights and kernels.

examples:
  perpend compile model.onnx -o model.so
  perpend compile model.onnx -o model.a --target x86-64-v3 --dim batch=4
  perpend compile model.onnx -o model.so --target x86-64,x86-64-v3,x86-64-v4
  perpend compile prefill=prefill.onnx decode=decode.onnx -o model.so
  perpend compile model.onnx -o model --exe
  perpend compile model.onnx -o model.so --dump-phases phases
  perpend compile phases/4-fuse.mlir -o model.so --start-from schedule
  perpend compile model.onnx --stop-after fuse
)",
     runCompile},
    {"run", "run a model on arrays", "perpend run MODEL [options]",
     R"(
MODEL is a compiled .so, or a model as `perpend compile` takes it, which is compiled first. Inputs without --input are random.

examples:
  perpend run model.so --input x.npy --output-dir out
  perpend run model.onnx --input image=x.npy --input mask=m.npy
  perpend run model.onnx --seed 7 --symbol batch=3 --repeat 100 --threads 2
)",
     runRun},
    {"check", "compare a compiled model with a reference, tensor by tensor", "perpend check MODEL [options]",
     R"(
References: interpreter (defines the operators; slow) and onnxruntime (needs Python with onnxruntime). Floats may
differ by 1.1e-4 of the output's largest absolute value, where that is above 1 by 1e-4 of it plus 1e-5, and by more in
16-bit types and a lower --precision; integers must be equal.
If the result differs from the interpreter's, check searches for the first node that differs.

examples:
  perpend check model.onnx
  perpend check model.onnx --against interpreter,onnxruntime --symbol batch=3 --seed 7
)",
     runCheck},
    {"bench", "measure how long a model takes", "perpend bench MODEL [options]",
     R"(
Runs with different numbers of threads alternate, so that a slowdown of the machine affects all of them. --against runs
bench/models.py of the source tree, which alternates runs of other engines with this one.

examples:
  perpend bench model.onnx --threads 1,2
  perpend bench model.onnx --profile
  perpend bench model.onnx --against onnxruntime --threads 1 --json times.json
)",
     runBench},
    {"inspect", "show a model's interface and how it is compiled", "perpend inspect MODEL [options]",
     R"(
MODEL is what `perpend compile` takes, or a compiled .so. Stages are graph, tile, llvm, asm and the phases of the compiler.

examples:
  perpend inspect model.onnx
  perpend inspect model.onnx --stage fuse
  perpend inspect model.onnx --html report.html
  perpend inspect model.so
)",
     runInspect},
    {"tune", "find faster schedules for a model's kernels", "perpend tune MODEL … -o FILE.db [options]",
     R"(
Compiles and measures each kernel alone, in runs that alternate with the fastest so far, on random inputs, with caches in
the state that the model leaves; at the end measures the model itself with the new schedules. Schedules that compute
something other than the default schedule, or are no gain in the model, are not kept. ^C keeps the results so far, and a
second run with the same FILE continues from them.

examples:
  perpend tune model.onnx --list
  perpend tune model.onnx -o tuned.db --budget 10m --html run.html
  perpend compile model.onnx -o model.so --database tuned.db
)",
     runTune},
    {"db", "inspect and merge databases of tuning", "perpend db ACTION FILE... [options]",
     R"(
A database is what `perpend tune` writes and `perpend compile --database` reads. `perpend db ACTION --help` shows its options.

examples:
  perpend db list tuned.db
  perpend db merge mine.db yours.db -o ours.db
)",
     runDb},
    {"llm", "compile language models, and talk with them", "perpend llm ACTION ... [options]",
     R"(
`perpend llm ACTION --help` shows its options.

examples:
  perpend llm compile model.gguf -o chat
  perpend llm run chat --prompt "Why is the sky blue?"
  perpend llm chat chat
)",
     runLlm},
    {"tokenize", "turn text into tokens and back", "perpend tokenize FILE_OR_FOLDER [options]",
     R"(
FILE_OR_FOLDER is tokenizer.json, tokenizer.model, a GGUF file, vocab.txt, or a folder with one of them.

examples:
  perpend tokenize model/tokenizer.json --text "Hello world"
  perpend tokenize model.gguf --text "Hello world" --pieces
  perpend tokenize model < book.txt > ids.txt
  perpend tokenize model --decode --plain < ids.txt
)",
     runTokenize},
    {"targets", "list the machines to compile for", "perpend targets", R"(
A target may be followed by instruction sets to switch on or off, and by sizes of caches: x86-64-v3,+avxvnni,l2=2M
Several targets, separated by commas, make one artifact that chooses at load: x86-64-v3,+avxvnni,x86-64-v4

examples:
  perpend targets
)",
     runTargets},
};

ArrayRef<Command> commands() { return table; }

static void printUsage(llvm::raw_ostream &out) {
  out << "usage: perpend COMMAND ...\n\nCompiles machine-learning models into small native libraries.\n\n";
  for (const Command &command : commands())
    out << "  " << llvm::left_justify(command.name, 10) << command.summary << "\n";
  out << "\n`perpend COMMAND --help` shows its options; `perpend --version` prints the version.\n"
         "example: perpend compile model.onnx -o model.so\n";
}

std::optional<int> parseArguments(const Command &command, OptionList &options, ArrayRef<StringRef> arguments,
                                  size_t positionalCount, std::vector<std::string> &positional, StringRef what,
                                  bool mayBeMore) {
  if (llvm::is_contained(arguments, "--help") || llvm::is_contained(arguments, "-h")) {
    llvm::outs() << "usage: " << command.usage << "\n\n" << command.summary << "\n\n";
    options.print(llvm::outs());
    llvm::outs() << command.details;
    llvm::outs() << (command.name == "compile" ? dimensionHelp : "");
    return Good;
  }
  if (!options.parse(arguments, positional))
    return UsageError;
  if (positional.size() == positionalCount || (mayBeMore && positional.size() > positionalCount))
    return std::nullopt;
  if (positional.size() > positionalCount)
    fail("unexpected argument '" + positional[positionalCount] + "'", "usage: " + command.usage);
  else
    fail(what + " is missing", "usage: " + command.usage);
  return UsageError;
}

int runTargets(const Command &command, ArrayRef<StringRef> arguments) {
  OptionList list;
  std::vector<std::string> positional;
  if (std::optional<int> code = parseArguments(command, list, arguments, 0, positional))
    return *code;
  std::vector<StringRef> names = target::targetNames();
  names.insert(names.begin(), "host");
  for (StringRef name : names) {
    llvm::Expected<target::TargetInfo> info = target::resolveTarget(name);
    if (!info)
      return fail(info.takeError());
    llvm::outs() << (name == "host" ? "host = " : "") << info->describe();
    const target::Architecture *architecture = target::architectureOf(info->code);
    const bool hasRuntime = !architecture || architecture->hasRuntime;
    if (llvm::Error missing = hasRuntime ? target::runtimeArchivePath(*info).takeError() : llvm::Error::success()) {
      llvm::consumeError(std::move(missing));
      llvm::outs() << "; not in this installation, which has no runtime for it";
    }
    llvm::outs() << "\n";
  }
  for (const std::string &name : target::acceleratorTargets())
    llvm::outs() << name << ": programs for its simulator, *"
                 << target::acceleratorOf(llvm::cantFail(target::resolveTarget(name)).code)->ending << "\n";
  return Good;
}

const Command *findCommand(ArrayRef<Command> commands, StringRef name, StringRef kind) {
  std::vector<std::string> names;
  for (const Command &command : commands)
    if (command.name == name)
      return &command;
    else
      names.push_back(command.name.str());
  std::string guess = nearest(name, names);
  fail("unknown " + kind + " '" + name + "'",
       guess.empty() ? kind + "s: " + llvm::join(names, ", ") : "did you mean '" + guess + "'?");
  return nullptr;
}

int runAction(const Command &command, ArrayRef<Command> actions, ArrayRef<StringRef> arguments) {
  if (arguments.empty())
    return fail("an action is missing", "usage: " + command.usage), UsageError;
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    llvm::outs() << "usage: " << command.usage << "\n\n" << command.summary << "\n\n";
    for (const Command &action : actions)
      llvm::outs() << "  " << llvm::left_justify(action.name, 10) << action.summary << "\n";
    llvm::outs() << command.details;
    return Good;
  }
  const Command *action = findCommand(actions, arguments[0], "action");
  return action ? action->run(*action, arguments.drop_front()) : UsageError;
}

static int runWords(int argumentCount, char **arguments) {
  std::vector<StringRef> words(arguments + 1, arguments + argumentCount);
  if (words.empty()) {
    printUsage(llvm::errs());
    return UsageError;
  }
  if (words[0] == "help" && words.size() > 1)
    words = {words[1], "--help"};
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    printUsage(llvm::outs());
    return Good;
  }
  if (words[0] == "--version") {
    llvm::outs() << "perpend " << perpend_version() << " (LLVM " << LLVM_VERSION_STRING << ")\n";
    return Good;
  }
  const Command *command = findCommand(commands(), words[0], "command");
  return command ? command->run(*command, ArrayRef(words).drop_front()) : UsageError;
}

/// If the reader exits early, as in `perpend inspect model.onnx | head`, that is not an error.
int runCommandLine(int argumentCount, char **arguments) {
  int code = runWords(argumentCount, arguments);
  std::error_code error = support::takeError(llvm::outs());
  if (error && error != std::errc::broken_pipe && code == Good)
    code = fail("cannot write the output: " + error.message(), "is the disk full, or the output closed?");
  support::takeError(llvm::errs());
  return code;
}
} // namespace perpend::cli
