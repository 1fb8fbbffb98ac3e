//===- LibcStub.cpp - Stand-ins for the system's C library ---------------===//
//
// A stub is made by the linker itself: every symbol is defined as an absolute address and given its version by a
// version script.
//
//===----------------------------------------------------------------------===//
#include "target/LibcStub.h"
#include "target/Lld.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

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

struct Stub {
  std::vector<std::string> definitions;
  std::string versionScript;
};

MapVector<StringRef, Stub> describeStubs() {
  MapVector<StringRef, Stub> stubs;
  for (const LibcGroup &group : libcGroups) {
    Stub &stub = stubs[group.library];
    SmallVector<StringRef> names;
    group.names.split(names, ' ');
    stub.versionScript += group.version.str() + " {\n";
    for (StringRef name : names) {
      stub.definitions.push_back("--defsym=" + name.str() + "=0");
      stub.versionScript += "  " + name.str() + ";\n";
    }
    stub.versionScript += "};\n";
  }
  return stubs;
}

} // namespace

Expected<std::vector<std::string>> writeLibcStubs(const ScratchDirectory &scratch) {
  // The linker insists on an input; an archive without members is the smallest.
  Expected<std::string> nothing = scratch.write("nothing.a", "!<arch>\n");
  if (!nothing)
    return nothing.takeError();
  std::vector<std::string> paths;
  for (const auto &[library, stub] : describeStubs()) {
    Expected<std::string> script = scratch.write("versions", stub.versionScript);
    if (!script)
      return script.takeError();
    std::vector<std::string> arguments = {
        "-shared", "-m", "elf_x86_64", "-soname", library.str(), *nothing, "--version-script=" + *script};
    arguments.insert(arguments.end(), stub.definitions.begin(), stub.definitions.end());
    paths.push_back(scratch.pathOf(library));
    arguments.insert(arguments.end(), {"-o", paths.back()});
    if (Error error = runLld(arguments, paths.back()))
      return std::move(error);
  }
  return paths;
}

} // namespace perpend::target
