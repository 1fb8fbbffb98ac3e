#include "support/WriteFile.h"
#include "support/TemporaryFolders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace perpend::support {

std::error_code takeError(raw_fd_ostream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

static StringRef cureFor(std::error_code reason) {
  if (reason == std::errc::no_such_file_or_directory || reason == std::errc::not_a_directory)
    return "the folder must exist";
  if (reason == std::errc::permission_denied || reason == std::errc::operation_not_permitted ||
      reason == std::errc::read_only_file_system)
    return "the folder, and the file if there is one, must be writable";
  if (reason == std::errc::no_space_on_device || reason == std::errc::file_too_large)
    return "make room, or choose another disk";
  if (reason == std::errc::is_a_directory)
    return "give the name of a file";
  return "choose another file";
}

Error cannotWrite(StringRef path, std::error_code reason) {
  return createStringError(reason, "cannot write '" + path + "': " + reason.message() + "\nhint: " + cureFor(reason));
}

static std::error_code checkAccess(const Twine &path) { return sys::fs::access(path, sys::fs::AccessMode::Write); }

static StringRef folderOf(StringRef path) {
  StringRef folder = sys::path::parent_path(path);
  return folder.empty() ? "." : folder;
}

Error checkWritableFile(StringRef path) {
  std::error_code error;
  if (path != "-")
    error = sys::fs::is_directory(path) ? std::make_error_code(std::errc::is_a_directory)
                                        : checkAccess(sys::fs::exists(path) ? Twine(path) : folderOf(path) + "/.");
  return error ? cannotWrite(path, error) : Error::success();
}

Error checkReplaceableFile(StringRef path) {
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path) && !sys::fs::is_directory(path))
    return createStringError(std::make_error_code(std::errc::not_supported),
                             "cannot write '" + path + "': it is a device or a pipe\nhint: give the name of a file");
  return checkWritableFile(path);
}

Error checkWritableFolder(StringRef path) {
  StringRef existing = path;
  while (!sys::fs::exists(existing) && existing != ".")
    existing = folderOf(existing);
  if (!sys::fs::is_directory(existing))
    return createStringError(std::make_error_code(std::errc::not_a_directory),
                             "cannot write into '" + existing + "': it is a file\nhint: give the name of a folder");
  std::error_code error = checkAccess(existing);
  return error ? cannotWrite(existing, error) : Error::success();
}

using Write = function_ref<void(raw_ostream &)>;

static std::error_code writeInPlace(StringRef path, Write write) {
  const bool isNew = !sys::fs::exists(path);
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return error;
  write(stream);
  stream.close();
  error = takeError(stream);
  SmallString<128> created; // keeps a link to a file that did not exist
  if (error && isNew && !sys::fs::real_path(path, created))
    sys::fs::remove(created); // a partial file would mislead
  return error;
}

/// Whether another file may replace it: not a device, a pipe, or an open file under its name in /dev.
static bool isReplaceable(StringRef path) {
  if (path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/"))
    return false;
  sys::fs::file_status entry;
  (void)sys::fs::status(path, entry, /*follow=*/false);
  return entry.type() == sys::fs::file_type::file_not_found ||
         (sys::fs::is_regular_file(path) && sys::fs::can_write(path));
}

/// nullopt: the folder does not accept another file.
static std::optional<std::error_code> replace(StringRef path, Write write) {
  SmallString<128> target(path);
  if (sys::fs::exists(path))
    (void)sys::fs::real_path(path, target);
  SmallString<128> folder;
  if (makeTemporaryFolderBeside(target, folder))
    return std::nullopt;
  SmallString<128> unfinished(folder);
  sys::path::append(unfinished, "output");
  std::error_code error = writeInPlace(unfinished, write);
  if (ErrorOr<sys::fs::perms> old = sys::fs::getPermissions(target); old && !error)
    error = sys::fs::setPermissions(unfinished, *old);
  if (!error)
    error = sys::fs::rename(unfinished, target);
  removeTemporaryFolder(folder);
  return error;
}

Error writeFile(StringRef path, Write write) {
  std::optional<std::error_code> error;
  if (isReplaceable(path))
    error = replace(path, write);
  if (!error)
    error = writeInPlace(path, write);
  return *error ? cannotWrite(path, *error) : Error::success();
}

Error writePrivateFile(StringRef path, Write write) {
  std::error_code error = writeInPlace(path, write);
  return error ? cannotWrite(path, error) : Error::success();
}

} // namespace perpend::support
