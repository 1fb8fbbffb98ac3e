//===- Archive.cpp - Static libraries -------------------------------------===//
#include "support/WriteFile.h"
#include "target/Link.h"
#include "target/ScratchDirectory.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace perpend::target {
namespace {

/// Archives whose members go into the new one; they own the bytes until it is written.
struct OpenArchive {
  std::unique_ptr<MemoryBuffer> bytes;
  std::unique_ptr<object::Archive> archive;
};

Error cannotRead(StringRef path, const Twine &reason) {
  return createStringError(formatv("cannot read '{0}': {1}", path, reason.str()));
}

Error addObject(StringRef path, std::vector<NewArchiveMember> &members) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false);
  if (!file)
    return cannotRead(path, file.getError().message());
  NewArchiveMember member;
  member.Buf = std::move(*file);
  member.MemberName = sys::path::filename(path);
  member.Perms = 0644;
  members.push_back(std::move(member));
  return Error::success();
}

bool isArchive(StringRef path) {
  file_magic kind;
  return !identify_magic(path, kind) && kind == file_magic::archive;
}

Error addMembers(const OpenArchive &open, std::vector<NewArchiveMember> &members) {
  Error error = Error::success();
  for (const object::Archive::Child &child : open.archive->children(error)) {
    Expected<NewArchiveMember> member = NewArchiveMember::getOldMember(child, /*Deterministic=*/true);
    if (!member)
      return joinErrors(std::move(error), member.takeError());
    members.push_back(std::move(*member));
  }
  return error;
}

Expected<OpenArchive> openArchive(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false);
  if (!file)
    return cannotRead(path, file.getError().message());
  Expected<std::unique_ptr<object::Archive>> archive = object::Archive::create((*file)->getMemBufferRef());
  if (!archive)
    return cannotRead(path, toString(archive.takeError()));
  return OpenArchive{std::move(*file), std::move(*archive)};
}

} // namespace

Error writeStaticLibrary(const LinkRequest &request) {
  Expected<ScratchDirectory> scratch = ScratchDirectory::createBeside(request.output);
  if (!scratch)
    return scratch.takeError();
  std::vector<NewArchiveMember> members;
  std::vector<OpenArchive> archives;
  std::vector<std::string> paths;
  for (const std::string &path : request.objects)
    if (isArchive(path))
      paths.push_back(path);
    else if (Error error = addObject(path, members))
      return error;
  paths.insert(paths.end(), request.archives.begin(), request.archives.end());
  paths.insert(paths.end(), request.lazyArchives.begin(), request.lazyArchives.end());
  for (const std::string &path : paths) {
    Expected<OpenArchive> open = openArchive(path);
    if (!open)
      return open.takeError();
    archives.push_back(std::move(*open));
    if (Error error = addMembers(archives.back(), members))
      return error;
  }
  const object::Archive::Kind kind = members.empty() ? object::Archive::K_GNU : members[0].detectKindFromObject();
  const std::string unfinished = scratch->pathOf("output");
  Error wrong = Error::success();
  Error notWritten = support::writeFile(unfinished, [&](raw_ostream &stream) {
    wrong = writeArchiveToStream(stream, members, SymtabWritingMode::NormalSymtab, kind,
                                 /*Deterministic=*/true, /*Thin=*/false);
  });
  if (Error error = wrong ? joinErrors(std::move(wrong), std::move(notWritten)) : std::move(notWritten))
    return error;
  return moveIntoPlace(unfinished, request.output);
}

} // namespace perpend::target
