//===- CommandLine.cpp - what the commands share ---------------------------===//

#include "target/quoin/CommandLine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::quoin {

std::optional<std::string> CommandLine::takeOption(llvm::StringRef key) {
  for (size_t index = 0; index < rest.size(); ++index) {
    llvm::StringRef argument = rest[index];
    if (!argument.consume_front("--") || !argument.consume_front(key))
      continue;
    if (argument.consume_front("=")) {
      rest.erase(rest.begin() + index);
      return argument.str();
    }
    if (argument.empty() && index + 1 < rest.size()) {
      std::string value = rest[index + 1].str();
      rest.erase(rest.begin() + index, rest.begin() + index + 2);
      return value;
    }
  }
  return std::nullopt;
}

bool CommandLine::takeFlag(llvm::StringRef key) {
  for (size_t index = 0; index < rest.size(); ++index)
    if (rest[index] == ("--" + key).str()) {
      rest.erase(rest.begin() + index);
      return true;
    }
  return false;
}

std::optional<std::string> CommandLine::takeFile() {
  for (size_t index = 0; index < rest.size(); ++index)
    if (!rest[index].starts_with("--")) {
      std::string value = rest[index].str();
      rest.erase(rest.begin() + index);
      return value;
    }
  return std::nullopt;
}

llvm::Error CommandLine::finish(llvm::StringRef usage) const {
  if (rest.empty())
    return llvm::Error::success();
  return llvm::createStringError("unexpected argument '" + rest.front() + "'\n" + usage);
}

llvm::Expected<Program> readProgram(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  llvm::MemoryBufferRef content = **buffer;
  return content.getBuffer().starts_with("\x7f"
                                         "ELF")
             ? readObject(content)
             : assemble(content);
}

llvm::Expected<std::vector<uint8_t>> readBytes(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  llvm::StringRef content = (*buffer)->getBuffer();
  return std::vector<uint8_t>(content.bytes_begin(), content.bytes_end());
}

llvm::Error writeBytes(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return llvm::createStringError(path + ": " + error.message());
  out.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  out.close();
  if (out.has_error()) {
    error = out.error();
    out.clear_error();
    return llvm::createStringError(path + ": " + error.message());
  }
  return llvm::Error::success();
}

int report(llvm::StringRef tool, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  // Messages of the assembler begin with file and line.
  if (llvm::StringRef(text).contains(": error: "))
    llvm::errs() << text << "\n";
  else
    llvm::errs() << tool << ": error: " << text << "\n";
  return 1;
}

} // namespace perpend::quoin
