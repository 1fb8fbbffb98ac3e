//===- Python.cpp - runs Python programs ----------------------------------===//

#include "cli/Python.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

#include <cstdlib>

namespace perpend::cli {

std::string findSourceTree() {
  static int anchor;
  llvm::SmallString<256> path(llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  for (int i = 0; i < 3; ++i) // build/bin/perpend
    llvm::sys::path::remove_filename(path);
  llvm::SmallString<256> marker(path);
  llvm::sys::path::append(marker, "bench", "models.py");
  return llvm::sys::fs::exists(marker) ? path.str().str() : "";
}

std::string findPython() {
  if (const char *chosen = std::getenv("PERPEND_PYTHON"))
    return chosen;
  if (std::string tree = findSourceTree(); !tree.empty()) {
    llvm::SmallString<256> python(tree);
    llvm::sys::path::append(python, ".venv", "bin", "python");
    if (llvm::sys::fs::can_execute(python))
      return python.str().str();
  }
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("python3");
  return found ? *found : "";
}

/// Removes the escape sequences that colour text in a terminal.
static std::string withoutColours(StringRef text) {
  const llvm::Regex colour("\x1b\\[[0-9;]*[A-Za-z]");
  std::string plain;
  llvm::SmallVector<StringRef, 1> found;
  while (colour.match(text, &found)) {
    const size_t begin = static_cast<size_t>(found[0].data() - text.data());
    plain += text.take_front(begin);
    text = text.drop_front(begin + found[0].size());
  }
  return plain + text.str();
}

int runProgram(StringRef program, ArrayRef<std::string> arguments, StringRef onSignal, StringRef errors) {
  std::vector<StringRef> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  llvm::outs().flush();
  std::string message;
  std::vector<std::optional<StringRef>> streams(3);
  if (!errors.empty())
    streams[2] = errors;
  int code = llvm::sys::ExecuteAndWait(program, words, std::nullopt, streams, 0, 0, &message);
  if (auto text = llvm::MemoryBuffer::getFile(errors); !errors.empty() && text)
    llvm::errs() << withoutColours((*text)->getBuffer());
  constexpr int endedBySignal = -2; // returned by ExecuteAndWait
  if (code == endedBySignal)
    fail(onSignal + ": " + message);
  else if (code < 0)
    fail("cannot run '" + program + "': " + message);
  return code;
}
} // namespace perpend::cli
