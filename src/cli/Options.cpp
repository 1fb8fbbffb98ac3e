//===- Options.cpp - the options of a command -----------------------------===//

#include "cli/Options.h"
#include "support/ReadableText.h"
#include "support/WriteFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>

namespace perpend::cli {

int fail(const Twine &message, const Twine &hint) {
  std::string text = message.str(), hintText = hint.str();
  for (StringRef mark : {"\nhint: ", "; hint: "})
    if (size_t at = text.find(mark); at != std::string::npos && hintText.empty()) {
      hintText = text.substr(at + mark.size());
      text.resize(at);
    }
  // All of it before the first byte is written: if its memory ends the program, that error stands alone.
  std::string lines = "error: " + support::readable(text, "\n") + "\n";
  if (!hintText.empty())
    lines += "hint: " + support::readable(hintText, "\n") + "\n";
  llvm::errs() << lines;
  return UserError;
}

int fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }

bool parseCounts(StringRef text, std::vector<int64_t> &counts) {
  for (StringRef part : llvm::split(text, ','))
    if (int64_t count = 0; part.getAsInteger(10, count) || count < 1)
      return false;
    else
      counts.push_back(count);
  return true;
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

void OptionList::add(StringRef flag, StringRef valueName, StringRef help, std::function<bool(StringRef)> set,
                     StringRef expected) {
  options.push_back({flag.str(), valueName.str(), help.str(), (valueName + expected).str(), std::move(set)});
}

void OptionList::add(StringRef flag, bool &value, StringRef, StringRef help) {
  add(flag, "", help, [&value](StringRef) { return value = true; });
}

void OptionList::add(StringRef flag, std::string &value, StringRef valueName, StringRef help) {
  add(flag, valueName, help, [&value](StringRef text) {
    value = text.str();
    return !text.empty();
  });
}

void OptionList::add(StringRef flag, int64_t &value, StringRef valueName, StringRef help, int64_t least) {
  add(
      flag, valueName, help,
      [&value, least](StringRef text) { return !text.getAsInteger(10, value) && value >= least; },
      ", a whole number of at least " + std::to_string(least));
}

/// "--dim n=3 --dim t=33" if one --dim got "n=3,t=33"; otherwise empty.
static std::string separately(StringRef spelling, StringRef text) {
  std::string each;
  for (StringRef pair : llvm::split(text, ','))
    if (!pair.contains('='))
      return "";
    else
      each += (each.empty() ? "" : " ") + (spelling + " " + pair).str();
  return text.contains(',') ? each : "";
}

/// Whether `text` has the required form: NAME=VALUE, or NAME=N with N at least 0. A name may contain '='.
static bool hasForm(StringRef text, StringRef form) {
  if (!form.starts_with("NAME="))
    return !text.empty();
  auto [name, value] = text.rsplit('=');
  int64_t number = 0;
  return !name.empty() && !value.empty() && separately("", text).empty() &&
         (form != "NAME=N" || (!value.getAsInteger(10, number) && number >= 0));
}

void OptionList::add(StringRef flag, std::vector<std::string> &values, StringRef valueName, StringRef help) {
  add(
      flag, valueName, help,
      [&values, valueName](StringRef text) {
        values.push_back(text.str());
        return hasForm(text, valueName);
      },
      valueName == "NAME=N" ? " with N at least 0" : "");
}

void OptionList::addOutputFile(StringRef flag, std::string &value, StringRef valueName, StringRef help) {
  add(flag, value, valueName, help);
  outputs.push_back([&value](StringRef model) {
    if (llvm::sys::fs::equivalent(value, model))
      return llvm::createStringError(std::make_error_code(std::errc::invalid_argument),
                                     "output '" + value + "' is the input itself\nhint: choose another name");
    return value.empty() ? llvm::Error::success() : support::checkWritableFile(value);
  });
}

void OptionList::addOutputFolder(StringRef flag, std::string &value, StringRef valueName, StringRef help) {
  add(flag, value, valueName, help);
  outputs.push_back(
      [&value](StringRef) { return value.empty() ? llvm::Error::success() : support::checkWritableFolder(value); });
}

bool OptionList::checkOutputs(StringRef model) const {
  for (const std::function<llvm::Error(StringRef)> &output : outputs)
    if (llvm::Error error = output(model))
      return fail(std::move(error)), false;
  return true;
}

/// Writes "optLevel" as "opt-level", which is opt_level in Python.
static std::string wordsOf(StringRef member) {
  std::string words = llvm::convertToSnakeFromCamelCase(member);
  std::replace(words.begin(), words.end(), '_', '-');
  return words;
}

/// The help, with the default of an option that has one.
static std::string withDefault(StringRef help, const std::string &value) {
  return value.empty() ? help.str() : (help + " (default " + value + ")").str();
}
static std::string withDefault(StringRef help, int64_t value) { return withDefault(help, std::to_string(value)); }
static std::string withDefault(StringRef help, bool) { return help.str(); }

void OptionList::addCompiler(CompileOptions &options, ArrayRef<StringRef> only) {
  size_t first = this->options.size();
#define OPTION(member, flag, type, defaultValue, valueName, help)                                                      \
  if (only.empty() || llvm::is_contained(only, flag))                                                                  \
    add(flag, options.member, valueName, withDefault(help, type(defaultValue)));                                       \
  if (StringRef(flag).size() == 1 && (only.empty() || llvm::is_contained(only, flag)))                                 \
    add(wordsOf(#member), options.member, valueName, "");
#include "Options.def"
  for (Option &option : llvm::drop_begin(this->options, first))
    option.needsSource = true;
  outputs.push_back([&options](StringRef) {
    return options.dumpPhases.empty() ? llvm::Error::success() : support::checkWritableFolder(options.dumpPhases);
  });
}

void OptionList::needSource(ArrayRef<StringRef> flags) {
  for (Option &option : options)
    option.needsSource |= llvm::is_contained(flags, option.flag);
}

bool OptionList::checkCompiled(StringRef path) const {
  for (const Option &option : options)
    if (option.needsSource && option.isGiven)
      return fail("option '" + option.spelling() + "' needs the model in its source form, '" + path +
                      "' is compiled already",
                  "give the file that it was compiled from, or leave " + option.spelling() + " out"),
             false;
  return true;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

OptionList::Option *OptionList::find(StringRef argument, std::optional<StringRef> &value) {
  if (argument.consume_front("--")) {
    auto [flag, text] = argument.split('=');
    if (flag.size() != argument.size())
      value = text;
    auto found =
        llvm::find_if(options, [&](const Option &option) { return option.flag.size() > 1 && option.flag == flag; });
    return found == options.end() ? nullptr : &*found;
  }
  argument = argument.drop_front();
  for (Option &option : options)
    if (option.flag.size() == 1 && argument.starts_with(option.flag)) {
      if (argument.size() > 1)
        value = argument.drop_front();
      return option.valueName.empty() && value ? nullptr : &option;
    }
  return nullptr;
}

bool OptionList::reportUnknown(StringRef argument) const {
  std::vector<std::string> spellings = {"--help"}, listed = spellings;
  for (const Option &option : options) {
    spellings.push_back(option.spelling());
    listed.push_back(option.help.empty() ? listed.back() : option.spelling());
  }
  std::string guess = nearest(argument.split('=').first, spellings);
  if (!guess.empty())
    guess = listed[llvm::find(spellings, guess) - spellings.begin()];
  fail("unknown option '" + argument + "'",
       guess.empty() ? "--help lists the options" : "did you mean '" + guess + "'?");
  return false;
}

bool OptionList::parse(ArrayRef<StringRef> arguments, std::vector<std::string> &positional) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (!argument.starts_with("-") || argument == "-") {
      positional.push_back(argument.str());
      continue;
    }
    std::optional<StringRef> value;
    Option *option = find(argument, value);
    if (!option)
      return reportUnknown(argument);
    option->isGiven = true;
    bool isSwitch = option->valueName.empty();
    if (isSwitch && value)
      return fail("option '" + option->spelling() + "' takes no value, got '" + *value + "'"), false;
    if (!isSwitch && !value) {
      if (i + 1 == arguments.size())
        return fail("option '" + option->spelling() + "': expected a value (" + option->valueName + ")"), false;
      value = arguments[++i];
    }
    if (!option->set(value.value_or("")))
      return fail("option '" + option->spelling() + "': expected " + option->expected + ", got '" + *value + "'",
                  StringRef(option->valueName).starts_with("NAME=") ? separately(option->spelling(), *value) : ""),
             false;
  }
  return true;
}

void OptionList::print(llvm::raw_ostream &out) const {
  for (const Option &option : options) {
    if (option.help.empty())
      continue;
    std::string left = option.spelling();
    if (!option.valueName.empty())
      left +=
          (option.flag.size() == 1 && option.valueName.find("..") != std::string::npos ? "" : " ") + option.valueName;
    out << "  " << llvm::left_justify(left, 28) << "  " << option.help << "\n";
  }
}
} // namespace perpend::cli
