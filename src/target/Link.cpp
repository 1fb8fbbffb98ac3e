//===- Link.cpp - Shared libraries and executables ------------------------===//
#include "target/Link.h"
#include "support/WriteFile.h"
#include "target/LibcStub.h"
#include "target/LinkBare.h"
#include "target/LinkWasm.h"
#include "target/Lld.h"
#include "target/ScratchDirectory.h"
#include "target/Seal.h"
#include "target/cpu/Architecture.h"
#include "target/cpu/StartObject.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace perpend::target {
namespace {

using Arguments = std::vector<std::string>;

void append(Arguments &arguments, ArrayRef<std::string> more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

/// Options common to all outputs: read-only after start, no unreachable code, no undefined symbols, nothing that
/// depends on the time or place of linking.
Arguments commonArguments(const LinkRequest &request, const Architecture &architecture) {
  Arguments arguments = {"-m",
                         architecture.emulation.str(),
                         "-z",
                         "relro",
                         "-z",
                         "now",
                         "-z",
                         "noexecstack",
                         "--gc-sections",
                         "--build-id=none",
                         "--hash-style=gnu",
                         "--as-needed",
                         "--error-limit=20"};
  if (request.strip)
    arguments.push_back("--strip-all");
  return arguments;
}

/// A library has no first instruction: started as a program, it would end in a segmentation fault.
std::error_code takeExecution(StringRef path) {
  ErrorOr<sys::fs::perms> permissions = sys::fs::getPermissions(path);
  return permissions ? sys::fs::setPermissions(path, *permissions & ~sys::fs::all_exe) : permissions.getError();
}

/// Links into the scratch directory first.
Error finish(Arguments arguments, const LinkRequest &request, const Architecture &architecture,
             const ScratchDirectory &scratch, bool isSharedLibrary) {
  Expected<std::vector<std::string>> stubs = libcStubPaths(architecture);
  if (!stubs)
    return stubs.takeError();
  append(arguments, request.libraries);
  append(arguments, *stubs);
  const std::string unfinished = scratch.pathOf("output");
  append(arguments, {"-o", unfinished});
  if (Error error = runLld(arguments, request.output))
    return error;
  if (Error error = sealArtifact(unfinished, isSharedLibrary))
    return error;
  if (isSharedLibrary)
    if (std::error_code reason = takeExecution(unfinished))
      return support::cannotWrite(request.output, reason);
  return moveIntoPlace(unfinished, request.output);
}

/// The symbols of the C library and the name of the loader are known for these only.
Expected<const Architecture *> findArchitecture(const TargetInfo &target) {
  if (const Architecture *known = architectureOf(target.code))
    return known;
  return createStringError(formatv("target '{0}': cannot link for '{1}', expected {2}\n"
                                   "hint: write a static library and link it with the system's own tools",
                                   target.name, target.code.triple, architectureNames()));
}

std::string exportScript(ArrayRef<std::string> patterns) {
  std::string script = "{\n  global:\n";
  for (const std::string &pattern : patterns)
    script += "    " + pattern + ";\n";
  return script + "  local: *;\n};\n";
}

} // namespace

Error linkSharedLibrary(const LinkRequest &request, const TargetInfo &target) {
  Expected<const Architecture *> architecture = findArchitecture(target);
  if (!architecture)
    return architecture.takeError();
  if (!(*architecture)->hasRuntime)
    return linkBareObject(request, target);
  if (!(*architecture)->linksElf())
    return linkWasmModule(request, target);
  Expected<ScratchDirectory> scratch = ScratchDirectory::createBeside(request.output);
  if (!scratch)
    return scratch.takeError();
  Expected<std::string> script = scratch->write("exports", exportScript(request.exports));
  if (!script)
    return script.takeError();
  Arguments arguments = commonArguments(request, **architecture);
  append(arguments, {"-shared", "-z", "defs", "--version-script=" + *script});
  append(arguments, request.objects);
  append(arguments, request.lazyArchives);
  arguments.push_back("--whole-archive");
  append(arguments, request.archives);
  arguments.push_back("--no-whole-archive");
  return finish(std::move(arguments), request, **architecture, *scratch, /*isSharedLibrary=*/true);
}

Error linkExecutable(const LinkRequest &request, const TargetInfo &target) {
  Expected<const Architecture *> architecture = findArchitecture(target);
  if (!architecture)
    return architecture.takeError();
  if ((*architecture)->isFixed || !(*architecture)->hasRuntime)
    return createStringError(
        formatv("target '{0}': there are no programs for {1}\nhint: write a library, '-o model{2}'", target.name,
                (*architecture)->name, (*architecture)->libraryEnding));
  Expected<ScratchDirectory> scratch = ScratchDirectory::createBeside(request.output);
  if (!scratch)
    return scratch.takeError();
  Expected<SmallVector<char, 0>> startObject = emitStartObject(target);
  if (!startObject)
    return startObject.takeError();
  Expected<std::string> start = scratch->write("start.o", StringRef(startObject->data(), startObject->size()));
  if (!start)
    return start.takeError();
  Arguments arguments = commonArguments(request, **architecture);
  append(arguments, {"-pie", "-dynamic-linker", (*architecture)->dynamicLinker.str(), "-e", "_start", *start});
  append(arguments, request.objects);
  append(arguments, request.lazyArchives);
  append(arguments, request.archives);
  return finish(std::move(arguments), request, **architecture, *scratch, /*isSharedLibrary=*/false);
}

} // namespace perpend::target
