#include "support/WriteFile.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace perpend::support {

std::error_code takeError(raw_fd_ostream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

Error writeFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (!error) {
    write(stream);
    stream.close();
    error = takeError(stream);
  }
  if (error && sys::fs::is_regular_file(path))
    sys::fs::remove(path); // half a file misleads
  if (error)
    return createStringError(error, "cannot write '" + path + "': " + error.message() +
                                        "\nhint: the folder must exist and be writable, and the disk have room");
  return Error::success();
}
} // namespace perpend::support
