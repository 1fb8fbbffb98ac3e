//===- CommandLine.h - what the commands share ------------------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_COMMANDLINE_H
#define PERPEND_TARGET_QUOIN_COMMANDLINE_H

#include "target/quoin/Program.h"

namespace perpend::quoin {

/// Arguments, taken one by one: "--key=value" or "--key value", and the others.
class CommandLine {
public:
  explicit CommandLine(llvm::ArrayRef<llvm::StringRef> arguments) : rest(arguments.vec()) {}

  /// The value of the first option of that name, which is removed.
  std::optional<std::string> takeOption(llvm::StringRef key);
  bool takeFlag(llvm::StringRef key);
  /// The first argument that is no option, which is removed.
  std::optional<std::string> takeFile();
  /// Arguments that nothing took are an error.
  llvm::Error finish(llvm::StringRef usage) const;

private:
  std::vector<llvm::StringRef> rest;
};

/// A program in an object file or as assembly.
llvm::Expected<Program> readProgram(llvm::StringRef path);
llvm::Expected<std::vector<uint8_t>> readBytes(llvm::StringRef path);
/// "-" is stdout.
llvm::Error writeBytes(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes);
/// Prints "TOOL: error: …" and returns 1.
int report(llvm::StringRef tool, llvm::Error error);

} // namespace perpend::quoin

#endif
