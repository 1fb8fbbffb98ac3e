//===- RuntimeArchive.cpp - Finds the runtime's files ---------------------===//
#include "target/Link.h"
#include "target/cpu/Architecture.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;

namespace perpend::target {

/// The folder of the program or shared library that contains this code.
static std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&ownFolder), &info) || !info.dli_fname)
    return {};
  SmallString<256> path;
  if (sys::fs::real_path(info.dli_fname, path))
    return {};
  return sys::path::parent_path(path).str();
}

static SmallVector<std::string> runtimeFolders() {
  if (const char *chosen = std::getenv("PERPEND_RUNTIME_DIR"))
    return {chosen};
  SmallVector<std::string> folders;
  if (std::string own = ownFolder(); !own.empty())
    folders = {own + "/../lib", own + "/lib", own};
  folders.push_back(PERPEND_BUILD_RUNTIME_DIR);
  return folders;
}

std::vector<std::string> builtinArchives(const TargetInfo &target) {
  const Architecture *architecture = architectureOf(target.code);
  if (!architecture || architecture->halfConversions.empty() || target.hasFeature(architecture->halfConversions))
    return {};
  return {"libperpend_builtins.a"};
}

Expected<std::string> runtimeArchivePath(const TargetInfo &target, StringRef name) {
  const Architecture *architecture = architectureOf(target.code);
  if (!architecture || architecture == hostArchitecture())
    return runtimeFilePath(name);
  Expected<std::string> path = runtimeFilePath((architecture->name + "/" + name).str());
  if (path)
    return path;
  consumeError(path.takeError());
  const bool isRuntimeThere =
      !errorToBool(runtimeFilePath((architecture->name + "/libperpend_runtime.a").str()).takeError());
  return createStringError(formatv("target '{0}': this installation has no {1} for {2}\nhint: {3}", target.name, name,
                                   architecture->name,
                                   isRuntimeThere ? "compile the model on a machine of that architecture"
                                                  : "`./dev setup` installs the cross compiler that builds it"));
}

Expected<std::string> runtimeFilePath(StringRef name) {
  std::string places;
  for (const std::string &folder : runtimeFolders()) {
    SmallString<256> path(folder);
    sys::path::append(path, name);
    sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    if (sys::fs::exists(path))
      return path.str().str();
    places += "\n  " + path.str().str();
  }
  return createStringError(
      formatv("'{0}' is in none of:{1}\nhint: set PERPEND_RUNTIME_DIR to the folder that holds it", name, places));
}

} // namespace perpend::target
