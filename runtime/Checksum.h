// CRC-32C (Castagnoli), the checksum of the weights. The compiler computes it with the same function.
#ifndef PERPEND_RUNTIME_CHECKSUM_H
#define PERPEND_RUNTIME_CHECKSUM_H
#include <cstddef>
#include <cstdint>

namespace perpend::runtime {

// crc32c("123456789") = 0xe3069283. Pass an earlier result as `previous` to continue.
uint32_t crc32c(const void *bytes, size_t count, uint32_t previous = 0);

// Continues `checksum` with bytes [begin, end) of a file. False: they cannot be read.
bool crc32cOfFile(int file, uint64_t begin, uint64_t end, uint32_t &checksum);

// The portable form, for processors without the instruction; tests compare both.
uint32_t crc32cPortable(const void *bytes, size_t count, uint32_t previous = 0);

} // namespace perpend::runtime
#endif
