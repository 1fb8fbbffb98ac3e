//===- ZeroedMemory.h - memory of constants and tensors ---------*- C++ -*-===//

#ifndef PERPEND_SUPPORT_ZEROEDMEMORY_H
#define PERPEND_SUPPORT_ZEROEDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace perpend::support {

/// So many bytes of zeros, which begin with a line of the cache. Null: there is no memory. Where they are many, they
/// have pages of their own, which the system has back as soon as nobody uses them: the holes that malloc would keep are
/// often too small for what comes next.
std::shared_ptr<std::byte> allocateZeroed(uint64_t sizeBytes);

/// While it lives, memory of many bytes that this thread allocates lies in files without a name in a folder, so that
/// the system can write it out: constants of a model may have more bytes than the machine has memory. Where the folder
/// has no room for them, memory is as it is otherwise.
class MemoryInFiles {
public:
  /// folder: null does nothing; it must live as long as this.
  explicit MemoryInFiles(const char *folder);
  ~MemoryInFiles();
  MemoryInFiles(const MemoryInFiles &) = delete;
  MemoryInFiles &operator=(const MemoryInFiles &) = delete;

private:
  const char *previous;
};

} // namespace perpend::support

#endif
