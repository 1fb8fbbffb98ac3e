//===- ScratchDirectory.cpp - Temporary files of one compilation ---------===//
#include "target/ScratchDirectory.h"
#include "support/TemporaryFolders.h"
#include "support/WriteFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdlib>

using namespace llvm;

namespace perpend::target {

static Error cannotWrite(StringRef output, std::error_code reason) {
  return createStringError(reason, formatv("cannot write '{0}': {1}\nhint: the folder must exist and be writable",
                                           output, reason.message()));
}

Expected<ScratchDirectory> ScratchDirectory::createBeside(StringRef output) {
  SmallString<128> model(sys::path::parent_path(output));
  sys::path::append(model, ".perpend-XXXXXX");
  // mkdtemp: a private directory, and no missing parents are made.
  if (!mkdtemp(const_cast<char *>(model.c_str())))
    return cannotWrite(output, std::error_code(errno, std::generic_category()));
  support::noteTemporaryFolder(model);
  return ScratchDirectory(model);
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
  if (Error error = support::writeFile(filePath, [&](raw_ostream &stream) { stream << bytes; }))
    return std::move(error);
  return filePath;
}

Error moveIntoPlace(StringRef from, StringRef output) {
  if (std::error_code reason = sys::fs::rename(from, output))
    return cannotWrite(output, reason);
  return Error::success();
}

} // namespace perpend::target
