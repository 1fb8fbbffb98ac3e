//===- ScratchDirectory.cpp - Temporary files of one compilation ----------===//
#include "target/ScratchDirectory.h"
#include "support/TemporaryFolders.h"
#include "support/WriteFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace perpend::target {

Expected<ScratchDirectory> ScratchDirectory::createBeside(StringRef output) {
  SmallString<128> folder;
  if (std::error_code error = support::makeTemporaryFolderBeside(output, folder))
    return support::cannotWrite(output, error);
  return ScratchDirectory(folder);
}

Expected<ScratchDirectory> ScratchDirectory::createTemporary() {
  SmallString<128> folder;
  if (std::error_code error = support::makeTemporaryFolder(folder))
    return createStringError(error, "cannot create a temporary folder: " + error.message() +
                                        "\nhint: set TMPDIR to a writable folder");
  return ScratchDirectory(folder);
}

ScratchDirectory::ScratchDirectory(ScratchDirectory &&other) : path(std::exchange(other.path, {})) {}

ScratchDirectory::~ScratchDirectory() {
  if (!path.empty())
    support::removeTemporaryFolder(path);
}

std::string ScratchDirectory::pathOf(StringRef name) const {
  SmallString<128> result(path);
  sys::path::append(result, name);
  return result.str().str();
}

Expected<std::string> ScratchDirectory::write(StringRef name, StringRef bytes) const {
  std::string filePath = pathOf(name);
  if (Error error = support::writePrivateFile(filePath, [&](raw_ostream &stream) { stream << bytes; }))
    return std::move(error);
  return filePath;
}

Error moveIntoPlace(StringRef from, StringRef output) {
  if (Error error = support::checkReplaceableFile(output))
    return error;
  if (std::error_code reason = sys::fs::rename(from, output))
    return support::cannotWrite(output, reason);
  return Error::success();
}

} // namespace perpend::target
