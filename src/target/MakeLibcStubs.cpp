//===- MakeLibcStubs.cpp - Makes stubs of the system's C library ----------===//
//
// A program of the build that makes, in a folder for each architecture, a stub shared library for each library of
// LibcSymbols.def, with its name and versioned symbols but without code. The linker does the work: every symbol is
// defined as an absolute address, and a version script gives it its version.
//
//===----------------------------------------------------------------------===//
#include "support/WriteFile.h"
#include "target/LibcStub.h"
#include "target/Lld.h"
#include "target/cpu/Architecture.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using perpend::target::Architecture;
using perpend::target::LibcVersions;

namespace {

Expected<std::string> write(StringRef folder, StringRef name, StringRef text) {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  if (Error error = perpend::support::writePrivateFile(path, [&](raw_ostream &stream) { stream << text; }))
    return std::move(error);
  return path.str().str();
}

Error makeStub(const Architecture &architecture, StringRef folder, StringRef library, const LibcVersions &versions) {
  std::string versionScript;
  std::vector<std::string> definitions;
  for (const auto &[version, names] : versions) {
    versionScript += version + " {\n";
    for (StringRef name : names) {
      definitions.push_back("--defsym=" + name.str() + "=0");
      versionScript += "  " + name.str() + ";\n";
    }
    versionScript += "};\n";
  }
  // The linker requires an input; the smallest is an archive without members.
  Expected<std::string> nothing = write(folder, "nothing.a", "!<arch>\n");
  if (!nothing)
    return nothing.takeError();
  Expected<std::string> script = write(folder, "versions", versionScript);
  if (!script)
    return script.takeError();
  const std::string output = (folder + "/" + library).str();
  std::vector<std::string> arguments = {"-shared",
                                        "-m",
                                        architecture.emulation.str(),
                                        "--build-id=none",
                                        "-soname",
                                        library.str(),
                                        *nothing,
                                        "--version-script=" + *script,
                                        "-o",
                                        output};
  arguments.insert(arguments.end(), definitions.begin(), definitions.end());
  Error error = perpend::target::runLld(arguments, output);
  sys::fs::remove(*nothing);
  sys::fs::remove(*script);
  return error;
}

Error makeStubs(const Architecture &architecture, StringRef folder) {
  const std::string own = (folder + "/" + architecture.name).str();
  if (std::error_code error = sys::fs::create_directories(own))
    return createStringError(error, "cannot create '" + own + "': " + error.message());
  for (const auto &[library, versions] : perpend::target::libcSymbolsOf(architecture))
    if (Error error = makeStub(architecture, own, library, versions))
      return error;
  return Error::success();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    errs() << "usage: make-libc-stubs FOLDER\n";
    return 2;
  }
  for (const Architecture *architecture : perpend::target::architectures())
    if (Error error = architecture->hasLibcStubs() ? makeStubs(*architecture, argv[1]) : Error::success()) {
      errs() << "error: " << toString(std::move(error)) << "\n";
      return 1;
    }
  return 0;
}
