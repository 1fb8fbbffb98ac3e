//===- LibcStub.cpp - Finds the stubs of the system's C library -----------===//
#include "target/LibcStub.h"
#include "target/Link.h"

#include "llvm/ADT/SetVector.h"

using namespace llvm;

namespace perpend::target {

static SetVector<StringRef> stubbedLibraries() {
  SetVector<StringRef> libraries;
#define PERPEND_LIBC(library, version, names) libraries.insert(library);
#include "target/LibcSymbols.def"
  return libraries;
}

Expected<std::vector<std::string>> libcStubPaths() {
  std::vector<std::string> paths;
  for (StringRef library : stubbedLibraries()) {
    Expected<std::string> path = runtimeFilePath(("libc-stubs/" + library).str());
    if (!path)
      return path.takeError();
    paths.push_back(std::move(*path));
  }
  return paths;
}

} // namespace perpend::target
