//===- Python.cpp - Python programs that the tool runs --------------------===//

#include "cli/Python.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

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

int runProgram(StringRef program, ArrayRef<std::string> arguments) {
  std::vector<StringRef> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  llvm::outs().flush();
  std::string message;
  int code = llvm::sys::ExecuteAndWait(program, words, std::nullopt, {}, 0, 0, &message);
  if (code < 0)
    fail("cannot run '" + program + "': " + message);
  return code;
}
} // namespace perpend::cli
