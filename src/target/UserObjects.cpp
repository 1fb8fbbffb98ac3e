//===- UserObjects.cpp - checks object files supplied by users ------------===//
//
// Reports what is wrong with a file before the linker would, in its own words. In
// an archive, only members that are objects are examined.
//
//===----------------------------------------------------------------------===//

#include "target/UserObjects.h"

#include "target/cpu/Architecture.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace perpend::target {
namespace {
class ObjectReader {
public:
  explicit ObjectReader(const TargetInfo &target)
      : architecture(Triple(target.code.triple).getArch()), isElf(Triple(target.code.triple).isOSBinFormatELF()),
        hasLinker(architectureOf(target.code)->hasLinker) {}

  Error add(const std::string &path);
  bool defines(StringRef function) const { return names.contains(function); }

private:
  Error addObject(StringRef path, object::Binary &binary);
  Error addMembers(StringRef path, object::Archive &archive);

  Triple::ArchType architecture;
  bool isElf;        ///< of the target
  bool hasLinker;    ///< the compiler, for the target
  StringSet<> names; ///< functions that the files define
};
} // namespace

static Error fail(StringRef path, const Twine &what) {
  return createStringError(formatv("the object '{0}': {1}", path, what.str()));
}

static Error noObject(StringRef path, const Twine &got) {
  return fail(path, "expected an object file or a static archive, got " + got +
                        "\nhint: `cc -c -O2 -fPIC` makes an object file, and `ar rc` an archive of some");
}

Error ObjectReader::addObject(StringRef path, object::Binary &binary) {
  auto *file = dyn_cast<object::ObjectFile>(&binary);
  if (!file || !file->isELF() || !file->isRelocatableObject())
    return noObject(path, file && file->isELF() ? "a shared library or a program" : "a file of another kind");
  if (file->getArch() != architecture)
    return fail(path, "expected one for " + Triple::getArchTypeName(architecture) + ", got one for " +
                          Triple::getArchTypeName(file->getArch()) + "\nhint: compile it for the target's machine");
  for (const object::SymbolRef &symbol : file->symbols()) {
    Expected<StringRef> name = symbol.getName();
    Expected<uint32_t> flags = name ? symbol.getFlags() : 0;
    if (!name || !flags) // the file may claim any number of symbols
      return noObject(path, "a damaged one: " + toString(joinErrors(name.takeError(), flags.takeError())));
    if ((*flags & object::SymbolRef::SF_Global) && !(*flags & object::SymbolRef::SF_Undefined))
      names.insert(*name);
  }
  return Error::success();
}

Error ObjectReader::addMembers(StringRef path, object::Archive &archive) {
  Error damaged = Error::success();
  for (const object::Archive::Child &child : archive.children(damaged)) {
    Expected<std::unique_ptr<object::Binary>> member = child.getAsBinary();
    if (!member) {
      consumeError(member.takeError()); // not an object
      continue;
    }
    Expected<StringRef> name = child.getName();
    std::string place = (path + "(" + (name ? *name : StringRef("?")) + ")").str();
    consumeError(name.takeError());
    if (Error error = addObject(place, **member))
      return joinErrors(std::move(error), std::move(damaged));
  }
  return damaged ? noObject(path, "a damaged one: " + toString(std::move(damaged))) : Error::success();
}

Error ObjectReader::add(const std::string &path) {
  if (!isElf)
    return fail(path, hasLinker ? "expected none: objects of users are not linked for this target"
                                : "expected none: the compiler cannot join objects of this target");
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(path, file.getError().message() + "\nhint: paths are from the folder of the file that names them");
  Expected<std::unique_ptr<object::Binary>> binary = object::createBinary((*file)->getMemBufferRef());
  if (!binary) {
    consumeError(binary.takeError());
    return noObject(path, "a file of another kind");
  }
  auto *archive = dyn_cast<object::Archive>(binary->get());
  return archive ? addMembers(path, *archive) : addObject(path, **binary);
}

Error checkObjects(ArrayRef<std::string> paths, StringRef function, const TargetInfo &target) {
  ObjectReader reader(target);
  for (const std::string &path : paths)
    if (Error error = reader.add(path))
      return error;
  if (reader.defines(function))
    return Error::success();
  StringRef bare = function;
  bool isBare = bare.consume_front("_mlir_ciface_") && reader.defines(bare);
  return createStringError(formatv("none of its objects has the function {0}\nhint: {1}", function,
                                   isBare ? "the C function is called " + bare.str() +
                                                " there; its name begins with "
                                                "_mlir_ciface_"
                                          : "it is a C function of this name; in C++, extern \"C\""));
}

} // namespace perpend::target
