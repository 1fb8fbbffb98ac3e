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

} // namespace perpend::support

#endif
