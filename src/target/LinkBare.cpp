//===- LinkBare.cpp - Objects that need no runtime ------------------------===//
//
// A library is one object: code and weights, sections apart, so that a program's linker takes what it needs and places
// it where its linker script says.
//
//===----------------------------------------------------------------------===//
#include "target/LinkBare.h"
#include "support/InternalError.h"
#include "target/Lld.h"
#include "target/ScratchDirectory.h"
#include "target/cpu/Architecture.h"

#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace llvm;

namespace perpend::target {

Error linkBareObject(const LinkRequest &request, const TargetInfo &target) {
  const Architecture &architecture = *architectureOf(target.code);
  if (!architecture.hasLinker && request.objects.size() == 1)
    return moveIntoPlace(request.objects.front(), request.output);
  if (!architecture.hasLinker) // objects of users are refused before (UserObjects.h)
    return support::internalError("several objects for " + architecture.name);
  Expected<ScratchDirectory> scratch = ScratchDirectory::createBeside(request.output);
  if (!scratch)
    return scratch.takeError();
  const std::string unfinished = scratch->pathOf("output");
  std::vector<std::string> arguments = {"-m", architecture.emulation.str(), "-r", "-o", unfinished};
  arguments.insert(arguments.end(), request.objects.begin(), request.objects.end());
  if (Error error = runLld(arguments, request.output))
    return error;
  return moveIntoPlace(unfinished, request.output);
}

Expected<std::vector<std::string>> undefinedSymbolsOf(StringRef path) {
  auto file = object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  const bool hasPrefix = file->getBinary()->isMachO();
  std::set<std::string> names;
  for (const object::SymbolRef &symbol : file->getBinary()->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return joinErrors(flags.takeError(), name.takeError());
    if ((*flags & object::SymbolRef::SF_Undefined) && !(*flags & object::SymbolRef::SF_Weak) && !name->empty())
      names.insert(name->drop_front(hasPrefix && name->starts_with("_")).str());
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Error linkBareImage(ArrayRef<std::string> objects, const TargetInfo &target, const Board &board,
                    const ScratchDirectory &scratch, StringRef output) {
  std::vector<std::string> paths;
  for (StringRef name : {"sections.ld", "start.o", "runner.o", "libc.a", "libgcc.a"}) {
    Expected<std::string> path = runtimeArchivePath(target, name);
    if (!path)
      return path.takeError();
    paths.push_back(*path);
  }
  auto place = [](StringRef name, const AddressRange &range) {
    return formatv("  {0} : ORIGIN = {1}, LENGTH = {2}\n", name, range.begin, range.bytes).str();
  };
  const std::string memory = "MEMORY {\n" + place("vectors (rx)", board.vectors) + place("flash (rx)", board.flash) +
                             place("ram (rwx)", board.ram) + "}\nINCLUDE \"" + paths[0] + "\"\n";
  Expected<std::string> script = scratch.write("memory.ld", memory);
  if (!script)
    return script.takeError();
  const Architecture &architecture = *architectureOf(target.code);
  std::vector<std::string> arguments = {"-m",
                                        architecture.emulation.str(),
                                        "-T",
                                        *script,
                                        "-e",
                                        architecture.imageEntry.str(),
                                        "--gc-sections",
                                        "-o",
                                        output.str()};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  arguments.insert(arguments.end(), paths.begin() + 1, paths.end());
  return runLld(arguments, output);
}

} // namespace perpend::target
