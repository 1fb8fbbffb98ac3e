#include "support/TemporaryFolders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace perpend::support {
namespace {
struct Folders {
  std::mutex mutex;
  std::set<std::string> paths;
};

/// Never destroyed, because it is used at program exit.
Folders &folders() {
  static auto *all = new Folders;
  return *all;
}
} // namespace

std::error_code makeTemporaryFolder(llvm::SmallVectorImpl<char> &folder) {
  std::error_code error = llvm::sys::fs::createUniqueDirectory("perpend", folder);
  if (!error)
    noteTemporaryFolder(llvm::StringRef(folder.data(), folder.size()));
  return error;
}

std::error_code makeTemporaryFolderBeside(llvm::StringRef path, llvm::SmallVectorImpl<char> &folder) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  folder.assign(parent.begin(), parent.end());
  llvm::sys::path::append(folder, ".perpend-XXXXXX");
  folder.push_back('\0');
  // mkdtemp creates a private directory, and no missing parents.
  if (!mkdtemp(folder.data()))
    return std::error_code(errno, std::generic_category());
  folder.pop_back();
  noteTemporaryFolder(llvm::StringRef(folder.data(), folder.size()));
  return {};
}

void noteTemporaryFolder(llvm::StringRef path) {
  std::lock_guard<std::mutex> lock(folders().mutex);
  folders().paths.insert(path.str());
}

void removeTemporaryFolder(llvm::StringRef path) {
  llvm::sys::fs::remove_directories(path, /*IgnoreErrors=*/true);
  std::lock_guard<std::mutex> lock(folders().mutex);
  folders().paths.erase(path.str());
}

void removeTemporaryFolders() {
  constexpr int attempts = 3; // a file written meanwhile would keep its folder
  std::lock_guard<std::mutex> lock(folders().mutex);
  for (const std::string &path : folders().paths)
    for (int attempt = 0; attempt < attempts && llvm::sys::fs::exists(path); ++attempt)
      llvm::sys::fs::remove_directories(path, /*IgnoreErrors=*/true);
}
} // namespace perpend::support
