//===- LibcStub.cpp - Symbols and stubs of the system's C library ---------===//
#include "target/LibcStub.h"
#include "target/Link.h"
#include "target/cpu/Architecture.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VersionTuple.h"

using namespace llvm;

namespace perpend::target {
namespace {

struct LibcGroup {
  StringLiteral library, version, names;
};

constexpr LibcGroup libcGroups[] = {
#define PERPEND_LIBC(library, version, names) {library, version, names},
#include "target/LibcSymbols.def"
};

/// What is older than the architecture has the version with which it came.
std::string versionOn(const Architecture &architecture, StringRef version) {
  constexpr StringLiteral prefix = "GLIBC_";
  VersionTuple own;
  if (architecture.oldestLibc && !own.tryParse(version.drop_front(prefix.size())) &&
      own < VersionTuple(2, architecture.oldestLibc))
    return formatv("{0}2.{1}", prefix, architecture.oldestLibc);
  return version.str();
}

std::vector<StringRef> &symbolsOf(const std::string &version, LibcVersions &versions) {
  auto known = find_if(versions, [&](const auto &each) { return each.first == version; });
  return known != versions.end() ? known->second : versions.emplace_back(version, std::vector<StringRef>()).second;
}

} // namespace

MapVector<StringRef, LibcVersions> libcSymbolsOf(const Architecture &architecture) {
  MapVector<StringRef, LibcVersions> libraries;
  SmallVector<StringRef> lacking, names;
  architecture.libcLacks.split(lacking, ' ');
  for (const LibcGroup &group : libcGroups) {
    StringRef library = group.library;
    if (library.empty())
      library = sys::path::filename(architecture.dynamicLinker);
    std::vector<StringRef> &symbols = symbolsOf(versionOn(architecture, group.version), libraries[library]);
    names.clear();
    group.names.split(names, ' ');
    copy_if(names, std::back_inserter(symbols), [&](StringRef name) { return !is_contained(lacking, name); });
  }
  return libraries;
}

Expected<std::vector<std::string>> libcStubPaths(const Architecture &architecture) {
  std::vector<std::string> paths;
  for (const auto &library : libcSymbolsOf(architecture)) {
    Expected<std::string> path = runtimeFilePath(formatv("libc-stubs/{0}/{1}", architecture.name, library.first).str());
    if (!path)
      return path.takeError();
    paths.push_back(std::move(*path));
  }
  return paths;
}

} // namespace perpend::target
