//===- Options.h - the options of a command ---------------------*- C++ -*-===//
//
// A command lists its options once; parsing, the help text and suggestions for
// misspelt options are derived from the list. The compiler's options come from
// src/Options.def.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_CLI_OPTIONS_H
#define PERPEND_CLI_OPTIONS_H

#include "compiler/Compiler.h"
#include "support/Nearest.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace perpend::cli {
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;
using support::nearest;

/// The exit status of the process.
enum ExitCode : int { Good = 0, UserError = 1, UsageError = 2 };

/// Prints "error: ..." and, if given, "hint: ..." to stderr. The hint may be the end of the message. Returns UserError.
int fail(const Twine &message, const Twine &hint = "");
int fail(llvm::Error error);

class OptionList {
public:
  /// An empty value name makes a switch. One letter: `-x value` or `-xvalue`; otherwise `--flag value` or
  /// `--flag=value`. Without help, it is an unlisted alias of the option before it.
  void add(StringRef flag, bool &value, StringRef valueName, StringRef help);
  void add(StringRef flag, std::string &value, StringRef valueName, StringRef help);
  void add(StringRef flag, int64_t &value, StringRef valueName, StringRef help, int64_t least = 0);
  /// A file or folder that the command writes; checkOutputs tests it before the work begins.
  void addOutputFile(StringRef flag, std::string &value, StringRef valueName, StringRef help);
  void addOutputFolder(StringRef flag, std::string &value, StringRef valueName, StringRef help);
  /// May be given several times. A value name NAME=... makes pairs; NAME=N pairs with a number.
  void add(StringRef flag, std::vector<std::string> &values, StringRef valueName, StringRef help);
  /// Adds every option of src/Options.def, or those named.
  void addCompiler(CompileOptions &options, ArrayRef<StringRef> only = {});
  /// Marks further options as requiring a model's source.
  void needSource(ArrayRef<StringRef> flags);

  /// Sets the options and collects the other arguments. False: an error was printed.
  bool parse(ArrayRef<StringRef> arguments, std::vector<std::string> &positional);
  /// For a model that is already compiled. False: an option needs its source; an error was printed.
  bool checkCompiled(StringRef path) const;
  /// Checks that outputs can be written and are not the input. False: an error was printed.
  bool checkOutputs(StringRef model) const;
  void print(llvm::raw_ostream &out) const;

private:
  struct Option {
    std::string flag, valueName, help;
    std::string expected; ///< description of valid values, for errors
    /// False: the text is not a valid value.
    std::function<bool(StringRef)> set;
    bool needsSource = false, isGiven = false;

    std::string spelling() const { return (flag.size() == 1 ? "-" : "--") + flag; }
  };
  void add(StringRef flag, StringRef valueName, StringRef help, std::function<bool(StringRef)> set,
           StringRef expected = "");
  Option *find(StringRef argument, std::optional<StringRef> &value);
  bool reportUnknown(StringRef argument) const;

  std::vector<Option> options;
  std::vector<std::function<llvm::Error(StringRef model)>> outputs;
};

/// Parses "3,4"; false unless it is a list of positive integers separated by commas.
bool parseCounts(StringRef text, std::vector<int64_t> &counts);
} // namespace perpend::cli

#endif
