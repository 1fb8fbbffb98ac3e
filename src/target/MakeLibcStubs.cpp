//===- MakeLibcStubs.cpp - Makes stubs of the system's C library ----------===//
//
// A program of the build that makes a stub shared library for each library of LibcSymbols.def, with its name and
// versioned symbols but without code. The linker does the work: every symbol is defined as an absolute address, and a
// version script gives it its version.
//
//===----------------------------------------------------------------------===//
#include "support/WriteFile.h"
#include "target/Lld.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

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

Expected<std::string> write(StringRef folder, StringRef name, StringRef text) {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  if (Error error = perpend::support::writePrivateFile(path, [&](raw_ostream &stream) { stream << text; }))
    return std::move(error);
  return path.str().str();
}

Error makeStub(StringRef folder, StringRef library, const Stub &stub) {
  // The linker requires an input; the smallest is an archive without members.
  Expected<std::string> nothing = write(folder, "nothing.a", "!<arch>\n");
  if (!nothing)
    return nothing.takeError();
  Expected<std::string> script = write(folder, "versions", stub.versionScript);
  if (!script)
    return script.takeError();
  const std::string output = (folder + "/" + library).str();
  std::vector<std::string> arguments = {"-shared", "-m",          "elf_x86_64", "--build-id=none",
                                        "-soname", library.str(), *nothing,     "--version-script=" + *script,
                                        "-o",      output};
  arguments.insert(arguments.end(), stub.definitions.begin(), stub.definitions.end());
  Error error = perpend::target::runLld(arguments, output);
  sys::fs::remove(*nothing);
  sys::fs::remove(*script);
  return error;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    errs() << "usage: make-libc-stubs FOLDER\n";
    return 2;
  }
  for (const auto &[library, stub] : describeStubs())
    if (Error error = makeStub(argv[1], library, stub)) {
      errs() << "error: " << toString(std::move(error)) << "\n";
      return 1;
    }
  return 0;
}
